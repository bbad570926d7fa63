"""The aiohttp session for all outgoing requests, and its exceptions as `Failed`.

The guard checks each socket when it connects. Imports aiohttp, so it is loaded at the first fetch.
"""

import asyncio
import errno
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ssl import SSLContext

import aiohttp
from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError, LineTooLong
from aiohttp.streams import StreamReader

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import PERMANENT, TEMPORARY, UNAUTHORIZED, Failed, refused, too_large
from reedbed.ingest.http.body import BodyNotDecodable, BodyTooLarge
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


# --- Errors


# OpenSSL's verification results (X509_V_ERR_…).
_CERTIFICATE_ERRORS = {
    9: FailureCode.CERTIFICATE_NOT_YET_VALID,
    10: FailureCode.CERTIFICATE_EXPIRED,
    18: FailureCode.CERTIFICATE_SELF_SIGNED,
    19: FailureCode.CERTIFICATE_UNKNOWN_ISSUER,
    20: FailureCode.CERTIFICATE_UNKNOWN_ISSUER,
    21: FailureCode.CERTIFICATE_UNKNOWN_ISSUER,
    23: FailureCode.CERTIFICATE_REVOKED,
    62: FailureCode.CERTIFICATE_WRONG_NAME,
    64: FailureCode.CERTIFICATE_WRONG_ADDRESS,
}
_CONNECTION_ERRORS = {
    errno.ECONNREFUSED: FailureCode.CONNECTION_REFUSED,
    errno.ECONNRESET: FailureCode.CONNECTION_RESET,
    errno.EPIPE: FailureCode.CONNECTION_RESET,
    errno.ECONNABORTED: FailureCode.CONNECTION_RESET,
    errno.EHOSTUNREACH: FailureCode.HOST_UNREACHABLE,
    errno.ENETUNREACH: FailureCode.HOST_UNREACHABLE,
    errno.ETIMEDOUT: FailureCode.NO_ANSWER,
}


def describe(error: BaseException, host: str, *, limit: int) -> Failed | None:
    """None for an unknown error."""
    if (rejection := _guard_error(error)) is not None:
        return refused(rejection.reason)
    match error:
        case BodyTooLarge():
            return too_large(limit)
        case BodyNotDecodable():
            return Failed(TEMPORARY, Failure(FailureCode.DECOMPRESSION_FAILED, cause=error.failure))
        case asyncio.TimeoutError():
            return Failed(TEMPORARY, Failure(FailureCode.NO_ANSWER, {"host": host}))
        case aiohttp.ClientConnectorCertificateError():
            return Failed(TEMPORARY, _certificate_failure(error, host))
        case aiohttp.ClientConnectorDNSError():
            return _dns_failure(error.os_error, host)
        case aiohttp.ClientProxyConnectionError():
            return Failed(TEMPORARY, Failure(FailureCode.PROXY_UNREACHABLE))
        case aiohttp.ClientHttpProxyError():
            return _proxy_failure(error.status)
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return Failed(TEMPORARY, Failure(FailureCode.CONNECTION_NOT_SECURE, {"host": host}))
        case _:
            return _describe_broken_response(error, host)


def _describe_broken_response(error: BaseException, host: str) -> Failed | None:
    match error:
        case aiohttp.ServerDisconnectedError():
            return Failed(TEMPORARY, Failure(FailureCode.CONNECTION_CLOSED, {"host": host}))
        case aiohttp.ClientPayloadError():
            return Failed(TEMPORARY, Failure(FailureCode.RESPONSE_CUT_OFF))
        case aiohttp.ClientResponseError() | HttpProcessingError():
            code = FailureCode.HEADERS_TOO_LARGE if _headers_too_large(error) else FailureCode.HTTP_INVALID
            return Failed(TEMPORARY, Failure(code, {"host": host}))
        case socket.gaierror():
            return _dns_failure(error, host)
        case OSError():
            code = _CONNECTION_ERRORS.get(error.errno or 0, FailureCode.CONNECTION_FAILED)
            return Failed(TEMPORARY, Failure(code, {"host": host}))
        case aiohttp.InvalidURL():
            return Failed(PERMANENT, Failure(FailureCode.ADDRESS_INVALID))
        case aiohttp.ClientError():
            return Failed(TEMPORARY, Failure(FailureCode.EXCHANGE_FAILED, {"host": host}))
        case _:
            return None


def _headers_too_large(error: BaseException | None) -> bool:
    """However deep the client wrapped it. It has no error of its own for too many headers."""
    for _ in range(8):
        if error is None or isinstance(error, LineTooLong):
            return error is not None
        if isinstance(error, HttpProcessingError) and "Too many headers" in error.message:
            return True
        error = error.__cause__ or error.__context__
    return False


def _guard_error(error: BaseException | None) -> AddressRejected | None:
    """The guard's own error, however deep the client wrapped it."""
    for _ in range(8):
        if error is None or isinstance(error, AddressRejected):
            return error
        error = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error.__cause__
    return None


def _certificate_failure(error: aiohttp.ClientConnectorCertificateError, host: str) -> Failure:
    cause = error.certificate_error
    code = _CERTIFICATE_ERRORS.get(getattr(cause, "verify_code", 0), FailureCode.CERTIFICATE_UNTRUSTED)
    return Failure(FailureCode.CERTIFICATE_INVALID, {"host": host}, Failure(code))


def _dns_failure(error: OSError, host: str) -> Failed:
    if error.errno == socket.EAI_AGAIN:
        return Failed(TEMPORARY, Failure(FailureCode.DNS_UNAVAILABLE, {"host": host}))
    return Failed(TEMPORARY, Failure(FailureCode.DNS_NOT_FOUND, {"host": host}))


def _proxy_failure(status: int) -> Failed:
    if status == 407:
        return Failed(UNAUTHORIZED, Failure(FailureCode.PROXY_AUTHENTICATION_REQUIRED), status)
    return Failed(TEMPORARY, Failure(FailureCode.PROXY_STATUS, {"status": status}), status)
