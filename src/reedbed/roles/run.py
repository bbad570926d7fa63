"""Run a role: `web`, `worker`, or `serve`, which is both in one process."""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import structlog
import uvicorn

from reedbed import __version__
from reedbed.domain.errors import CannotStart
from reedbed.domain.live import ChangeEvent
from reedbed.roles.build import ended, load_in_thread, running, trim_heap
from reedbed.roles.connections import (
    KEEP_ALIVE_SECONDS,
    ClientConnection,
    ConnectionLimits,
    ConnectionPool,
    connection_limits,
)
from reedbed.services.instance import live, watch
from reedbed.services.recipes import watch_recipes
from reedbed.services.runtime import Runtime
from reedbed.services.security import encrypt_stored
from reedbed.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from reedbed.roles.app import Application

    Work = Callable[..., Awaitable[None]]


CHECK_SECONDS = 1.0
FIRST_REQUEST_SECONDS = 1.0
"""On shutdown, for clients that have connected but sent nothing; browsers open connections in advance."""
POLL_SECONDS = 0.01


async def serve_http(
    application: "ASGIApp",
    runtime: Runtime,
    listener: socket.socket,
    stop: asyncio.Event,
    *,
    grace: int,
    drain: int = 0,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008  it cannot be changed
) -> None:
    """Serve until `stop`. Requests are accepted for `drain` seconds more, and then answered within `grace` seconds."""
    protocol = cast(type[asyncio.Protocol], partial(ClientConnection, ConnectionPool(limits)))
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
    server = _Server(config, runtime, stop, drain)
    # `serve` would install its own signal handlers; here one event stops web and worker together.
    await server._serve([listener])  # pyright: ignore[reportPrivateUsage]


class _Server(uvicorn.Server):
    """uvicorn polls every tenth of a second whether it should stop; this one waits for an event. It also answers
    the connections that the system has accepted and uvicorn has not seen.
    """

    def __init__(self, config: uvicorn.Config, runtime: Runtime, stop: asyncio.Event, drain: int) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._stop = stop
        self._drain = drain

    async def main_loop(self) -> None:
        tasks = [asyncio.create_task(super().main_loop()), asyncio.create_task(self._end_overdue())]
        await self._stop.wait()
        self._runtime.health.stopping = True
        await asyncio.sleep(self._drain)
        for task in tasks:
            await ended(task)

    async def _end_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = loop.time()
            # A busy loop reads nothing: do not count that time against the clients.
            late = max(0.0, now - last - CHECK_SECONDS)
            last = now
            for connection in cast(list[ClientConnection], list(self.server_state.connections)):
                connection.end_if_overdue(now, late)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # A copy keeps the backlog open when uvicorn's listener is closed.
        copies = [listener.dup() for listener in sockets or []]
        for server in self.servers:
            server.close()
        for listener in copies:
            await self._serve_backlog(listener)
        await self._receive_first_requests()
        # Open streams close themselves, else they would use up the grace period.
        self._runtime.bus.deliver(ChangeEvent("stopping"))
        await super().shutdown(sockets)

    async def _serve_backlog(self, listener: socket.socket) -> None:
        kind: Any = self.config.http_protocol_class
        for client in _accept_backlog(listener):
            with suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state),
                    client,
                )

    async def _receive_first_requests(self) -> None:
        """uvicorn closes connections whose first request has not been read yet, so wait for it."""
        await asyncio.sleep(POLL_SECONDS)  # sockets just accepted are listed after the next turn of the loop
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_REQUEST_SECONDS):
                while any(_has_no_request(each) for each in self.server_state.connections):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_SECONDS)


def _has_no_request(connection: Any) -> bool:
    return connection.cycle is None


def _accept_backlog(listener: socket.socket) -> list[socket.socket]:
    """Accept what waits and close the listener at once: a client that connects in between would be reset."""
    clients: list[socket.socket] = []
    with listener, suppress(OSError):
        listener.setblocking(False)
        while True:
            client, _ = listener.accept()
            client.setblocking(False)
            clients.append(client)
    return clients


log = structlog.get_logger()

Role = Literal["serve", "web", "worker"]

GRACE_SECONDS = 10
BACKLOG = 2048
FIRST_ANSWER_SECONDS = 1
LARGE_BLOCK = 1024 * 1024
HEAPS = 2
TRIM_SECONDS = 600.0
YOUNG_OBJECTS = 10_000
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
WORKER_NICENESS = 5
"""Gives a worker about a third of the CPU of a `web` process on the same core: pages come first."""


async def run_role(role: Role, settings: Settings, *, publish_events: Callable[[str], None]) -> None:
    """Run until SIGTERM or Ctrl-C, drain, then finish current work within ten seconds."""
    _return_freed_memory()
    if role == "worker":
        with suppress(OSError):
            os.nice(WORKER_NICENESS)
    listener = _bind(settings, settings.port) if role != "worker" else None
    metrics_listener = _bind(settings, settings.metrics_port) if role == "worker" and settings.metrics_port else None
    if listener is not None and role == "serve":
        _listen(listener, settings)  # clients wait during the start instead of being refused
    async with running(settings, may_migrate=role == "serve") as runtime, AsyncExitStack() as stack:
        if role != "web":
            await encrypt_stored(runtime.db, runtime.now())
        stop = _stop_event()
        tasks: list[Awaitable[None]] = []
        serve = partial(
            serve_http, grace=GRACE_SECONDS - 2, drain=settings.drain_seconds, limits=connection_limits(settings)
        )
        if listener is not None:
            application = _application(runtime)
            if role == "web":  # one of many: another process serves clients refused here
                await application.load()
                _listen(listener, settings)
            tasks.append(serve(application, runtime, listener, stop))
            publish_events(f"Reedbed is at {settings.address}")
        if metrics_listener is not None:
            _listen(metrics_listener, settings)
            tasks.append(serve(_probes(runtime), runtime, metrics_listener, stop))
        if role != "web":
            pause = FIRST_ANSWER_SECONDS if listener else 0
            tasks.append(_work_until(runtime, stop, after=pause))
        for task in (live(runtime, role), watch(runtime), watch_recipes(runtime), _trim_regularly()):
            stack.push_async_callback(ended, asyncio.create_task(task))
        _freeze_loaded_objects()
        log.info("started", role=role, version=__version__)
        await _until_first_failure(tasks, stop)
        log.info("stopping", role=role)


def _return_freed_memory() -> None:
    """Have large blocks returned to the system when they are freed, and let threads share two heaps.

    By default glibc keeps what it had to allocate twice: 19 MB after two logins, for the hash of a password,
    and as much again after a crawl. Other C libraries have no `mallopt`.
    """
    with suppress(ImportError, OSError, AttributeError):
        from ctypes import CDLL

        libc = CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)
        libc.mallopt(_M_ARENA_MAX, HEAPS)


async def _trim_regularly() -> None:
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        await asyncio.to_thread(trim_heap)


def _bind(settings: Settings, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with _explain_socket_error(listener, settings, port):
        listener.bind((settings.host, port))
    return listener


def _listen(listener: socket.socket, settings: Settings) -> None:
    with _explain_socket_error(listener, settings, listener.getsockname()[1]):
        listener.listen(BACKLOG)


@contextmanager
def _explain_socket_error(listener: socket.socket, settings: Settings, port: int) -> Generator[None]:
    try:
        yield
    except OSError as error:
        listener.close()
        setting = "REEDBED_METRICS_PORT" if port == settings.metrics_port else "--port or REEDBED_PORT"
        raise CannotStart(
            f"Port {port} on {settings.host} cannot be used: {error.strerror}. "
            f"Stop the program that uses it, or choose another with {setting}."
        ) from error


def _stop_event() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _application(runtime: Runtime) -> "Application":
    from reedbed.roles.app import create_app  # a worker does not need it

    return create_app(runtime)


def _probes(runtime: Runtime) -> "ASGIApp":
    from reedbed.http.probes import create_probe_app

    return create_probe_app(runtime)


async def _work_until(runtime: Runtime, stop: asyncio.Event, *, after: float) -> None:
    await _pause(stop, after)
    work = await load_in_thread(_load_worker)
    await work(runtime, stop, grace=GRACE_SECONDS - 2)


def _load_worker() -> "Work":
    from reedbed.worker import work

    # Once, after the first answer: what loading left over would stay for ever, and take 3 MB.
    gc.unfreeze()
    gc.collect()
    _freeze_loaded_objects()
    return work


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _freeze_loaded_objects() -> None:
    """Objects loaded so far stay loaded, so the garbage collector ignores them from now on.

    Others are nearly all freed by counting references, so it looks at the new ones less often than after 700.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()


async def _until_first_failure(tasks: list[Awaitable[None]], stop: asyncio.Event) -> None:
    running_tasks = [asyncio.ensure_future(task) for task in tasks]
    try:
        await asyncio.gather(*running_tasks)
    finally:
        stop.set()
        await asyncio.gather(*running_tasks, return_exceptions=True)
