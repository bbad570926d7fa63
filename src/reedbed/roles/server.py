"""The HTTP server of a role: it ends with an event, and whoever has come by then is answered.

uvicorn limits neither the head of a request nor the time a client takes to send it, nor the number of
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
"""Of the request line and all headers together. Reader apps put hundreds of entry ids into one address."""
MAX_HEADERS = 100
MAX_PIPELINED = 32
"""Requests that one connection may send before the first of them is answered."""
HEAD_SECONDS = 15.0
BODY_SECONDS = 15.0
MIN_BODY_BYTES = 4_096
"""A body that brings less than this in `BODY_SECONDS` is given up."""
KEEP_ALIVE_SECONDS = 30
UNREAD_SECONDS = 60.0
"""How long a client may leave an answer unread."""
LINGER_SECONDS = 2.0
MAX_LINGER_BYTES = 1024 * 1024
"""After a refusal some input is still read: closing a socket with unread input discards the answer."""
SWEEP_SECONDS = 1.0
SPARE_FILES = 256
"""Of the files that the process may open, for all that is not a connection to the server."""
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
LAST_WORDS_SECONDS = 1.0
"""For who has connected and said nothing yet; a browser also opens connections that it may never need."""
LOOK_SECONDS = 0.01
SO_ATTACH_FILTER = 26
NOTHING_PASSES = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A program for Linux's packet filter: return 0, the number of bytes that it lets through."""


@record
class ConnectionLimits:
    total: int = 4096
    per_address: int = 256
    exempt: tuple[IPv4Network | IPv6Network, ...] = LOOPBACK
    """Proxies connect from one address for everybody."""


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Raises the number of files that the process may open as far as the system allows, and fits the number
    of connections into it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
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
    # `serve` would take the signals for itself: one event stops web and worker together.
    await server._serve([listener])  # pyright: ignore[reportPrivateUsage]


class _Server(uvicorn.Server):
    """The original looks every tenth of a second whether it should end, and would look no more where the
    clock that sleep goes by was set back. And it hangs up on who has connected and not yet been heard."""

    def __init__(self, config: uvicorn.Config, runtime: Runtime, stop: asyncio.Event) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._stop = stop

    async def main_loop(self) -> None:
        ticking = asyncio.create_task(super().main_loop())
        sweeping = asyncio.create_task(self._end_overdue())
        await self._stop.wait()
        await ended(ticking)
        await ended(sweeping)

    async def _end_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            # While the loop was busy it read nothing: that time is not the clients' fault.
            late = max(0.0, now - last - SWEEP_SECONDS)
            last = now
            for connection in cast(list["_Connection"], list(self.server_state.connections)):
                connection.end_if_overdue(now, late)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._let_in_the_last(sockets or [])
        # Open streams end themselves, else they would use up the grace.
        self._runtime.bus.deliver(ChangeEvent("stopping"))
        await super().shutdown(sockets)

    async def _let_in_the_last(self, listeners: Sequence[socket.socket]) -> None:
        """Who comes from here on is refused, and tries another process; who came before must not be."""
        for listener in listeners:
            _take_nobody_new(listener)
        waiting = [caller for listener in listeners for caller in _at_the_door(listener)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for caller in waiting:
            with suppress(OSError):
                await loop.connect_accepted_socket(self._exchange, caller)
        await asyncio.sleep(LOOK_SECONDS)  # whom the loop has just taken in stands in no list before its turn
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                while any(map(_has_said_nothing, self.server_state.connections)):  # noqa: ASYNC110  uvicorn's
                    await asyncio.sleep(LOOK_SECONDS)

    def _exchange(self) -> asyncio.Protocol:
        kind: Any = self.config.http_protocol_class
        return kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


class _Connections:
    """All connections of one server, and which of them wait for their client."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: set[_Connection] = set()
        self._by_network: dict[str, set[_Connection]] = {}
        self._waiting: dict[_Connection, None] = {}
        """In the order in which the wait began. The first gives its place to a new connection."""

    def admit(self, connection: "_Connection", address: str | None) -> bool:
        """Counts it; False where there is no place and none can be made."""
        if len(self._open) >= self._limits.total and not self._close_one(self._waiting):
            return False
        network = self._limited_network(address)
        if network is not None:
            neighbours = self._by_network.get(network, set[_Connection]())
            if len(neighbours) >= self._limits.per_address:
                waiting = sorted(neighbours & self._waiting.keys(), key=lambda one: one.since)
                if not self._close_one(waiting):
                    return False
            self._by_network.setdefault(network, set()).add(connection)
        self._open.add(connection)
        connection.network = network
        return True

    def forget(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        neighbours = self._by_network.get(connection.network or "")
        if neighbours is not None:
            neighbours.discard(connection)
            if not neighbours:
                del self._by_network[connection.network or ""]

    def note_waiting(self, connection: "_Connection") -> None:
        if connection in self._open:
            self._waiting.setdefault(connection)

    def note_busy(self, connection: "_Connection") -> None:
        self._waiting.pop(connection, None)

    def _close_one(self, waiting: Iterable["_Connection"]) -> bool:
        oldest = next(iter(waiting), None)
        if oldest is None:
            return False
        self.forget(oldest)
        oldest.transport.abort()
        return True

    def _limited_network(self, address: str | None) -> str | None:
        plain = plain_address(address)
        if plain is None or any(plain in network for network in self._limits.exempt):
            return None
        return network_of(address)


class _Phase(Enum):
    """What a connection waits for."""

    IDLE = "the next request"
    HEAD = "the rest of a request's head"
    BODY = "the rest of a request's body"
    ANSWER = "our own answer"
    LINGER = "the client, which was refused, to close"


class _Connection(HttpToolsProtocol):
    """One connection, with limits on what its client may send and on how long it may take."""

    def __init__(self, connections: _Connections, **parts: Any) -> None:
        super().__init__(**parts)
        self._all = connections
        self.network: str | None = None
        self.since = self.loop.time()
        """When the wait of this phase began."""
        self._phase = _Phase.IDLE
        self._unread_since: float | None = None
        self._received = 0
        """Bytes of the body since then; bytes thrown away after a refusal."""
        self._head_bytes = 0
        self._unparsed = 0
        """Bytes since the parser last had something to tell: the part of one header, so far."""
        self._refusal = _INVALID

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _end_when_unreachable(transport)
        if self._all.admit(self, self.client[0] if self.client else None):
            self._all.note_waiting(self)
        else:
            self._refuse(_CROWDED)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.forget(self)
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
        told = self._unparsed
        super().data_received(data)
        if self._unparsed == told and self._head_bytes + told > MAX_HEAD_BYTES:
            self._refuse(_TOO_LARGE)

    def send_400_response(self, msg: str) -> None:
        """uvicorn calls this for whatever the parser or one of the methods below did not accept."""
        self._refuse(self._refusal)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unparsed = 0
        self._head_bytes = 0
        self._enter(_Phase.HEAD)

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also the headers that follow a body sent in chunks."""
        self._count_head(len(name) + len(value) + len(": \r\n"))
        if len(self.headers) >= MAX_HEADERS:
            self._reject(_TOO_MANY_HEADERS)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        if len(self.pipeline) >= MAX_PIPELINED:
            self._reject(_TOO_MANY_REQUESTS)
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
        self._enter(_Phase.IDLE if self.cycle.response_complete else _Phase.ANSWER)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._phase is _Phase.ANSWER and self.cycle.response_complete:
            self._enter(_Phase.IDLE)

    def shutdown(self) -> None:
        if self._phase is _Phase.LINGER:
            self.transport.abort()
        else:
            super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()
        self._all.note_waiting(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = None
        if self._phase is _Phase.ANSWER:
            self._all.note_busy(self)

    def end_if_overdue(self, now: float, late: float) -> None:
        """`late`: so many seconds of the wait were our own fault."""
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
            case _Phase.HEAD | _Phase.BODY if self._reads_nothing():
                self._enter(self._phase)
            case _Phase.HEAD if now - self.since > HEAD_SECONDS:
                self._refuse(_TOO_SLOW)
            case _Phase.BODY if now - self.since > BODY_SECONDS and self._received < MIN_BODY_BYTES:
                self._refuse(_TOO_SLOW)
            case _Phase.BODY if now - self.since > BODY_SECONDS:
                self._received = 0
                self._enter(_Phase.BODY)
            case _:
                pass

    def _reads_nothing(self) -> bool:
        """The client waits for us: nothing more is read, or it was not yet told to go on."""
        told_to_wait = self._phase is _Phase.BODY and self.cycle.waiting_for_100_continue
        return self.flow.read_paused or told_to_wait

    def _enter(self, phase: _Phase) -> None:
        self._phase = phase
        self.since = self.loop.time()
        if phase is _Phase.ANSWER:
            self._all.note_busy(self)
        else:
            self._all.note_waiting(self)

    def _count_head(self, size: int) -> None:
        self._unparsed = 0
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._reject(_TOO_LARGE)

    def _reject(self, refusal: "_Refusal") -> None:
        """Makes the parser stop; uvicorn then calls `send_400_response`."""
        self._refusal = refusal
        raise ValueError(refusal.message)

    def _refuse(self, refusal: "_Refusal") -> None:
        """Answer if that is still possible, and close."""
        if self.transport.is_closing():
            return
        if self.pipeline or (self.cycle and self.cycle.response_started and not self.cycle.response_complete):
            self.transport.abort()
            return
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(refusal.response())
        self.transport.write_eof()
        self._received = 0
        self._enter(_Phase.LINGER)


class _Refusal(ReedbedError):
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


_INVALID = _Refusal(HTTPStatus.BAD_REQUEST, "invalid", "This is not a valid HTTP request.")
_TOO_SLOW = _Refusal(HTTPStatus.REQUEST_TIMEOUT, "too_slow", "The request took too long to arrive.")
_TOO_LARGE = _Refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "headers_too_large",
    f"The address and the headers of a request may have {MAX_HEAD_BYTES // 1024} KB in all.",
)
_TOO_MANY_HEADERS = _Refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "headers_too_large",
    f"A request may have {MAX_HEADERS} headers.",
)
_TOO_MANY_REQUESTS = _Refusal(
    HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", "Wait for answers before you send more requests."
)
_CROWDED = _Refusal(
    HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "There are too many connections. Try again in a moment."
)


def _end_when_unreachable(transport: asyncio.Transport) -> None:
    """Without this a live stream to a phone that lost its network stays open for a quarter of an hour."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, option, int(UNREAD_SECONDS * 1000))


def _has_said_nothing(exchange: Any) -> bool:
    return exchange.cycle is None  # no request has begun


def _take_nobody_new(listener: socket.socket) -> None:
    """Who knocks between our last look and the end of the listener would be let in by the system, and hung
    up on. Linux does not hear them from here on: they knock again after a second, and are refused."""
    program = array("B", NOTHING_PASSES)
    address, _ = program.buffer_info()
    with suppress(OSError):  # elsewhere that moment stays
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, address))


def _at_the_door(listener: socket.socket) -> Generator[socket.socket]:
    """Those whose connection stands and whom the loop has not seen yet."""
    listener.setblocking(False)
    with suppress(OSError):
        while True:
            caller, _ = listener.accept()
            caller.setblocking(False)
            yield caller
