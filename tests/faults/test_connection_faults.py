"""Clients that open connections and keep them, send half a request, or a header that never ends."""

import resource
import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests import servers
from tests.processes import Reedbed, reedbed, signed_in, wait_for

FILES = 1_024
IDLE = 1_100
HALF_SENT = 600
CLOSED_WITHIN = 30.0
HEADER_BYTES = 100_000_000
ROOM_TO_GROW = 20_000
"""Kilobytes of memory, for everything that the process does meanwhile."""
STREAMS = 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Reedbed]:
    port = servers.free_port()
    with reedbed("serve", port=port, cwd=tmp_path, wait=False, max_streams_per_user=str(STREAMS)) as running:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        running.wait_until_ready()
        yield running


@pytest.fixture(autouse=True)
def enough_files_here() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8_192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_connections_do_not_stop_the_health_check(server: Reedbed) -> None:
    with ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(_connected(server))
        assert _is_healthy(server)
        with signed_in(server.url) as client:
            client.get("/api/v1/entries").raise_for_status()


def test_half_sent_requests_are_closed_and_meanwhile_others_are_answered(server: Reedbed) -> None:
    with ExitStack() as stack:
        halves = [stack.enter_context(_connected(server)) for _ in range(HALF_SENT)]
        for number, half in enumerate(halves):
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost: reedbed\r\nX-Half: "[: 10 + number % 36])
        assert _is_healthy(server)
        answers = _until_closed(halves, CLOSED_WITHIN)
    assert len(answers) == HALF_SENT
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 408"}


def test_a_header_without_end_neither_stalls_nor_feeds_the_process(server: Reedbed) -> None:
    assert _is_healthy(server)
    before, slowest, sent = _resident_kb(server), 0.0, 0
    piece = b"a" * 1_000_000
    with _connected(server) as flood:
        flood.sendall(b"GET /healthz HTTP/1.1\r\nHost: reedbed\r\nX-Endless: ")
        with suppress(ConnectionError):
            while sent < HEADER_BYTES:
                flood.sendall(piece)
                sent += len(piece)
                started = time.monotonic()
                assert _is_healthy(server)
                slowest = max(slowest, time.monotonic() - started)
    assert sent < HEADER_BYTES / 5
    assert slowest < 5
    assert _resident_kb(server) - before < ROOM_TO_GROW


def test_a_user_has_only_so_many_live_streams(server: Reedbed) -> None:
    with signed_in(server.url) as client, ExitStack() as stack:
        first, *_ = opened = [_stream(client, stack) for _ in range(STREAMS)]
        assert [stream.status_code for stream in opened] == [200] * STREAMS
        refused = wait_for("a refusal", lambda: _refusal(client))
        assert refused.json()["error"]["code"] == "too_many_requests"
        assert int(refused.headers["Retry-After"]) > 0
        first.close()
        wait_for("a free place", lambda: _refusal(client) is None)


def _stream(client: httpx.Client, stack: ExitStack) -> httpx.Response:
    return stack.enter_context(client.stream("GET", "/api/v1/events"))


def _refusal(client: httpx.Client) -> httpx.Response | None:
    with client.stream("GET", "/api/v1/events") as stream:
        if stream.status_code == 200:
            return None
        assert stream.status_code == 429
        stream.read()
        return stream


def _connected(server: Reedbed) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def _is_healthy(server: Reedbed) -> bool:
    return httpx.get(f"{server.url}/healthz", timeout=30).status_code == 200


def _until_closed(callers: Sequence[socket.socket], seconds: float) -> list[bytes]:
    """What those have heard that the server has closed by then."""
    deadline = time.monotonic() + seconds
    heard = {caller.fileno(): b"" for caller in callers}
    by_number = {caller.fileno(): caller for caller in callers}
    closed: list[bytes] = []
    poll = select.poll()
    for number in heard:
        poll.register(number, select.POLLIN)
    while len(closed) < len(callers) and time.monotonic() < deadline:
        for number, _ in poll.poll(1_000):
            piece = by_number[number].recv(65_536)
            heard[number] += piece
            if not piece:
                poll.unregister(number)
                closed.append(heard[number])
    return closed


def _resident_kb(server: Reedbed) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
