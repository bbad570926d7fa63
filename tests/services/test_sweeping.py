"""The chores run on both engines, and take only what has outlived its use."""

from dataclasses import replace

import pytest

from reedbed.domain.errors import Unavailable
from reedbed.domain.times import DAY, HOUR, MINUTE
from reedbed.services.jobs import run_every
from reedbed.services.maintenance import CHORES, UPKEEP
from reedbed.store import search
from tests.crawling import Crawl
from tests.feedsite import FeedSite


@pytest.mark.parametrize("chore", [*CHORES, *UPKEEP])
async def test_a_chore_leaves_what_is_in_use(site: FeedSite, crawl: Crawl, chore: str) -> None:
    site.publish("One")
    await crawl.follow(site.feed_url())
    await crawl.check()

    await {**CHORES, **UPKEEP}[chore](crawl.runtime)

    assert await crawl.column("SELECT count(*) FROM entries") == [1]
    assert await crawl.column("SELECT count(*) FROM unread") == [1]
    assert await crawl.column("SELECT count(*) FROM feed_history") == [1]


async def test_old_totals_and_sessions_go(site: FeedSite, crawl: Crawl) -> None:
    person = await crawl.person()
    await crawl.follow(site.feed_url(), user_id=person)
    await crawl.check()
    await crawl.change(
        "INSERT INTO sessions (user_id, token_hash, created_at, last_active_at, expires_at)"
        " VALUES (:user, 'x', 1, :now, :end)",
        user=person,
        now=crawl.runtime.now(),
        end=crawl.runtime.now() + DAY,
    )
    crawl.clock.ahead += 100 * DAY

    assert await CHORES["history"](crawl.runtime) == 1
    assert await CHORES["sessions"](crawl.runtime) == 1


async def test_counts_are_mended_once_a_day_whenever_the_sweep_comes(site: FeedSite, crawl: Crawl) -> None:
    site.publish("One")
    await crawl.follow(site.feed_url())
    await crawl.check()
    crawl.clock.ahead += DAY - crawl.runtime.now() % DAY + 30 * MINUTE  # half past midnight
    assert await _mended(crawl) is True
    crawl.clock.ahead += HOUR
    assert await _mended(crawl) is False
    crawl.runtime = replace(crawl.runtime, name="another worker")
    crawl.clock.ahead += 22 * HOUR
    assert await _mended(crawl) is False
    crawl.clock.ahead += 2 * HOUR
    assert await _mended(crawl) is True
    crawl.clock.ahead -= 400 * DAY  # the clock was wrong: nobody waits until it is that late again
    assert await _mended(crawl) is True


async def _mended(crawl: Crawl) -> bool:
    await crawl.change("UPDATE subscriptions SET unread = 7")
    await UPKEEP["counts"](crawl.runtime)
    return await crawl.column("SELECT unread FROM subscriptions") == [1]


async def test_the_search_index_is_mended_each_hour_whenever_the_sweep_comes(
    site: FeedSite, crawl: Crawl
) -> None:
    site.publish("One")
    await crawl.follow(site.feed_url())
    await crawl.check()
    crawl.clock.ahead += DAY - crawl.runtime.now() % DAY + 30 * MINUTE
    found = []
    for wait in (0, 30 * MINUTE, 31 * MINUTE):
        crawl.clock.ahead += wait
        async with crawl.runtime.db.write() as tx:
            await search.clear(tx)
        found.append(await UPKEEP["search gaps"](crawl.runtime))
    assert found == [1, 0, 1]


async def test_a_chore_that_the_database_broke_off_runs_again_and_one_that_fails_waits(crawl: Crawl) -> None:
    async def broken_off(_: object) -> int:
        raise Unavailable("away")

    async def failing(_: object) -> int:
        raise ValueError

    async def working(_: object) -> int:
        return 3

    with pytest.raises(Unavailable):
        await run_every(crawl.runtime, "one", HOUR, broken_off)
    assert await run_every(crawl.runtime, "one", HOUR, working) == 3
    with pytest.raises(ValueError):
        await run_every(crawl.runtime, "two", HOUR, failing)
    assert await run_every(crawl.runtime, "two", HOUR, working) == 0
    crawl.clock.ahead += HOUR
    assert await run_every(crawl.runtime, "two", HOUR, working) == 3
