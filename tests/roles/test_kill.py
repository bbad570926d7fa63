"""kill -9 at random moments of a crawl: nothing is lost and nothing is doubled."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reedbed.store.entries.write import MAX_VERSIONS
from tests.effort import REPEAT_FACTOR
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness
from tests.processes import START_SECONDS

KILLS = 10 * REPEAT_FACTOR  # on each engine
NAMES = [f"feed{number}" for number in range(40)]
CHANCE = random.Random(os.environ.get("TEST_SEED", "reedbed"))


async def test_a_crawl_killed_again_and_again_loses_and_doubles_nothing(
    threaded_site: FeedSite, database_url: str
) -> None:
    world = World(threaded_site)
    interrupted = 0
    async with open_harness(database_url) as harness:
        people = [await harness.person() for _ in range(2)]
        for name in NAMES:
            for person in people:
                await harness.follow(world.site.feed_url(name), user_id=person)
        for number in range(KILLS):
            world.go_on(number)
            _crawl_and_kill(world.site, database_url)
            interrupted += await _let_leases_run_out(harness)
        while await harness.check():
            pass
        await _assert_everything_is_there_once(harness, world, people)
    assert interrupted > KILLS // 3, "the kills came too early or too late to show anything"


@dataclass
class World:
    """What was ever published."""

    site: FeedSite
    titles: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in NAMES:
            for number in range(8):
                self.publish(name, str(number), f"{name} {number}")

    def publish(self, name: str, key: str, title: str) -> None:
        self.site.publish(title, key=key, feed=name)
        self.titles[self.site.feed_url(name), key] = title

    def go_on(self, number: int) -> None:
        for name in CHANCE.sample(NAMES, len(NAMES) // 2):
            self.publish(name, f"new-{number}", f"{name} new in {number}")
        for name in CHANCE.sample(NAMES, len(NAMES) // 4):
            self.publish(name, "0", f"{name} 0, edition {number}")


def _crawl_and_kill(site: FeedSite, database_url: str) -> None:
    with _worker(database_url) as process:
        # By what was fetched, not by the clock alone: a quick machine would be through with all of them.
        wanted = len(site.requests) + CHANCE.randint(1, len(NAMES))
        deadline = time.monotonic() + START_SECONDS
        while len(site.requests) < wanted:
            assert process.poll() is None, "the worker ended by itself"
            assert time.monotonic() < deadline, "the worker fetched too little"
            time.sleep(0.002)
        time.sleep(CHANCE.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()


@contextmanager
def _worker(database_url: str) -> Iterator[subprocess.Popen[bytes]]:
    settings = {
        "REEDBED_DATABASE_URL": database_url,
        "REEDBED_ALLOW_NETWORKS": "127.0.0.0/8",
        "REEDBED_HOST_DELAY": "0",
        "REEDBED_LOG_LEVEL": "error",
    }
    command = [Path(sys.executable).with_name("reedbed"), "worker"]
    process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def _let_leases_run_out(harness: RuntimeHarness) -> bool:
    """Ten minutes pass, and every feed is due again; whether a feed was in hand when the worker died."""
    (leased,) = await harness.column("SELECT count(*) FROM feed_fetch_state WHERE lease_holder IS NOT NULL")
    await harness.change(
        "UPDATE feed_fetch_state SET next_check_at = 1, leased_until = CASE WHEN leased_until > 1 THEN 1 END"
    )
    return leased > 0


async def _assert_everything_is_there_once(harness: RuntimeHarness, world: World, people: list[int]) -> None:
    stored = await harness.rows("SELECT f.url, e.guid, e.title FROM entries e JOIN feeds f ON f.id = e.feed_id")
    assert sorted(tuple(row) for row in stored) == sorted((*key, title) for key, title in world.titles.items())
    everything = len(world.titles)
    assert await harness.column("SELECT count(*) FROM entry_bodies") == [everything]
    for sql in (
        "SELECT user_id, count(*) FROM unread GROUP BY user_id",
        "SELECT user_id, sum(unread) FROM subscriptions GROUP BY user_id",
    ):
        counts = {user: int(count) for user, count in await harness.rows(sql)}
        assert counts == dict.fromkeys(people, everything)
    lost_versions = await harness.column(
        "SELECT count(*) FROM entries e WHERE e.version <= :kept AND e.version - 1"
        " != (SELECT count(*) FROM entry_versions v WHERE v.entry_id = e.id)",
        kept=MAX_VERSIONS,
    )
    assert lost_versions == [0]
    assert set(await harness.column("SELECT status FROM feed_fetch_state")) == {"success"}
