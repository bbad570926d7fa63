"""A span for each request, named by its route and not by its address."""

import re
import secrets
import struct
import zlib
from collections.abc import Sequence
from time import perf_counter

import orjson
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars, get_contextvars

from reedbed.domain.errors import Invalid, TooLarge
from reedbed.http.errors import ErrorPage, body_of, is_for_programs
from reedbed.http.routing import route_of
from reedbed.services.runtime import Metrics, Tracer
from reedbed.store.engine.database import counting

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


METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
CORS_HEADERS = b"authorization, content-type, last-event-id"
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
        (b"access-control-allow-headers", CORS_HEADERS),
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


SMALLEST = 1_000
LEVEL = 3
MAX_CHANCE = 100
KINDS = (b"text/html", b"application/json")
LEFT_ALONE = ("/settings", "/api/v1/events")
# A gzip member with a name, at no time, of no system. The name is the bytes of chance.
HEAD = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff"

Headers = Sequence[tuple[bytes, bytes]]


class CompressionMiddleware:
    """Only whole answers of a known length are packed; streams and files pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_wanted(scope):
            await self._app(scope, receive, send)
            return
        held: Message | None = None

        async def send_packed(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _can_be_packed(message["headers"]):
                held = message
                return
            if held is not None:
                start, held = held, None
                if not message.get("more_body"):
                    message = {**message, "body": pack(message["body"])}
                    start["headers"] = _packed(start["headers"], len(message["body"]))
                await send(start)
            await send(message)

        await self._app(scope, receive, send_packed)


def pack(body: bytes) -> bytes:
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    chance = b"-" * secrets.randbelow(MAX_CHANCE) + b"\x00"
    end = struct.pack("<LL", zlib.crc32(body), len(body) & 0xFFFFFFFF)
    return b"".join((HEAD, chance, squeezed.compress(body), squeezed.flush(), end))


def _is_wanted(scope: Scope) -> bool:
    accepted = next((value for name, value in scope["headers"] if name == b"accept-encoding"), b"")
    return scope["method"] == "GET" and _takes_gzip(accepted) and not scope["path"].startswith(LEFT_ALONE)


def _takes_gzip(accepted: bytes) -> bool:
    for part in accepted.lower().split(b","):
        coding, _, weight = part.partition(b";")
        if coding.strip() == b"gzip":
            return weight.strip() not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def _can_be_packed(headers: Headers) -> bool:
    """An answer with an entity tag is left alone: the tag names these very bytes."""
    given = {name.lower(): value for name, value in headers}
    length = given.get(b"content-length", b"0")
    return (
        given.get(b"content-type", b"").startswith(KINDS)
        and length.isdigit()
        and int(length) >= SMALLEST
        and given.keys().isdisjoint((b"content-encoding", b"etag"))
    )


def _packed(headers: Headers, length: int) -> Headers:
    kept = [(name, value) for name, value in headers if name.lower() not in (b"content-length", b"vary")]
    vary = [value for name, value in headers if name.lower() == b"vary"]
    return [
        *kept,
        (b"content-length", str(length).encode()),
        (b"content-encoding", b"gzip"),
        (b"vary", b", ".join([*vary, b"Accept-Encoding"])),
    ]


KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MetricsMiddleware:
    def __init__(self, app: ASGIApp, meters: Metrics) -> None:
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
    return scope["method"] if scope["method"] in KNOWN_METHODS else "other"


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message["headers"]
    )


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
