"""Turn every failure into a response: JSON for programs, a page for people, never a traceback."""

import errno
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reedbed.domain.errors import (
    AppPasswordRequired,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ReedbedError,
    Refused,
    TooLarge,
    TooMany,
    Unauthorized,
    Unavailable,
)
from reedbed.domain.failures import untranslated
from reedbed.domain.text import storable
from reedbed.http.responses import json_response
from reedbed.http.routing import route_of

STATUS: dict[type[ReedbedError], int] = {
    Invalid: 400,
    Unauthorized: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    TooMany: 429,
    Unavailable: 503,
    Refused: 400,
    ReedbedError: 500,
}

RETRY_SECONDS = 5


def status_of(error: ReedbedError) -> int:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def headers_of(error: ReedbedError) -> dict[str, str]:
    match error:
        case TooMany():
            return {"Retry-After": str(max(1, error.retry_after))}
        case Unavailable():
            return {"Retry-After": str(RETRY_SECONDS)}
        case AppPasswordRequired():
            return {"WWW-Authenticate": 'Basic realm="Reedbed"'}
        case Unauthorized():
            return {"WWW-Authenticate": "Bearer"}
        case _:
            return {}


def body_of(error: ReedbedError) -> dict[str, Any]:
    """Message and field may repeat user input that JSON cannot encode, hence `storable`."""
    field = getattr(error, "field", None)
    details = {"field": storable(field)} if field else {}
    return {"error": {"code": error.code, "message": storable(error.message), "details": details}}


log = structlog.get_logger()

ErrorPage = Callable[[Request, ReedbedError, int], Awaitable[Response]]

PROGRAM_PATHS = (
    "//",  # from apps configured with a base URL that ends in a slash
    "/api/",
    "/opds",
    "/accounts",
    "/clientconfig.json",
    "/greader",
    "/icons/",
    "/images/",
    "/index.php/",
    "/reader",
    "/subscriptions/",
    "/fever",
    "/mcp",
    "/metrics",
    "/healthz",
    "/readyz",
    "/rss",
    "/podcast/",
    "/published/",
    "/websub/",
    "/inbound/",
)

DISK_OR_FILES_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE})

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

STATUS_MESSAGES = {
    400: ("invalid", "The request could not be understood."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take that method."),
    413: ("too_large", "The request is too large."),
    415: ("unsupported_media_type", "This kind of content is not understood here."),
}


NO_OBJECT = "Send a JSON object as the body, with Content-Type: application/json."
UNREADABLE_FORM = "Something in the form was missing or could not be understood. Go back and try again."


class _Unexpected(ReedbedError):
    code = "internal"


def register_error_handlers(app: FastAPI, error_page: ErrorPage | None = None) -> None:
    """`error_page` renders the page for people; without it everyone gets JSON."""

    async def respond(
        request: Request, error: ReedbedError, status: int, headers: Mapping[str, str] | None = None
    ) -> Response:
        if error_page is not None and not is_for_programs(request.url.path):
            page = await error_page(request, error, status)
            page.headers.update(headers or {})
            return page
        return json_response(body_of(error), status, {**headers_of(error), **(headers or {})})

    async def handle_expected(request: Request, error: Exception) -> Response:
        assert isinstance(error, ReedbedError)
        if status_of(error) >= 500:
            log.warning("could not answer", route=route_of(request.scope), error=error.message)
        return await respond(request, error, status_of(error))

    async def handle_malformed(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if is_for_programs(request.url.path):
            return await respond(request, _first_problem(error), 400)
        return await respond(request, Invalid(UNREADABLE_FORM), 400)

    async def handle_router_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404 and (plain := _without_slash(request)):
            return Response(status_code=307, headers={"Location": plain})
        if error.status_code != 405:
            return await respond(request, _from_status(error.status_code), error.status_code)
        allow = {"Allow": ", ".join(_methods(request))}
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allow)
        return await respond(request, _from_status(405), 405, allow)

    async def handle_unexpected(request: Request, error: Exception) -> Response:
        if isinstance(error, OSError) and error.errno in DISK_OR_FILES_FULL:
            log.error("no space or no file left", route=route_of(request.scope), error=str(error))
            return await respond(request, Unavailable("The disk is full, or too many files are open."), 503)
        # Do not log the path: it can contain secrets, such as log-in links and URLs of published feeds.
        log.exception("unexpected error", route=route_of(request.scope), method=request.method, exc_info=error)
        return await respond(request, _Unexpected("Something went wrong here. It was logged; try again."), 500)

    app.add_exception_handler(ReedbedError, handle_expected)
    app.add_exception_handler(RequestValidationError, handle_malformed)
    app.add_exception_handler(HTTPException, handle_router_error)
    app.add_middleware(_LastResort, handler=handle_unexpected)


class _LastResort:
    """The innermost middleware, so that all others also process its responses."""

    def __init__(self, app: ASGIApp, *, handler: Callable[[Request, Exception], Awaitable[Response]]) -> None:
        self._app = app
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_recording(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_recording)
        except Exception as error:
            response = await self._handler(Request(scope), error)
            if not started:
                await response(scope, receive, send)


def is_for_programs(path: str) -> bool:
    return path.startswith(PROGRAM_PATHS)


def _first_problem(error: RequestValidationError) -> Invalid:
    problem = error.errors()[0]
    field = ".".join(str(part) for part in problem["loc"][1:])
    match problem["type"]:
        case "json_invalid":
            return Invalid("The body is not valid JSON.")
        case "missing" if not field:
            return Invalid(NO_OBJECT)
        case "missing":
            return Invalid("%(name)s is required.", field, name=field)
        case "model_attributes_type" if not field:
            return Invalid(NO_OBJECT)
        case _:
            message = str(problem["msg"]).removeprefix("Value error, ")
            return Invalid(untranslated(f"{field}: {message}" if field else message), field or None)


def _methods(request: Request) -> list[str]:
    """Return the methods this path supports, over all its routes."""
    routes: list[BaseRoute] = request.app.routes
    methods = {
        method
        for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] == Match.FULL for route in routes)
    }
    return sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set[str]()))


def _without_slash(request: Request) -> str:
    """Return the path without its trailing slash if a route matches it. Never built from the Host header."""
    path, query = request.url.path.rstrip("/"), request.url.query
    if path == request.url.path or not path.startswith("/") or path.startswith("//"):
        return ""
    routes: list[BaseRoute] = request.app.routes
    scope = {**request.scope, "path": path, "raw_path": path.encode()}
    if all(route.matches(scope)[0] == Match.NONE for route in routes):
        return ""
    return f"{quote(path)}?{query}" if query else quote(path)


def _from_status(status: int) -> ReedbedError:
    code, message = STATUS_MESSAGES.get(status, ("refused", "The request was refused."))
    error = ReedbedError(message)
    error.code = code
    return error
