"""Every request has an id, in the answer and in each line logged for it, and is counted by its route."""

import secrets
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from reedbed.services.meters import Meters

UNKNOWN = "unknown"
"""The path of an address that no route takes: labels come from the program, never from callers."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metering:
    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, started = secrets.token_hex(8), perf_counter()
        status, endless = 499, False  # the caller went away before there was an answer

        async def send_noting(message: Message) -> None:
            nonlocal status, endless
            if message["type"] == "http.response.start":
                status, endless = message["status"], _is_stream(message)
                self._meters.being_answered -= endless
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        self._meters.being_answered += 1
        with bound_contextvars(request=request_id):
            try:
                await self._app(scope, receive, send_noting)
            finally:
                self._meters.being_answered -= not endless
                self._count(scope, status, None if endless else perf_counter() - started)

    def _count(self, scope: Scope, status: int, seconds: float | None) -> None:
        method, path = known_method(scope), route_of(scope)
        self._meters.requests.add(method, path, str(status))
        if seconds is not None:
            self._meters.request_seconds.add(seconds, method, path)


def known_method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


def route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", UNKNOWN)


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message["headers"]
    )
