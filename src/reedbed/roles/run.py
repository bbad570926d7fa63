"""Run a role: `web`, `worker`, or `serve`, which is both in one process."""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

import structlog

from reedbed import __version__
from reedbed.domain.errors import CannotStart
from reedbed.roles.build import ended, load_in_thread, running
from reedbed.roles.connections import connection_limits
from reedbed.roles.server import serve_http
from reedbed.services.instance import live, watch
from reedbed.services.recipes import watch_recipes
from reedbed.services.runtime import Runtime
from reedbed.services.security import encrypt_stored
from reedbed.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from reedbed.roles.app import Application

    Work = Callable[..., Awaitable[None]]

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


def trim_heap() -> None:
    """Return what is free between blocks that are in use: 9 MB after the first fetch of 150 feeds."""
    with suppress(ImportError, OSError, AttributeError):
        from ctypes import CDLL

        CDLL(None).malloc_trim(0)


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
    trim_heap()
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
