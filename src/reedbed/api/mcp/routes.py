"""Who may call `/mcp`, and how.

Only a token in the header counts, never a cookie, so no page can act for the person who opened it. Every call
stands alone: there are no sessions, and so no streams to hold open.
"""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from reedbed.domain.errors import Refused, Unauthorized
from reedbed.domain.users import Caller
from reedbed.http.auth import get_runtime, maybe_caller
from reedbed.http.dependencies import spend_request
from reedbed.http.errors import body_of
from reedbed.http.responses import json_response
from reedbed.services.runtime import Runtime

Converse = Callable[[Runtime, Caller, Scope, Receive, Send], Awaitable[None]]


class PostOnly(Refused):
    code = "method_not_allowed"


class McpEndpoint:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        caller = await _token_holder(request)
        if caller is None:
            await _stranger()(scope, receive, send)
        elif request.method != "POST":
            await _post_only()(scope, receive, send)
        else:
            await spend_request(get_runtime(request), caller)
            await _speak(request, caller, send)


async def _token_holder(request: Request) -> Caller | None:
    caller = await maybe_caller(request)
    return None if caller is None or caller.by_cookie else caller


async def _speak(request: Request, caller: Caller, send: Send) -> None:
    # The SDK takes a second to load: in a thread, at the first call, so that nobody else waits.
    converse = await asyncio.to_thread(_load)
    await converse(get_runtime(request), caller, request.scope, request.receive, send)


def _load() -> Converse:
    from reedbed.api.mcp.server import converse

    return converse


def _stranger() -> Response:
    error = Unauthorized("Send an API token: Authorization: Bearer …")
    return json_response(body_of(error), 401, {"WWW-Authenticate": 'Bearer realm="Reedbed"'})


def _post_only() -> Response:
    return json_response(body_of(PostOnly("Send messages by POST.")), 405, {"Allow": "POST"})
