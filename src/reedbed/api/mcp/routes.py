"""Authentication and dispatch for `/mcp`.

Only a token in the header is accepted, never a cookie, so no web page can act for the user who opened it.
Every call is stateless: there are no sessions and no open streams.
"""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from reedbed.domain.errors import Invalid, Refused, Unauthorized
from reedbed.domain.users import Caller
from reedbed.http.auth import get_runtime, maybe_caller
from reedbed.http.errors import body_of
from reedbed.http.params import spend_request
from reedbed.http.responses import json_response
from reedbed.services.runtime import Runtime

MessageHandler = Callable[[Runtime, Caller, Scope, Receive, Send], Awaitable[None]]


class MethodNotAllowed(Refused):
    code = "method_not_allowed"


class McpEndpoint:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        caller = await _token_caller(request)
        if caller is None:
            await _unauthorized()(scope, receive, send)
        elif request.method != "POST":
            await _method_not_allowed()(scope, receive, send)
        elif not request.headers.get("content-type", "").lower().startswith("application/json"):
            await _not_json()(scope, receive, send)
        else:
            await spend_request(get_runtime(request), caller)
            await _handle(request, caller, send)


async def _token_caller(request: Request) -> Caller | None:
    caller = await maybe_caller(request)
    return None if caller is None or caller.by_cookie else caller


async def _handle(request: Request, caller: Caller, send: Send) -> None:
    # The SDK takes a second to load: load it in a thread on the first call to not block other requests.
    handle = await asyncio.to_thread(_load_handler)
    await handle(get_runtime(request), caller, request.scope, request.receive, send)


def _load_handler() -> MessageHandler:
    from reedbed.api.mcp.server import handle_message

    return handle_message


def _unauthorized() -> Response:
    error = Unauthorized("Send an API token: Authorization: Bearer …")
    return json_response(body_of(error), 401, {"WWW-Authenticate": 'Bearer realm="Reedbed"'})


def _method_not_allowed() -> Response:
    return json_response(body_of(MethodNotAllowed("Send messages by POST.")), 405, {"Allow": "POST"})


def _not_json() -> Response:
    return json_response(body_of(Invalid("Send JSON: Content-Type: application/json.")), 400)


# A separate ASGI application, because the MCP library writes the responses itself.
router = APIRouter(routes=[Route("/mcp", McpEndpoint(), include_in_schema=False)])
