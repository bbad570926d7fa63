"""A span for each request, named by its route and not by its address."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import get_contextvars

from reedbed.http.metering import known_method, route_of
from reedbed.services.tracing import Tracer
from reedbed.store.database import counting


class Tracing:
    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 499  # the caller went away before there was an answer

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        request = get_contextvars().get("request", "")
        with self._tracer.span("request", request=request) as span, counting() as statements:
            try:
                await self._app(scope, receive, send_noting)
            finally:
                method, route = known_method(scope), route_of(scope)
                span.rename(f"{method} {route}")
                span.note(method=method, route=route, status=status, statements=statements.value)
