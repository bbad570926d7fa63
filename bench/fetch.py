"""CPU per fetch through the `Fetcher`, on loopback with keep-alive: unchanged (304) and a 20 KB document.

The site runs in a process of its own, so that only the client's CPU counts.
"""

import asyncio
import multiprocessing
import socket
import time
from collections.abc import Awaitable, Callable
from ipaddress import ip_network
from multiprocessing.connection import Connection

import aiohttp
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult

from bench.table import record
from reedbed.domain.refresh.outcomes import Failed, FetchRequest
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard

DESCRIPTION = "CPU per fetch on loopback, unchanged and 20 KB, beside bare aiohttp"

ROUNDS = 3000
CONCURRENCY = 10
ETAG = '"v1"'
DOCUMENT = b"<rss>" + b"reed " * 4096 + b"</rss>"
HEAD = b'Content-Type: application/rss+xml\r\nETag: "v1"\r\nCache-Control: max-age=300\r\n'
FULL = b"HTTP/1.1 200 OK\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % len(DOCUMENT) + DOCUMENT
UNCHANGED = b"HTTP/1.1 304 Not Modified\r\n" + HEAD + b"\r\n"


def main() -> None:
    ours, theirs = multiprocessing.Pipe()
    site = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    site.start()
    try:
        uvloop.run(_measure(f"http://feeds.example.org:{ours.recv()}/feed.xml"))
    finally:
        site.terminate()
        site.join()


async def _measure(url: str) -> None:
    fetcher = Fetcher(Guard([ip_network("127.0.0.0/8")]), resolver=_Here())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=_Here())) as session:
        for name, etag in (("unchanged (304)", ETAG), ("20 KB document", None)):
            bare = await _cost(lambda etag=etag: _bare(session, url, etag))
            ours = await _cost(lambda etag=etag: _through(fetcher, FetchRequest(url, etag=etag)))
            record(name, ours * 1000, "ms", compared_to="bare aiohttp", other=bare * 1000)
    await fetcher.close()


async def _through(fetcher: Fetcher, request: FetchRequest) -> None:
    outcome = await fetcher.fetch(request)
    assert not isinstance(outcome, Failed), outcome


async def _bare(session: aiohttp.ClientSession, url: str, etag: str | None) -> None:
    async with session.get(url, headers={"If-None-Match": etag} if etag else {}) as response:
        await response.read()


async def _cost(fetch: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds of one fetch, the best of three rounds."""

    async def several(count: int) -> None:
        for _ in range(count):
            await fetch()

    async def all_at_once(count: int) -> None:
        await asyncio.gather(*(several(count // CONCURRENCY) for _ in range(CONCURRENCY)))

    await all_at_once(200)
    costs: list[float] = []
    for _ in range(3):
        before = time.process_time()
        await all_at_once(ROUNDS)
        costs.append((time.process_time() - before) / ROUNDS)
    return min(costs)


class _Here(AbstractResolver):
    """Every name is this machine: real feeds have names, and those take another path than numbers."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


class _Site(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(UNCHANGED if b"If-None-Match" in data else FULL)


def _serve(pipe: Connection) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Site, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(run())
