"""A server that is told to stop answers whoever has reached it, at whatever moment that was."""

import asyncio
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import uvloop

from reedbed.events.memory import MemoryBus
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
    heard: Counter[str] = Counter()
    for _ in range(STOPS):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as every role runs
            runner.run(_stop_while_called(heard))
    assert heard["refused"] == CALLERS * STOPS
    assert set(heard) == {"answered", "refused"}, heard


async def _stop_while_called(heard: Counter[str]) -> None:
    bound, stop = listener(), asyncio.Event()
    bound.listen()
    place = bound.getsockname()
    serving = asyncio.create_task(serve_http(application, Told(), bound, stop, grace=5))
    callers = [threading.Thread(target=_call_until_refused, args=(place, heard)) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    await asyncio.sleep(0.03)
    stop.set()
    async with asyncio.timeout(10):
        await serving
    for caller in callers:
        await asyncio.to_thread(caller.join)


def _call_until_refused(place: tuple[str, int], heard: Counter[str]) -> None:
    said = ""
    while said != "refused":
        said = _call(place)
        heard[said] += 1


def _call(place: tuple[str, int]) -> str:
    try:
        caller = socket.create_connection(place, timeout=10)
    except OSError:
        return "refused"
    with caller:
        try:
            caller.sendall(ASKED)
            return "answered" if caller.recv(1000).startswith(b"HTTP/1.1 200") else "hung up"
        except OSError as error:
            return repr(error)
