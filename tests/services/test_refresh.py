"""A feed is checked, on both engines, against a real site."""

from collections.abc import AsyncIterator

import pytest

from reedbed.domain.times import HOUR
from tests.crawling import Crawl, crawl_on
from tests.feedsite import FeedSite


@pytest.fixture
async def crawl(database_url: str) -> AsyncIterator[Crawl]:
    async with crawl_on(database_url) as crawl:
        yield crawl


async def test_a_first_fetch_stores_what_the_feed_holds_and_tells_its_followers(
    site: FeedSite, crawl: Crawl
) -> None:
    site.publish("One", content="<p>Hello <script>bad()</script>there</p>")
    site.publish("Two")
    feed_id = await crawl.follow(site.feed_url())

    (report,) = await crawl.check()

    assert (report.status, report.new, report.changed) == ("success", 2, 0)
    assert await crawl.titles(feed_id) == ["One", "Two"]
    assert await crawl.column("SELECT content FROM entry_bodies ORDER BY entry_id LIMIT 1") == [
        "<p>Hello there</p>"
    ]
    assert await crawl.column("SELECT unread FROM subscriptions") == [2]
    assert await crawl.column("SELECT title FROM feeds") == ["Feed main"]
    (hint,) = crawl.heard("new_entry")
    ids = await crawl.column("SELECT id FROM entries ORDER BY id")
    assert (hint.feed_id, hint.data["ids"]) == (feed_id, [str(id_) for id_ in ids])


async def test_a_304_parses_nothing_and_keeps_the_validators(site: FeedSite, crawl: Crawl) -> None:
    site.publish("One")
    feed_id = await crawl.follow(site.feed_url())
    await crawl.check()
    before = await crawl.state(feed_id)

    (report,) = await crawl.check(at_least=25 * HOUR)

    after = await crawl.state(feed_id)
    assert (report.status, report.new) == ("success", 0)
    assert site.count(status=304) == 1
    assert (after.etag, after.last_modified, after.body_hash) == (
        before.etag,
        before.last_modified,
        before.body_hash,
    )
    assert after.last_http_status == 304
    assert after.next_check_at > before.next_check_at
    assert await crawl.titles(feed_id) == ["One"]
    assert len(crawl.heard("new_entry")) == 1
