"""Pages of listed origins may call the API: with a token, never with our cookie."""

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
HEADERS = b"authorization, content-type, last-event-id"
EXPOSED = "Retry-After"
DAY_SECONDS = b"86400"


class Cors:
    """Only for `/api/`: pages are for people, who come to them directly."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = self._allowed_origin(scope)
        if origin is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and _asks_first(scope):
            await _allow(send, origin)
        else:
            await self._app(without_cookies(scope), receive, _marked(send, origin))

    def _allowed_origin(self, scope: Scope) -> str | None:
        if not self._origins or scope["type"] != "http" or not scope["path"].startswith("/api/"):
            return None
        origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), "")
        return origin if origin in self._origins else None


def without_cookies(scope: Scope) -> Scope:
    """A listed origin speaks with a token; a cookie that slipped along is not heard."""
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"cookie"]}


def _asks_first(scope: Scope) -> bool:
    return any(name == b"access-control-request-method" for name, _ in scope["headers"])


async def _allow(send: Send, origin: str) -> None:
    headers = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", HEADERS),
        (b"access-control-max-age", DAY_SECONDS),
        (b"vary", b"Origin"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _marked(send: Send, origin: str) -> Send:
    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = EXPOSED
            headers.add_vary_header("Origin")
        await send(message)

    return send_marked
