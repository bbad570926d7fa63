"""Workers keep to the limits of each host together, without a Redis."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

from reedbed.worker.refresh import MAX_QUEUE
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness
from tests.processes import START_SECONDS, reedbed

FEEDS = 2 * MAX_QUEUE  # so many of one host that each worker claims its share


async def test_two_workers_have_two_requests_in_flight_at_a_host(
    site: FeedSite, database_url: str, tmp_path: Path
) -> None:
    ready = asyncio.Event()
    async with open_harness(database_url) as harness:
        for number in range(FEEDS):
            site.misbehave(feed=f"f{number}", until=ready)
            site.publish("One", feed=f"f{number}")
            await harness.follow(site.feed_url(f"f{number}"))
        with ExitStack() as workers:
            for _ in range(2):
                workers.enter_context(reedbed("worker", cwd=tmp_path, database_url=database_url, host_delay="0.01"))
            await _until(harness, "SELECT count(*) FROM processes", 2)
            async with asyncio.timeout(START_SECONDS):
                while len(site.arrived) < 2:  # noqa: ASYNC110  other processes are waited for
                    await asyncio.sleep(0.03)
            await asyncio.sleep(1)  # in which no other one may come
            assert len(site.arrived) == 2
            ready.set()
            await _until(harness, "SELECT count(*) FROM feed_fetch_state WHERE last_checked_at IS NOT NULL", FEEDS)
        left = await harness.column("SELECT in_flight FROM host_turns")
        assert left == (["{}"] if harness.runtime.db.engine == "postgresql" else [])
    assert len(site.arrived) == FEEDS


async def _until(harness: RuntimeHarness, count: str, number: int) -> None:
    async with asyncio.timeout(START_SECONDS):
        while await harness.column(count) != [number]:  # noqa: ASYNC110  other processes write it
            await asyncio.sleep(0.03)
