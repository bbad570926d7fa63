"""A name server that changes its mind, spoken to by a real process through the machine's own lookup."""

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests import servers
from tests.feedsite import FeedSite
from tests.processes import COMMAND, Reedbed, environment, signed_in
from tests.serving import in_thread

NAMESERVER = f"127.{os.getpid() >> 8 & 127 | 128}.{os.getpid() & 255}.53"
"""One's own, where these tests run twice on one machine."""
OUTSIDE, INSIDE = "127.0.0.2", "127.0.0.1"
A, CNAME, AAAA = 1, 5, 28
TRIES = 6


class NameServer:
    """Answers by the first label of a name; `turn` gives another address each time it is asked."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((NAMESERVER, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                data, peer = self._socket.recvfrom(4096)
            except OSError:
                return
            self._socket.sendto(self._answer(data), peer)

    def _answer(self, query: bytes) -> bytes:
        name, end = _read_name(query, 12)
        (kind,) = struct.unpack_from("!H", query, end)
        records = self._records(name.lower(), kind)
        head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, len(records), 0, 0)
        return head + query[12 : end + 4] + b"".join(records)

    def _records(self, name: str, kind: int) -> list[bytes]:
        way = name.split("-")[0].split(".")[0]
        if kind == A and way != "cname":
            return [_record(A, socket.inet_aton(address)) for address in self._addresses(way, name)]
        if kind == AAAA and way == "six":
            return [_record(AAAA, socket.inet_pton(socket.AF_INET6, "::1"))]
        if kind == AAAA and way == "mapped":
            return [_record(AAAA, socket.inet_pton(socket.AF_INET6, f"::ffff:{INSIDE}"))]
        if way == "cname":
            return [_record(CNAME, b"\x09localhost\x00")]
        return []

    def _addresses(self, way: str, name: str) -> list[str]:
        times = self.asked[name] = self.asked.get(name, 0) + 1
        match way:
            case "turn":
                return [OUTSIDE if times % 2 else INSIDE]
            case "back":
                return [INSIDE if times % 2 else OUTSIDE]
            case "both":
                return [INSIDE, OUTSIDE]
            case "inside" | "zero":
                return [INSIDE if way == "inside" else "0.0.0.0"]
            case _:
                return [OUTSIDE]


def test_no_answer_of_a_name_server_leads_inside(tmp_path: Path, free_port: int) -> None:
    port = servers.free_port()
    with (
        in_thread(FeedSite(host=OUTSIDE, port=port)) as outside,
        in_thread(FeedSite(host=INSIDE, port=port)) as inside,
        _name_server() as names,
        _process(tmp_path, free_port) as server,
        signed_in(server.url) as client,
    ):
        for site in (outside, inside):
            site.publish("Hello", key="a")
        reached = _preview(client, f"http://plain.rebind.test:{port}/main.feed")
        assert reached.status_code == 200, "the name server is not asked: this test shows nothing"
        for way in ("turn", "back", "both", "inside", "zero", "six", "mapped", "cname"):
            for number in range(TRIES if way in ("turn", "back") else 2):
                name = f"{way}-{number}.rebind.test:{port}"
                outside.redirect(f"http://{name}/main.feed", feed=f"again-{way}-{number}")
                for path in ("main.feed", f"again-{way}-{number}.feed"):
                    answer = _preview(client, f"http://{name}/{path}")
                    assert answer.status_code < 500
        assert names.asked
        assert inside.arrived == []
        assert len(outside.arrived) > TRIES


def _preview(client: httpx.Client, url: str) -> httpx.Response:
    return client.get("/api/v1/feeds/preview", params={"url": url})


@contextmanager
def _name_server() -> Iterator[NameServer]:
    server = NameServer()
    try:
        yield server
    finally:
        server.close()


@contextmanager
def _process(cwd: Path, port: int) -> Iterator[Reedbed]:
    """A process whose machine knows only our name server: it sees another /etc/resolv.conf."""
    known = cwd / "resolv.conf"
    known.write_text(f"nameserver {NAMESERVER}\noptions timeout:20 attempts:1\n")
    script = f"mount --bind {known} /etc/resolv.conf && exec {COMMAND} serve --port {port}"
    settings = environment(allow_networks=f"{OUTSIDE}/32", api_rate_burst="10000", fetch_timeout="30")
    with (cwd / "serve.log").open("wb") as log:
        process = subprocess.Popen(["unshare", "-m", "sh", "-c", script], cwd=cwd, env=settings, stderr=log, text=True)
    server = Reedbed(process, port)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.kill()


def _read_name(packet: bytes, at: int) -> tuple[str, int]:
    labels: list[str] = []
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("latin-1"))
        at += 1 + length
    return ".".join(labels), at + 1


def _record(kind: int, data: bytes) -> bytes:
    return b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
