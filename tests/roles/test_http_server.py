"""The HTTP server: a stop answers every accepted request, and no client can use up the server."""

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network

import pytest
import uvloop

from reedbed.events.bus import MemoryBus
from reedbed.roles import connections, run
from reedbed.roles.connections import ClientConnection, ConnectionLimits, ConnectionPool
from reedbed.roles.run import serve_http
from reedbed.services.runtime import HealthState
from tests.effort import REPEAT_FACTOR
from tests.serving import listener

ASKED = b"GET / HTTP/1.1\r\nHost: reedbed\r\n\r\n"
CALLERS = 4
STOPS = 10 * REPEAT_FACTOR


@dataclass
class ServerRuntime:
    """All that a server needs of a runtime."""

    bus: MemoryBus = field(default_factory=MemoryBus)
    health: HealthState = field(default_factory=HealthState)


async def application(scope, receive, send) -> None:
    time.sleep(0.001)  # noqa: ASYNC251  the loop is busy, so that callers wait at the endpoint
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


def test_whoever_was_accepted_before_the_stop_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that connects in the moment before the listener is closed may be reset, but was never accepted."""
    heard: list[str] = []
    accepted: list[object] = []
    admit = ConnectionPool.admit

    def count_and_admit(pool: ConnectionPool, connection: ClientConnection, ip: str | None) -> bool:
        accepted.append(connection)
        return admit(pool, connection, ip)

    monkeypatch.setattr(ConnectionPool, "admit", count_and_admit)
    for _ in range(STOPS):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as every role runs
            runner.run(_stop_while_called(heard))
    counts = Counter(heard)
    assert counts["refused"] == CALLERS * STOPS
    assert counts["answered"] == len(accepted), counts


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


def test_a_caller_that_heeds_readiness_is_always_answered() -> None:
    heard: list[str] = []
    runtime = ServerRuntime()

    async def readiness(scope, receive, send) -> None:
        status = 503 if runtime.health.stopping else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    async def drain() -> None:
        async with _stopping(readiness, runtime=runtime, drain=1) as (place, stop):
            callers = [threading.Thread(target=_call_until, args=("503", place, heard)) for _ in range(CALLERS)]
            for caller in callers:
                caller.start()
            await asyncio.sleep(0.03)
            stop.set()
            for caller in callers:
                await asyncio.to_thread(caller.join)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(drain())
    counts = Counter(heard)
    assert counts["503"] == CALLERS
    assert set(counts) == {"answered", "503"}, counts


@pytest.mark.parametrize(
    "head",
    [
        b"X-Long: " + b"a" * 70_000,
        b"X-Long: " + b"a" * 200_000,
        b"a" * 200_000 + b": named at length",
        b"\r\n".join([b"X-Many: a"] * 200),
        b"\r\n".join([b"X-Large: " + b"a" * 2_000] * 99),
    ],
    ids=["long", "very long", "name", "many", "large"],
)
def test_a_head_with_too_much_in_it_is_answered_with_431(head: bytes) -> None:
    heard = _answer_to(b"GET / HTTP/1.1\r\nHost: reedbed\r\n" + head + b"\r\n\r\n")
    assert heard.startswith(b"HTTP/1.1 431 ")
    assert json.loads(heard.partition(b"\r\n\r\n")[2])["error"]["code"] == "headers_too_large"


@pytest.mark.parametrize(
    "endless",
    [
        b"GET / HTTP/1.1\r\nX-Endless: ",
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: reedbed\r\nX-Endless",
        # After a body in chunks there may be more headers, and each chunk may have extensions.
        b"POST / HTTP/1.1\r\nHost: reedbed\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Endless: ",
        b"POST / HTTP/1.1\r\nHost: reedbed\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
)
def test_a_head_without_end_is_refused_soon(endless: bytes) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(_bytes_taken(endless)) < 8_000_000  # the buffers of two sockets are part of it


async def _bytes_taken(beginning: bytes) -> int:
    async with _stopping(reading) as (place, stop):

        def flood() -> int:
            taken, piece = 0, b"a" * 65_536
            with socket.create_connection(place, 60) as caller:
                caller.sendall(beginning)
                with suppress(ConnectionError):
                    while taken < 100_000_000:
                        caller.sendall(piece)
                        taken += len(piece)
            return taken

        taken = await asyncio.to_thread(flood)
        stop.set()
        return taken


@pytest.mark.parametrize(
    "half",
    [
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: reedbed\r\n",
        b"POST / HTTP/1.1\r\nHost: reedbed\r\nContent-Length: 100\r\n\r\nhalf",
    ],
)
def test_a_request_that_does_not_arrive_in_time_is_answered_with_408(
    half: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hurry(monkeypatch)
    heard = _answer_to(half, reading)
    assert heard.startswith(b"HTTP/1.1 408 "), heard


def test_a_slow_body_may_go_on_as_long_as_it_brings_something(monkeypatch: pytest.MonkeyPatch) -> None:
    _hurry(monkeypatch)
    monkeypatch.setattr(connections, "MIN_BODY_BYTES", 1)

    async def send_slowly() -> bytes:
        async with _stopping(reading) as (place, stop):
            with await asyncio.to_thread(socket.create_connection, place, 60) as caller:
                caller.sendall(b"POST / HTTP/1.1\r\nHost: reedbed\r\nContent-Length: 12\r\n\r\n")
                for _ in range(12):
                    caller.sendall(b"a")
                    await asyncio.sleep(0.2)
                heard = await asyncio.to_thread(caller.recv, 1000)
            stop.set()
            return heard

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(send_slowly()).startswith(b"HTTP/1.1 200")


def test_who_never_asks_is_closed_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    _hurry(monkeypatch)
    assert _answer_to(b"") == b""
    assert _answer_to(b"\r\n") == b""


def test_a_new_connection_takes_the_place_of_the_one_that_waits_longest() -> None:
    limits = ConnectionLimits(total=3)

    async def crowd() -> tuple[list[bytes], list[bool]]:
        async with _stopping(limits=limits) as (place, stop):
            callers = [await asyncio.to_thread(_connected, place) for _ in range(3)]
            answers = [await asyncio.to_thread(_ask, callers[0])]  # so it has waited for the shortest time
            callers += [await asyncio.to_thread(_connected, place) for _ in range(2)]
            answers += [await asyncio.to_thread(_ask, callers[number]) for number in (0, 3, 4)]
            closed = [await asyncio.to_thread(_is_closed, caller) for caller in callers[1:3]]
            stop.set()
            for caller in callers:
                caller.close()
            return answers, closed

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answers, closed = runner.run(crowd())
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
    assert closed == [True, True]


def test_an_address_with_one_place_uses_it_again_and_again() -> None:
    limits = ConnectionLimits(per_address=1, exempt=())

    async def take_turns() -> tuple[list[bool], bytes]:
        async with _stopping(limits=limits) as (place, stop):
            callers = [await asyncio.to_thread(_connected, place) for _ in range(4)]
            closed = [await asyncio.to_thread(_is_closed, caller) for caller in callers[:3]]
            heard = await asyncio.to_thread(_ask, callers[3])
            stop.set()
            for caller in callers:
                caller.close()
            return closed, heard

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        closed, heard = runner.run(take_turns())
    assert closed == [True, True, True]
    assert heard.startswith(b"HTTP/1.1 200")


def test_a_stop_does_not_wait_for_a_client_that_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _hurry(monkeypatch)
    monkeypatch.setattr(connections, "LINGER_SECONDS", 1_000)

    async def stop_after_refusal() -> float:
        loop = asyncio.get_running_loop()
        async with _stopping(reading) as (place, stop):
            caller = await asyncio.to_thread(_connected, place)
            caller.sendall(b"POST / HTTP/1.1\r\nHost: reedbed\r\nContent-Length: 100\r\n\r\nhalf")
            assert (await asyncio.to_thread(caller.recv, 1000)).startswith(b"HTTP/1.1 408 ")
            started = loop.time()
            stop.set()
        caller.close()
        return loop.time() - started

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(stop_after_refusal()) < 4  # a stop gives requests in progress five seconds


def test_one_address_has_only_so_many_places_and_others_have_theirs() -> None:
    limits = ConnectionLimits(total=100, per_address=2, exempt=(ip_network("127.0.0.2/32"),))

    async def crowd() -> list[bytes]:
        async with _stopping(answering_later, limits=limits) as (place, stop):
            busy = [await asyncio.to_thread(_connected, place) for _ in range(2)]
            for caller in busy:
                caller.sendall(ASKED)
            await _until_asked(2)
            crowded = await asyncio.to_thread(_connected, place)
            others = [await asyncio.to_thread(_connected, place, f"127.0.0.{end}") for end in (2, 2, 2, 3)]
            answers = [await asyncio.to_thread(crowded.recv, 1000)]
            for caller in others:
                caller.sendall(ASKED)
            await _until_asked(6)
            _go_on.set()
            answers += [await asyncio.to_thread(caller.recv, 1000) for caller in (*busy, *others)]
            stop.set()
            for caller in (*busy, crowded, *others):
                caller.close()
            return answers

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        refused, *answers = runner.run(crowd())
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * 6


def test_requests_on_one_connection_are_answered_in_turn_and_do_not_pile_up() -> None:
    assert _answer_to(ASKED * 20, count=20).count(b"HTTP/1.1 200") == 20
    assert _answer_to(ASKED * 5_000, count=5_000).count(b"HTTP/1.1 200") < 5_000


async def reading(scope, receive, send) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message["more_body"]:
            break
    await application(scope, receive, send)


_go_on = asyncio.Event()
_asked: list[object] = []


async def answering_later(scope, receive, send) -> None:
    _asked.append(scope)
    await _go_on.wait()
    await application(scope, receive, send)


async def _until_asked(count: int) -> None:
    async with asyncio.timeout(60):
        while len(_asked) < count:  # noqa: ASYNC110  the server runs in this loop
            await asyncio.sleep(0.01)


def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "KEEP_ALIVE_SECONDS"):
        monkeypatch.setattr(connections, name, 0.5)
    monkeypatch.setattr(run, "CHECK_SECONDS", 0.1)


def _answer_to(said: bytes, app=None, *, count: int = 1) -> bytes:
    """All that comes back until the server closes, or `count` answers have come."""

    def ask(place: tuple[str, int]) -> bytes:
        heard = b""
        with _connected(place) as caller, suppress(ConnectionError):
            caller.sendall(said)
            while piece := caller.recv(65_536):
                heard += piece
                if heard.count(b"here") >= count:
                    break
        return heard

    async def run() -> bytes:
        async with _stopping(app or application) as (place, stop):
            heard = await asyncio.to_thread(ask, place)
            stop.set()
            return heard

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def _connected(place: tuple[str, int], source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(place, timeout=60, source_address=(source, 0))


def _ask(caller: socket.socket) -> bytes:
    caller.sendall(ASKED)
    return caller.recv(1000)


def _is_closed(caller: socket.socket) -> bool:
    with suppress(ConnectionError):
        return caller.recv(1000) == b""
    return True


@asynccontextmanager
async def _stopping(
    app=application, *, limits: ConnectionLimits | None = None, runtime: ServerRuntime | None = None, drain: int = 0
) -> AsyncIterator[tuple[tuple[str, int], asyncio.Event]]:
    """A server that ends within."""
    bound, stop = listener(), asyncio.Event()
    bound.listen()
    place = bound.getsockname()
    serving = asyncio.create_task(
        serve_http(
            app, runtime or ServerRuntime(), bound, stop, grace=5, drain=drain, limits=limits or ConnectionLimits()
        )
    )
    yield place, stop
    async with asyncio.timeout(60):
        await serving


async def _stop_while_called(heard: list[str]) -> None:
    async with _stopping() as (place, stop):
        callers = [threading.Thread(target=_call_until, args=("refused", place, heard)) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        await asyncio.sleep(0.03)
        stop.set()
    for caller in callers:
        await asyncio.to_thread(caller.join)


def _call_until(last: str, place: tuple[str, int], heard: list[str]) -> None:
    result = ""
    while result != last:
        result = _call(place)
        heard.append(result)


def _call(place: tuple[str, int]) -> str:
    try:
        caller = socket.create_connection(place, timeout=60)
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        return repr(error)
    with caller:
        try:
            status = _ask(caller)[9:12].decode()
            return {"200": "answered", "": "hung up"}.get(status, status)
        except OSError as error:
            return repr(error)
