"""A thousand open streams on one process: how long until all have heard, and what each one holds.

Then, within this process: the CPU that a hint costs at a stream, if it concerns it and if not.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import aiohttp

from bench.table import record
from reedbed.domain.live import ChangeEvent
from reedbed.domain.users import RateLimits
from reedbed.services.auth import identify
from reedbed.services.live import follow
from reedbed.services.runtime import Runtime
from reedbed.store.migrations import migrate
from tests.clients import session_of
from tests.harness import open_harness
from tests.processes import OWNER, reedbed
from tests.servers import free_port

DESCRIPTION = "1,000 server-sent event streams on one process: time until all have heard, memory of each"

STREAMS = 1_000
PROMISE_SECONDS = 1.0
HINTS = 500
FEEDS = 100


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="reedbed-live-") as directory,
        reedbed(
            "serve",
            port=free_port(),
            cwd=Path(directory),
            api_rate_burst="100000",
            api_rate_per_second="100000",
            max_streams_per_user=str(STREAMS),
        ) as server,
    ):
        asyncio.run(_measure(server.url, server.process.pid))
        asyncio.run(_tell_in_vain(f"sqlite:///{directory}/vain.db"))


async def _measure(url: str, pid: int) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, base_url=url, headers=await _login(url)) as session:
        before = _resident_kb(pid)
        streams = [await session.get("/api/v1/events") for _ in range(STREAMS)]
        heard = [asyncio.create_task(_hears(stream)) for stream in streams]
        await asyncio.sleep(2)
        record("memory of a stream", (_resident_kb(pid) - before) / STREAMS, "KB", compared_to="100 KB", other=100)
        started = time.monotonic()
        (await session.post("/api/v1/folders", json={"name": "News"})).raise_for_status()
        await asyncio.gather(*heard)
        took = time.monotonic() - started
        record("until 1,000 streams heard", took, "s", compared_to="promise", other=PROMISE_SECONDS)
        for stream in streams:
            stream.close()


async def _tell_in_vain(url: str) -> None:
    await migrate(url)
    async with open_harness(url) as harness:
        harness.runtime = replace(harness.runtime, limits=RateLimits(streams=STREAMS))
        user_id, token = await session_of(harness.runtime, "reader@example.org", "user")
        for number in range(FEEDS):
            await harness.follow(f"https://example.org/{number}", user_id=user_id)
        caller = await identify(harness.runtime, token)
        assert caller is not None
        heard = Heard()
        listening = [asyncio.create_task(heard.listen(follow(harness.runtime, caller, None))) for _ in range(STREAMS)]
        while harness.runtime.metrics.open_streams < STREAMS:  # noqa: ASYNC110  a meter tells nobody that it moved
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        mine = await heard.cost(harness.runtime, ChangeEvent("counts", user_id=user_id))
        vain = await heard.cost(harness.runtime, ChangeEvent("new_entry", feed_id=10_000_000))
        assert heard.hints == HINTS * STREAMS
        record("a hint in vain, at one stream", vain, "µs", compared_to="one that is told", other=mine)
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)


class Heard:
    def __init__(self) -> None:
        self.hints = 0

    async def listen(self, stream: AsyncGenerator[ChangeEvent | None]) -> None:
        async for hint in stream:
            self.hints += hint is not None

    async def cost(self, runtime: Runtime, hint: ChangeEvent) -> float:
        """µs of CPU at each stream."""
        started = time.process_time()
        for _ in range(HINTS):
            await runtime.bus.publish(hint)
            await asyncio.sleep(0)
        await asyncio.sleep(0.5)
        return (time.process_time() - started) / HINTS / STREAMS * 1e6


async def _login(url: str) -> dict[str, str]:
    async with aiohttp.ClientSession(base_url=url) as session:
        body = {"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]}
        answer = await session.post("/api/v1/auth/login", json=body)
        return {"Authorization": f"Bearer {(await answer.json())['token']}"}


async def _hears(stream: aiohttp.ClientResponse) -> None:
    async for line in stream.content:
        if line.startswith(b"event: subscriptions"):
            return


def _resident_kb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000
