"""A crawl by one, two and four workers on PostgreSQL and Redis: feeds a second and CPU for each check.

The feeds are on loopback and answer at once, so that the machine is what bounds it: on two cores, which the
site and the servers share, the second worker is the last that can help. BENCH_FEEDS sets the number of feeds.
"""

import asyncio
import os
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.load import feed_site
from bench.table import record
from reedbed.store.migrations import migrate
from tests import servers
from tests.harness import RuntimeHarness, open_harness
from tests.processes import Reedbed, reedbed

DESCRIPTION = "throughput of a crawl with 1, 2 and 4 workers on PostgreSQL and Redis"

FEEDS = int(os.environ.get("BENCH_FEEDS", "1000"))
ENTRIES = 10
MAX_SECONDS = 600
UNCHECKED = "SELECT count(*) FROM feed_fetch_state WHERE last_checked_at IS NULL OR last_checked_at < :since"


async def main() -> None:
    with servers.postgres_server() as postgres, servers.redis_server() as redis:
        alone: dict[str, float] = {}
        for workers in (1, 2, 4):
            async with feed_site(FEEDS, ENTRIES) as site:
                await _bench(postgres.create(), redis, site, workers, alone)


async def _bench(url: str, redis: str, site: str, workers: int, alone: dict[str, float]) -> None:
    await migrate(url)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        async with open_harness(url) as harness:
            reader = await harness.person()
            for number in range(FEEDS):
                await harness.follow(f"{site}/f/{number}", user_id=reader)
            later = harness.runtime.now() + MAX_SECONDS * 1_000
            await harness.change("UPDATE feed_fetch_state SET next_check_at = :later", later=later)
            settings = {"database_url": url, "redis_url": redis, "fetch_concurrency": "20"}
            running = [
                stack.enter_context(reedbed("worker", port=None, cwd=folder, wait=True, **settings))
                for _ in range(workers)
            ]
            await _until(harness, "SELECT count(*) = :workers FROM processes", workers=workers)
            for name in ("first", "unchanged"):
                speed, cpu = await _crawled(harness, running)
                alone.setdefault(name, speed)
                record(
                    f"{workers} workers, {name}: {cpu:.2f} ms of CPU each",
                    speed,
                    "feeds/s",
                    compared_to="one worker",
                    other=alone[name],
                )


async def _crawled(harness: RuntimeHarness, running: list[Reedbed]) -> tuple[float, float]:
    """Feeds a second by the clock, and milliseconds of the workers' CPU for each."""
    since, began, before = harness.runtime.now(), time.monotonic(), _cpu(running)
    await harness.change("UPDATE feed_fetch_state SET urgent = true, next_check_at = :now", now=since)
    await _until(harness, f"SELECT ({UNCHECKED}) = 0", since=since)
    return FEEDS / (time.monotonic() - began), (_cpu(running) - before) / FEEDS * 1_000


async def _until(harness: RuntimeHarness, question: str, **given: int) -> None:
    async with asyncio.timeout(MAX_SECONDS):
        while not (await harness.column(question, **given))[0]:  # noqa: ASYNC110  the workers tell nobody
            await asyncio.sleep(0.1)


def _cpu(running: list[Reedbed]) -> float:
    ticks = 0
    for each in running:
        fields = Path(f"/proc/{each.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
