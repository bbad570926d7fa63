"""The chores run on both engines, and take only what has outlived its use."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from reedbed.domain.errors import Unavailable
from reedbed.domain.times import DAY, HOUR, MINUTE
from reedbed.services.jobs import run_every
from reedbed.services.maintenance import CHORES, Chore, run_chores
from reedbed.store import search
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


@pytest.mark.parametrize("chore", CHORES, ids=lambda chore: chore.name)
async def test_a_chore_leaves_what_is_in_use(site: FeedSite, harness: RuntimeHarness, chore: Chore) -> None:
    site.publish("One")
    await harness.follow(site.feed_url())
    await harness.check()

    await chore.run(harness.runtime)

    assert await harness.column("SELECT count(*) FROM entries") == [1]
    assert await harness.column("SELECT count(*) FROM unread") == [1]
    assert await harness.column("SELECT count(*) FROM feed_history") == [1]


async def test_old_totals_and_sessions_go(site: FeedSite, harness: RuntimeHarness) -> None:
    person = await harness.person()
    await harness.follow(site.feed_url(), user_id=person)
    await harness.check()
    await harness.change(
        "INSERT INTO sessions (user_id, token_hash, created_at, last_active_at, expires_at)"
        " VALUES (:user, 'x', 1, :now, :end)",
        user=person,
        now=harness.runtime.now(),
        end=harness.runtime.now() + DAY,
    )
    harness.clock.ahead += 100 * DAY

    assert await _run("delete old feed history", harness) == 1
    assert await _run("delete expired sessions", harness) == 1


async def _run(name: str, harness: RuntimeHarness) -> int:
    return await next(chore for chore in CHORES if chore.name == name).run(harness.runtime)


async def test_counts_are_mended_once_a_day_whenever_the_sweep_comes(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    await harness.follow(site.feed_url())
    await harness.check()
    harness.clock.ahead += DAY - harness.runtime.now() % DAY + 30 * MINUTE  # half past midnight
    assert await _mended(harness) is True
    harness.clock.ahead += HOUR
    assert await _mended(harness) is False
    harness.runtime = replace(harness.runtime, name="another worker")
    harness.clock.ahead += 22 * HOUR
    assert await _mended(harness) is False
    harness.clock.ahead += 2 * HOUR
    assert await _mended(harness) is True
    harness.clock.ahead -= 400 * DAY  # the clock was wrong: nobody waits until it is that late again
    assert await _mended(harness) is True


async def _mended(harness: RuntimeHarness) -> bool:
    await harness.change("UPDATE subscriptions SET unread = 7")
    await run_chores(harness.runtime)
    return await harness.column("SELECT unread FROM subscriptions") == [1]


async def test_the_search_index_is_mended_each_hour_whenever_the_sweep_comes(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("One")
    await harness.follow(site.feed_url())
    await harness.check()
    harness.clock.ahead += DAY - harness.runtime.now() % DAY + 30 * MINUTE
    found = []
    for wait in (0, 30 * MINUTE, 31 * MINUTE):
        harness.clock.ahead += wait
        async with harness.runtime.db.write() as tx:
            await search.clear(tx)
        with capture_logs() as logged:
            await run_chores(harness.runtime)
        found.append([line["count"] for line in logged if line.get("chore") == "repair search index"])
    assert found == [[1], [], [1]]


async def test_a_chore_that_the_database_broke_off_runs_again_and_one_that_fails_waits(harness: RuntimeHarness) -> None:
    async def broken_off(_: object) -> int:
        raise Unavailable("away")

    async def failing(_: object) -> int:
        raise ValueError

    async def working(_: object) -> int:
        return 3

    with pytest.raises(Unavailable):
        await run_every(harness.runtime, "one", HOUR, broken_off)
    assert await run_every(harness.runtime, "one", HOUR, working) == 3
    with pytest.raises(ValueError):
        await run_every(harness.runtime, "two", HOUR, failing)
    assert await run_every(harness.runtime, "two", HOUR, working) == 0
    harness.clock.ahead += HOUR
    assert await run_every(harness.runtime, "two", HOUR, working) == 3
