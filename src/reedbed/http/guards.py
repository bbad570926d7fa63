"""The outermost layer: security headers on every answer, a size limit on every question.

Plain ASGI, because it runs for every request and must not touch streams.
"""

import re

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reedbed.domain.errors import Invalid, TooLarge
from reedbed.http.errors import body_of
from reedbed.http.handlers import ErrorPage, is_for_programs

BODY_LIMIT = 1_000_000
OPML_LIMIT = 10_000_000
MAIL_LIMIT = 40_000_000
LIBRARY_LIMIT = 200_000_000
LIBRARY_DOORS = ("/import", "/api/v1/import")
MAIL_DOORS = "/inbound/"
FILE_DOORS = ("opml", "import", "/websub/")

PROBES = ("/healthz", "/readyz")
HOST = re.compile(rb"[\w.~%!$&'()*+;=:\[\]-]+")

CONTENT_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' https: data:",
        "media-src 'self' https:",
        "font-src 'self'",
        "connect-src 'self'",
        "object-src 'none'",
        "frame-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)

HEADERS: list[tuple[bytes, bytes]] = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    # Nearly every answer belongs to one user. What may be kept (assets, icons, pictures) says so itself.
    (b"cache-control", b"no-store"),
]


class SecurityHeaders:
    """A header that the handler set itself (a stricter policy, say) is kept."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        secure = [(b"strict-transport-security", b"max-age=31536000")] if https else []
        self._headers = [*HEADERS, *secure]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in self._headers if pair[0] not in present),
                ]
            await send(message)

        await self._app(scope, receive, send_guarded)


class OneHost:
    """Refuses a request without exactly one valid Host header: a proxy and we could mean different hosts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _has_one_host(scope):
            error = Invalid("A request needs one Host header.")
            response = Response(orjson.dumps(body_of(error)), 400, media_type="application/json")
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _has_one_host(scope: Scope) -> bool:
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if not hosts:  # as HTTP/1.0 allows and some load balancers ask
        return scope["http_version"] == "1.0" and scope["path"] in PROBES
    return len(hosts) == 1 and HOST.fullmatch(hosts[0].strip()) is not None


class HeadAsGet:
    """HEAD is GET without the body, on every address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def send_head(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif message["type"] == "http.response.body" and not ended:
                ended = True
                await send({"type": "http.response.body", "body": b""})

        await self._app({**scope, "method": "GET"}, receive, send_head)


class BodyLimit:
    """More bytes than the door takes: 413, whether the length was announced or not."""

    def __init__(self, app: ASGIApp, *, error_page: ErrorPage | None = None) -> None:
        self._app = app
        self._error_page = error_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        limit = _limit_at(scope["path"])
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not announced.isdigit() or int(announced) > limit:
            await self._refuse(scope, send, limit)
            return
        await self._counted(scope, receive, send, limit)

    async def _counted(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        taken = 0
        refused = False

        async def receive_counted() -> Message:
            nonlocal taken, refused
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit and not refused:
                refused = True
                await self._refuse(scope, send, limit)
            return {"type": "http.disconnect"} if refused else message

        async def send_unless_refused(message: Message) -> None:
            if not refused:
                await send(message)

        await self._app(scope, receive_counted, send_unless_refused)

    async def _refuse(self, scope: Scope, send: Send, limit: int) -> None:
        error = TooLarge(f"The request is larger than {limit // 1_000_000} MB.")
        if self._error_page is None or is_for_programs(scope["path"]):
            response = Response(orjson.dumps(body_of(error)), 413, media_type="application/json")
        else:
            response = await self._error_page(Request(scope), error, 413)
        response.headers["Connection"] = "close"
        await response(scope, _nothing_more, send)


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}


def _limit_at(path: str) -> int:
    if path.startswith(MAIL_DOORS):
        return MAIL_LIMIT
    if path in LIBRARY_DOORS:
        return LIBRARY_LIMIT
    return OPML_LIMIT if any(word in path for word in FILE_DOORS) else BODY_LIMIT
