"""Client connections: uvicorn's httptools protocol with limits on size, duration and number.

uvicorn limits neither the size of a request's head, nor the time a client takes to send it, nor the connections
of one address.
"""

import asyncio
import resource
import socket
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

import orjson
import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reedbed.domain.errors import ReedbedError
from reedbed.domain.records import record
from reedbed.http.errors import body_of
from reedbed.services.security import network_of, plain_address
from reedbed.settings import Settings

log = structlog.get_logger()

MAX_HEAD_BYTES = 64 * 1024
"""Request line and all headers together. Reader apps put hundreds of entry ids into one URL."""
MAX_HEADERS = 100
MAX_PIPELINED = 32
"""Requests that one connection may send before the first response."""
HEAD_SECONDS = 15.0
BODY_SECONDS = 15.0
MIN_BODY_BYTES = 4_096
"""A request whose body brings less than this in `BODY_SECONDS` is aborted."""
KEEP_ALIVE_SECONDS = 30
UNREAD_SECONDS = 60.0
"""How long a client may leave a response unread."""
LINGER_SECONDS = 2.0
MAX_LINGER_BYTES = 1024 * 1024
"""Input still read after an error response: closing a socket with unread input discards the response."""
SPARE_FILES = 256
"""File descriptors reserved for everything but client connections."""
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@record
class ConnectionLimits:
    total: int = 4096
    per_address: int = 256
    exempt: tuple[IPv4Network | IPv6Network, ...] = LOOPBACK
    """Not limited per address: a proxy connects from one address for all clients."""


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Raise the limit of open files as far as possible, and fit the number of connections into it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.max_connections + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            soft = needed
    total = settings.max_connections
    if soft != resource.RLIM_INFINITY:
        total = min(total, max(soft - SPARE_FILES, soft // 2))
    if total < settings.max_connections:
        log.info("fewer connections than set: the system allows few open files", connections=total)
    exempt = (*LOOPBACK, *settings.trusted_proxies)
    return ConnectionLimits(total, settings.max_connections_per_address, exempt)


class ConnectionPool:
    """All connections of one server. Knows which of them are waiting for their client."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: set[ClientConnection] = set()
        self._by_network: dict[str, set[ClientConnection]] = {}
        self._waiting: dict[ClientConnection, None] = {}
        """In the order in which the wait began. The first is closed to make room for a new connection."""

    def admit(self, connection: "ClientConnection", ip: str | None) -> bool:
        """Count the connection; False if the limit is reached and no waiting connection can be closed."""
        if len(self._open) >= self._limits.total and not self._close_one(self._waiting):
            return False
        network = self._limited_network(ip)
        if network is not None:
            neighbours = self._by_network.get(network, set[ClientConnection]())
            if len(neighbours) >= self._limits.per_address:
                waiting = sorted(neighbours & self._waiting.keys(), key=lambda other: other.since)
                if not self._close_one(waiting):
                    return False
            self._by_network.setdefault(network, set()).add(connection)
        self._open.add(connection)
        connection.network = network
        return True

    def remove(self, connection: "ClientConnection") -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        neighbours = self._by_network.get(connection.network or "")
        if neighbours is not None:
            neighbours.discard(connection)
            if not neighbours:
                del self._by_network[connection.network or ""]

    def mark_waiting(self, connection: "ClientConnection") -> None:
        if connection in self._open:
            self._waiting.setdefault(connection)

    def mark_busy(self, connection: "ClientConnection") -> None:
        self._waiting.pop(connection, None)

    def _close_one(self, waiting: Iterable["ClientConnection"]) -> bool:
        oldest = next(iter(waiting), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.transport.abort()
        return True

    def _limited_network(self, ip: str | None) -> str | None:
        plain = plain_address(ip)
        if plain is None or any(plain in network for network in self._limits.exempt):
            return None
        return network_of(ip)


class _Phase(Enum):
    """What a connection is waiting for."""

    IDLE = "the next request"
    HEAD = "the rest of a request's head"
    BODY = "the rest of a request's body"
    RESPONSE = "our own response"
    LINGER = "the client, which was refused, to close"


class ClientConnection(HttpToolsProtocol):
    """One connection, with limits on the size and the duration of requests."""

    def __init__(self, connections: ConnectionPool, **parts: Any) -> None:
        super().__init__(**parts)
        self._all = connections
        self.network: str | None = None
        self.since = self.loop.time()
        """When the current phase began."""
        self._phase = _Phase.IDLE
        self._unread_since: float | None = None
        self._received = 0
        """Bytes of the body since then, or bytes discarded after an error response."""
        self._head_bytes = 0
        self._unparsed = 0
        """Bytes since the last callback of the parser, which are part of one unfinished header."""
        self._error_response = _INVALID

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _end_when_unreachable(transport)
        if self._all.admit(self, self.client[0] if self.client else None):
            self._all.mark_waiting(self)
        else:
            self._send_error(_TOO_MANY_CONNECTIONS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._phase is _Phase.LINGER:
            self._received += len(data)
            if self._received > MAX_LINGER_BYTES:
                self.transport.abort()
            return
        if self._phase is _Phase.BODY:
            self._received += len(data)
        self._unparsed += len(data)
        unparsed = self._unparsed
        super().data_received(data)
        if self._unparsed == unparsed and self._head_bytes + unparsed > MAX_HEAD_BYTES:
            self._send_error(_TOO_LARGE)

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn when the parser or one of the methods below rejects the request."""
        self._send_error(self._error_response)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unparsed = 0
        self._head_bytes = 0
        self._enter(_Phase.HEAD)

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also called for trailers after a chunked body."""
        self._count_head(len(name) + len(value) + len(": \r\n"))
        if len(self.headers) >= MAX_HEADERS:
            self._reject_in_parser(_TOO_MANY_HEADERS)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        if len(self.pipeline) >= MAX_PIPELINED:
            self._reject_in_parser(_TOO_MANY_REQUESTS)
        super().on_headers_complete()
        self._received = 0
        self._enter(_Phase.BODY)

    def on_chunk_header(self) -> None:
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        super().on_message_complete()
        self._enter(_Phase.IDLE if self.cycle.response_complete else _Phase.RESPONSE)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._phase is _Phase.RESPONSE and self.cycle.response_complete:
            self._enter(_Phase.IDLE)

    def shutdown(self) -> None:
        if self._phase is _Phase.LINGER:
            self.transport.abort()
        else:
            super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()
        self._all.mark_waiting(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = None
        if self._phase is _Phase.RESPONSE:
            self._all.mark_busy(self)

    def end_if_overdue(self, now: float, late: float) -> None:
        """`late` is the part of the wait, in seconds, that this server caused."""
        self.since += late
        if self._unread_since is not None:
            self._unread_since += late
            if now - self._unread_since > UNREAD_SECONDS:
                self.transport.abort()
                return
        if self.transport.is_closing():
            return
        match self._phase:
            case _Phase.IDLE if now - self.since > KEEP_ALIVE_SECONDS:
                self.transport.close()
            case _Phase.LINGER if now - self.since > LINGER_SECONDS:
                self.transport.abort()
            case _Phase.HEAD | _Phase.BODY if self._waits_for_us():
                self._enter(self._phase)
            case _Phase.HEAD if now - self.since > HEAD_SECONDS:
                self._send_error(_TOO_SLOW)
            case _Phase.BODY if now - self.since > BODY_SECONDS and self._received < MIN_BODY_BYTES:
                self._send_error(_TOO_SLOW)
            case _Phase.BODY if now - self.since > BODY_SECONDS:
                self._received = 0
                self._enter(_Phase.BODY)
            case _:
                pass

    def _waits_for_us(self) -> bool:
        """The client waits for this server: reading is paused, or `100 Continue` was not sent yet."""
        needs_continue = self._phase is _Phase.BODY and self.cycle.waiting_for_100_continue
        return self.flow.read_paused or needs_continue

    def _enter(self, phase: _Phase) -> None:
        self._phase = phase
        self.since = self.loop.time()
        if phase is _Phase.RESPONSE:
            self._all.mark_busy(self)
        else:
            self._all.mark_waiting(self)

    def _count_head(self, size: int) -> None:
        self._unparsed = 0
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._reject_in_parser(_TOO_LARGE)

    def _reject_in_parser(self, response: "_ErrorResponse") -> None:
        """Stop the parser by raising; uvicorn then calls `send_400_response`."""
        self._error_response = response
        raise ValueError(response.message)

    def _send_error(self, error: "_ErrorResponse") -> None:
        """Send the error if that is still possible, and close."""
        if self.transport.is_closing():
            return
        if self.pipeline or (self.cycle and self.cycle.response_started and not self.cycle.response_complete):
            self.transport.abort()
            return
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(error.response())
        self.transport.write_eof()
        self._received = 0
        self._enter(_Phase.LINGER)


# --- Error responses


class _ErrorResponse(ReedbedError):
    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self._status = status

    def response(self) -> bytes:
        body = orjson.dumps(body_of(self))
        head = (
            f"HTTP/1.1 {self._status.value} {self._status.phrase}\r\n"
            "content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n"
            "cache-control: no-store\r\n"
            "connection: close\r\n\r\n"
        )
        return head.encode() + body


_INVALID = _ErrorResponse(HTTPStatus.BAD_REQUEST, "invalid", "This is not a valid HTTP request.")
_TOO_SLOW = _ErrorResponse(HTTPStatus.REQUEST_TIMEOUT, "too_slow", "The request took too long to arrive.")
_TOO_LARGE = _ErrorResponse(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "headers_too_large",
    f"The address and the headers of a request may have {MAX_HEAD_BYTES // 1024} KB in all.",
)
_TOO_MANY_HEADERS = _ErrorResponse(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", f"A request may have {MAX_HEADERS} headers."
)
_TOO_MANY_REQUESTS = _ErrorResponse(
    HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", "Wait for answers before you send more requests."
)
_TOO_MANY_CONNECTIONS = _ErrorResponse(
    HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "There are too many connections. Try again in a moment."
)


def _end_when_unreachable(transport: asyncio.Transport) -> None:
    """Otherwise a live stream to a phone that lost its network stays open for a quarter of an hour."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, option, int(UNREAD_SECONDS * 1000))
