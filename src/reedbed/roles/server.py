"""The HTTP server of a role. It stops on an event and finishes every accepted request first.

uvicorn limits neither the size of a request's head, nor the time a client takes to send it, nor the number of
connections. `_Connection` adds these limits to uvicorn's httptools protocol.
"""

import asyncio
import resource
import socket
import struct
from array import array
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any, cast

import orjson
import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reedbed.domain.errors import ReedbedError
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.http.errors import body_of
from reedbed.roles.build import ended
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, plain_address
from reedbed.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

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
SWEEP_SECONDS = 1.0
SPARE_FILES = 256
"""File descriptors reserved for everything but client connections."""
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
FIRST_REQUEST_SECONDS = 1.0
"""On shutdown, for clients that have connected but sent nothing; browsers open connections in advance."""
LOOK_SECONDS = 0.01
SO_ATTACH_FILTER = 26
DROP_ALL_FILTER = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A program for Linux's packet filter: return 0, so that no bytes pass."""


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


async def serve_http(
    application: "ASGIApp",
    runtime: Runtime,
    listener: socket.socket,
    stop: asyncio.Event,
    *,
    grace: int,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008  it cannot be changed
) -> None:
    connections = _Connections(limits)
    protocol = cast(type[asyncio.Protocol], partial(_Connection, connections))
    config = uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        log_config=None,
        lifespan="off",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config, runtime, stop)
    # `serve` would install its own signal handlers; here one event stops web and worker together.
    await server._serve([listener])  # pyright: ignore[reportPrivateUsage]


class _Server(uvicorn.Server):
    """uvicorn polls every tenth of a second whether it should stop, which fails if the clock of `sleep` is
    set back. It also closes connections whose first request has not been read yet. This class does neither.
    """

    def __init__(self, config: uvicorn.Config, runtime: Runtime, stop: asyncio.Event) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._stop = stop

    async def main_loop(self) -> None:
        main_task = asyncio.create_task(super().main_loop())
        overdue_task = asyncio.create_task(self._end_overdue())
        await self._stop.wait()
        await ended(main_task)
        await ended(overdue_task)

    async def _end_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            # A busy loop reads nothing: do not count that time against the clients.
            late = max(0.0, now - last - SWEEP_SECONDS)
            last = now
            for connection in cast(list["_Connection"], list(self.server_state.connections)):
                connection.end_if_overdue(now, late)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._accept_last_connections(sockets or [])
        # Open streams close themselves, else they would use up the grace period.
        self._runtime.bus.deliver(ChangeEvent("stopping"))
        await super().shutdown(sockets)

    async def _accept_last_connections(self, listeners: Sequence[socket.socket]) -> None:
        """Refuse new clients, which then try another process; serve those that came before."""
        for listener in listeners:
            _block_new_connections(listener)
        pending = [client for listener in listeners for client in _pending_connections(listener)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for client in pending:
            with suppress(OSError):
                await loop.connect_accepted_socket(self._new_protocol, client)
        await asyncio.sleep(LOOK_SECONDS)  # sockets just accepted are listed after the next turn of the loop
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_REQUEST_SECONDS):
                while any(map(_has_no_request, self.server_state.connections)):  # noqa: ASYNC110  uvicorn's
                    await asyncio.sleep(LOOK_SECONDS)

    def _new_protocol(self) -> asyncio.Protocol:
        kind: Any = self.config.http_protocol_class
        return kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


# --- Connections


class _Connections:
    """All connections of one server. Knows which of them are waiting for their client."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: set[_Connection] = set()
        self._by_network: dict[str, set[_Connection]] = {}
        self._waiting: dict[_Connection, None] = {}
        """In the order in which the wait began. The first is closed to make room for a new connection."""

    def admit(self, connection: "_Connection", ip: str | None) -> bool:
        """Count the connection; False if the limit is reached and no waiting connection can be closed."""
        if len(self._open) >= self._limits.total and not self._close_one(self._waiting):
            return False
        network = self._limited_network(ip)
        if network is not None:
            neighbours = self._by_network.get(network, set[_Connection]())
            if len(neighbours) >= self._limits.per_address:
                waiting = sorted(neighbours & self._waiting.keys(), key=lambda other: other.since)
                if not self._close_one(waiting):
                    return False
            self._by_network.setdefault(network, set()).add(connection)
        self._open.add(connection)
        connection.network = network
        return True

    def remove(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        neighbours = self._by_network.get(connection.network or "")
        if neighbours is not None:
            neighbours.discard(connection)
            if not neighbours:
                del self._by_network[connection.network or ""]

    def mark_waiting(self, connection: "_Connection") -> None:
        if connection in self._open:
            self._waiting.setdefault(connection)

    def mark_busy(self, connection: "_Connection") -> None:
        self._waiting.pop(connection, None)

    def _close_one(self, waiting: Iterable["_Connection"]) -> bool:
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


class _Connection(HttpToolsProtocol):
    """One connection, with limits on the size and the duration of requests."""

    def __init__(self, connections: _Connections, **parts: Any) -> None:
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
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "headers_too_large",
    f"A request may have {MAX_HEADERS} headers.",
)
_TOO_MANY_REQUESTS = _ErrorResponse(
    HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", "Wait for answers before you send more requests."
)
_TOO_MANY_CONNECTIONS = _ErrorResponse(
    HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "There are too many connections. Try again in a moment."
)


# --- Sockets


def _end_when_unreachable(transport: asyncio.Transport) -> None:
    """Otherwise a live stream to a phone that lost its network stays open for a quarter of an hour."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, option, int(UNREAD_SECONDS * 1000))


def _has_no_request(connection: Any) -> bool:
    return connection.cycle is None  # no request has begun


def _block_new_connections(listener: socket.socket) -> None:
    """Between the last `accept` and the close of the listener, the system would accept clients and then reset
    them. With this filter Linux ignores their SYN packets; they retry after a second and are refused."""
    program = array("B", DROP_ALL_FILTER)
    pointer, _ = program.buffer_info()
    with suppress(OSError):  # not available on other systems
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, pointer))


def _pending_connections(listener: socket.socket) -> Generator[socket.socket]:
    """Connections that the system has accepted and the loop has not seen yet."""
    listener.setblocking(False)
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            client.setblocking(False)
            yield client
