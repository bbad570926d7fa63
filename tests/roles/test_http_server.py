"""A server that is told to stop answers whoever has reached it, at whatever moment that was."""

import asyncio
import errno
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import uvloop

from reedbed.events.memory import MemoryBus
from reedbed.roles import http_server
from reedbed.roles.http_server import serve_http
from tests.effort import EFFORT
from tests.serving import listener

ASKED = b"GET / HTTP/1.1\r\nHost: reedbed\r\n\r\n"
CALLERS = 4
STOPS = 10 * EFFORT


@dataclass
class Told:
    """All that a server needs of a runtime."""

    bus: MemoryBus = field(default_factory=MemoryBus)


async def application(scope, receive, send) -> None:
    time.sleep(0.001)  # noqa: ASYNC251  the loop is busy, so that callers wait at the door
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


def test_whoever_was_let_in_before_the_stop_is_answered() -> None:
    heard: list[str] = []
    for _ in range(STOPS):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as every role runs
            runner.run(_stop_while_called(heard))
    counts = Counter(heard)
    assert counts["refused"] == CALLERS * STOPS
    assert set(counts) == {"answered", "refused"}, counts


def test_who_has_connected_may_take_a_while_to_speak() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(_speak_after_the_stop()).startswith(b"HTTP/1.1 200")


async def _speak_after_the_stop() -> bytes:
    async with _stopping() as (place, stop):
        with await asyncio.to_thread(socket.create_connection, place, 60) as caller:
            stop.set()
            await asyncio.sleep(0.2)
            caller.sendall(ASKED)
            return await asyncio.to_thread(caller.recv, 1000)


def test_who_comes_after_the_last_look_is_refused_and_not_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as late, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        late.setblocking(False)
        look = http_server._at_the_door

        def look_and_be_late(listener: socket.socket) -> Iterator[socket.socket]:
            yield from look(listener)
            late.connect_ex(listener.getsockname())

        monkeypatch.setattr(http_server, "_at_the_door", look_and_be_late)
        runner.run(_only_stop())
        select.select([], [late], [], 60)
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


async def _only_stop() -> None:
    async with _stopping() as (_, stop):
        stop.set()


@asynccontextmanager
async def _stopping() -> AsyncIterator[tuple[tuple[str, int], asyncio.Event]]:
    """A server that ends within."""
    bound, stop = listener(), asyncio.Event()
    bound.listen()
    place = bound.getsockname()
    serving = asyncio.create_task(serve_http(application, Told(), bound, stop, grace=5))
    yield place, stop
    async with asyncio.timeout(60):
        await serving


async def _stop_while_called(heard: list[str]) -> None:
    async with _stopping() as (place, stop):
        callers = [threading.Thread(target=_call_until_refused, args=(place, heard)) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        await asyncio.sleep(0.03)
        stop.set()
    for caller in callers:
        await asyncio.to_thread(caller.join)


def _call_until_refused(place: tuple[str, int], heard: list[str]) -> None:
    said = ""
    while said != "refused":
        said = _call(place)
        heard.append(said)


def _call(place: tuple[str, int]) -> str:
    try:
        caller = socket.create_connection(place, timeout=60)
    except OSError:
        return "refused"
    with caller:
        try:
            caller.sendall(ASKED)
            return "answered" if caller.recv(1000).startswith(b"HTTP/1.1 200") else "hung up"
        except OSError as error:
            return repr(error)
