"""The chores run on both engines, and take only what has outlived its use."""

import pytest

from reedbed.domain.times import DAY
from reedbed.services.sweeping import CHORES
from tests.crawling import Crawl
from tests.feedsite import FeedSite


@pytest.mark.parametrize("chore", CHORES)
async def test_a_chore_leaves_what_is_in_use(site: FeedSite, crawl: Crawl, chore: str) -> None:
    site.publish("One")
    await crawl.follow(site.feed_url())
    await crawl.check()

    await CHORES[chore](crawl.runtime)

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
