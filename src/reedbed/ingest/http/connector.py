"""The aiohttp session of every outgoing request: each socket is checked by the guard when it is connected."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ssl import SSLContext

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import StreamReader

from reedbed.ingest.http.guard import AddressRefused, Guard

_AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]

_LOOKUP_THREADS = 16
_KEEPALIVE_SECONDS = 10.0
_MAX_INTERIM_ANSWERS = 16
_MAX_HEADER_BYTES = 32 * 1024
_MAX_HEADERS = 200
# What a whole answer may need besides its body, and how many times its body beyond that.
_FRAMING_BYTES = 512 * 1024
_FRAMING_FACTOR = 3


def guarded_session(
    guard: Guard,
    *,
    resolver: AbstractResolver | None = None,
    connections: int = 100,
    ssl_context: SSLContext | None = None,
) -> ClientSession:
    """A client session behind the guard: no cookies, no proxies from the environment, bounded headers.

    Bodies arrive as they were sent; whoever reads one counts and unpacks it (see `body`), and sets an
    end to the whole with `asyncio.timeout`.
    """
    return ClientSession(
        connector=guarded_connector(guard, resolver=resolver, limit=connections, ssl_context=ssl_context),
        cookie_jar=DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=ClientTimeout(total=None, sock_connect=None),
        max_line_size=_MAX_HEADER_BYTES,
        max_field_size=_MAX_HEADER_BYTES,
        max_headers=_MAX_HEADERS,
    )


def guarded_connector(
    guard: Guard,
    *,
    resolver: AbstractResolver | None = None,
    limit: int = 100,
    ssl_context: SSLContext | None = None,
) -> TCPConnector:
    """A connector that reaches only what the guard leaves open. Call it inside the running loop."""
    return _GuardedConnector(guard, resolver or SystemResolver(), limit=limit, ssl_context=ssl_context)


class SystemResolver(AbstractResolver):
    """The machine's own name lookup, on threads of its own: a name server that hangs may occupy
    these, never the threads the rest of the program needs."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        look_up = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        except UnicodeError:  # no name server could be asked for this
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=proto,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, proto, _, address in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedResolver(AbstractResolver):
    """Leaves out what the guard refuses; a name with nothing else behind it is refused.

    `strict` refuses a name with any closed address: for when someone else will choose among them.
    """

    def __init__(self, guard: Guard, inner: AbstractResolver, *, strict: bool = False) -> None:
        self._guard = guard
        self._inner = inner
        self._strict = strict

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        open_ones: list[ResolveResult] = []
        refusal: AddressRefused | None = None
        for answer in found:
            try:
                self._guard.check(answer["host"], port)
                open_ones.append(answer)
            except AddressRefused as refused:
                refusal = refused
        if refusal is not None and (self._strict or not open_ones):
            raise refusal
        return open_ones

    async def close(self) -> None:
        await self._inner.close()


class _GuardedConnector(TCPConnector):
    def __init__(
        self, guard: Guard, resolver: AbstractResolver, *, limit: int, ssl_context: SSLContext | None
    ) -> None:
        # aiohttp's own annotation of socket_factory is incomplete.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            resolver=GuardedResolver(guard, resolver),
            socket_factory=partial(_checked_socket, guard),
            limit=limit,
            keepalive_timeout=_KEEPALIVE_SECONDS,
            ssl=ssl_context or True,
        )
        self._factory = partial(_ImpatientHandler, loop=self._loop)
        self._lookup = resolver

    async def close(self, *, abort_ssl: bool = False) -> None:
        await super().close(abort_ssl=abort_ssl)
        await self._lookup.close()


def _checked_socket(guard: Guard, info: _AddrInfo) -> socket.socket:
    family, kind, proto, _, address = info
    guard.check(str(address[0]), int(str(address[1])))
    return socket.socket(family, kind, proto)


class _ImpatientHandler(ResponseHandler):
    """Ends what the HTTP parser would read for as long as it comes and no reader of the body ever sees:
    floods of 1xx answers, headers, chunk extensions, trailers, and bodies in chunks of one byte."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._wire_bytes = 0
        self._interim_answers = 0

    def data_received(self, data: bytes) -> None:
        self._wire_bytes += len(data)
        if self._wire_bytes > _FRAMING_BYTES and self._is_mostly_framing():
            self._give_up("More framing than content")
        else:
            super().data_received(data)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if not 100 <= data[0].code < 200:
            self._wire_bytes = self._interim_answers = 0
            super().feed_data(data, size)
        elif self._interim_answers < _MAX_INTERIM_ANSWERS:
            self._interim_answers += 1
            super().feed_data(data, size)
        elif self._exception is None:
            self._give_up("Too many interim answers")

    def _is_mostly_framing(self) -> bool:
        content = self._payload.total_bytes if self._payload is not None else 0
        return self._wire_bytes > _FRAMING_BYTES + _FRAMING_FACTOR * content

    def _give_up(self, reason: str) -> None:
        error = BadHttpMessage(reason)
        self.set_exception(error)
        if self._payload is not None:
            self._payload.set_exception(error)
        if self.transport is not None:
            self.transport.abort()
