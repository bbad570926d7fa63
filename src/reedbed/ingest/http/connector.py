"""The aiohttp session for all outgoing requests; the guard checks each socket when it connects."""

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

from reedbed.ingest.http.guard import AddressRejected, Guard

_AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]

_LOOKUP_THREADS = 16
_KEEPALIVE_SECONDS = 10.0
_MAX_INTERIM_RESPONSES = 16
_MAX_HEADER_BYTES = 32 * 1024
_MAX_HEADERS = 200
# Bytes a response may take besides its body, plus this many times the size of the body.
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

    Bodies are not decompressed. The caller limits and decodes them (see `body`) and sets a total timeout with
    `asyncio.timeout`.
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
    guard: Guard, *, resolver: AbstractResolver | None = None, limit: int = 100, ssl_context: SSLContext | None = None
) -> TCPConnector:
    """A connector that only reaches addresses the guard allows. Call it inside the running event loop."""
    return _GuardedConnector(guard, resolver or SystemResolver(), limit=limit, ssl_context=ssl_context)


class SystemResolver(AbstractResolver):
    """The system's resolver in its own thread pool: a hanging name server can block these threads, but not
    the threads the rest of the program needs.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        lookup = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM)
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._threads, lookup)
        except UnicodeError:  # the name cannot be encoded
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return [
            ResolveResult(
                hostname=host,
                host=str(sockaddr[0]),
                port=port,
                family=address_family,
                proto=proto,
                flags=socket.AI_NUMERICHOST,
            )
            for address_family, _, proto, _, sockaddr in results
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedResolver(AbstractResolver):
    """Remove addresses the guard rejects; raise `AddressRejected` if none are left.

    With `strict`, a single rejected address is enough: for connections where a proxy chooses the address.
    """

    def __init__(self, guard: Guard, inner: AbstractResolver, *, strict: bool = False) -> None:
        self._guard = guard
        self._inner = inner
        self._strict = strict

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        results = await self._inner.resolve(host, port, family)
        allowed: list[ResolveResult] = []
        rejection: AddressRejected | None = None
        for result in results:
            try:
                self._guard.check(result["host"], port)
                allowed.append(result)
            except AddressRejected as refused:
                rejection = refused
        if rejection is not None and (self._strict or not allowed):
            raise rejection
        return allowed

    async def close(self) -> None:
        await self._inner.close()


class _GuardedConnector(TCPConnector):
    def __init__(self, guard: Guard, resolver: AbstractResolver, *, limit: int, ssl_context: SSLContext | None) -> None:
        # aiohttp's annotation of socket_factory is incomplete.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            resolver=GuardedResolver(guard, resolver),
            socket_factory=partial(_checked_socket, guard),
            limit=limit,
            keepalive_timeout=_KEEPALIVE_SECONDS,
            ssl=ssl_context or True,
        )
        self._factory = partial(_LimitedHandler, loop=self._loop)
        self._lookup = resolver

    async def close(self, *, abort_ssl: bool = False) -> None:
        await super().close(abort_ssl=abort_ssl)
        await self._lookup.close()


def _checked_socket(guard: Guard, info: _AddrInfo) -> socket.socket:
    family, kind, proto, _, sockaddr = info
    guard.check(str(sockaddr[0]), int(str(sockaddr[1])))
    return socket.socket(family, kind, proto)


class _LimitedHandler(ResponseHandler):
    """Abort responses whose parsing would never end and never reach the reader of the body:
    floods of 1xx responses, headers, chunk extensions, trailers, and bodies in chunks of one byte.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._wire_bytes = 0
        self._interim_responses = 0

    def data_received(self, data: bytes) -> None:
        self._wire_bytes += len(data)
        if self._wire_bytes > _FRAMING_BYTES and self._is_mostly_framing():
            self._abort("More framing than content")
        else:
            super().data_received(data)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if not 100 <= data[0].code < 200:
            self._wire_bytes = self._interim_responses = 0
            super().feed_data(data, size)
        elif self._interim_responses < _MAX_INTERIM_RESPONSES:
            self._interim_responses += 1
            super().feed_data(data, size)
        elif self._exception is None:
            self._abort("Too many interim answers")

    def _is_mostly_framing(self) -> bool:
        content = self._payload.total_bytes if self._payload is not None else 0
        return self._wire_bytes > _FRAMING_BYTES + _FRAMING_FACTOR * content

    def _abort(self, reason: str) -> None:
        error = BadHttpMessage(reason)
        self.set_exception(error)
        if self._payload is not None:
            self._payload.set_exception(error)
        if self.transport is not None:
            self.transport.abort()
