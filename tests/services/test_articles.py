"""Whole articles: on demand, always, and never hammering a site that does not give them."""

import pytest

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.times import DAY
from reedbed.services.articles import fetch_articles, read_full_article
from reedbed.services.jobs import claim
from reedbed.services.rules.match import ARTICLES_JOB
from reedbed.services.search.find import search_entries
from reedbed.services.subscriptions.manage import SubscribeOptions, SubscriptionChange, change_subscription, subscribe
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ARTICLE = (
    "<html><head><title>Reeds</title></head><body><article><h1>Reeds</h1>"
    + "".join(
        f"<p>The {word} paragraph tells at some length how reeds clean the water of a lake.</p>"
        for word in ("first", "second", "third", "fourth", "fifth")
    )
    + "<script>alert(1)</script></article></body></html>"
)


async def test_an_article_is_read_once_and_kept(harness: RuntimeHarness, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(harness, site)
    site.put(path, ARTICLE, content_type="text/html")
    first = await read_full_article(harness.runtime, user, entry_id)
    again = await read_full_article(harness.runtime, user, entry_id)
    assert first.content is not None
    assert "third paragraph" in first.content
    assert "script" not in first.content
    assert again == first
    assert len(site.seen_at(path)) == 1


async def test_an_article_is_found_by_its_own_words_at_once(harness: RuntimeHarness, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(harness, site)
    assert await _found(harness, user, "paragraph") == []
    site.put(path, ARTICLE, content_type="text/html")
    await read_full_article(harness.runtime, user, entry_id)
    assert await _found(harness, user, "paragraph") == [entry_id]
    assert await _found(harness, user, "teaser") == [entry_id], "what the feed gave is found as before"
    (row,) = (await search_entries(harness.runtime, user, "fifth")).matched.values()
    assert "fifth paragraph" in row.excerpt.text
    if harness.runtime.db.engine == "sqlite":
        assert await harness.column("SELECT count(*) FROM search_keys") == [1]


async def test_a_changed_title_leaves_the_article_findable(harness: RuntimeHarness, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(harness, site)
    site.put(path, ARTICLE, content_type="text/html")
    await read_full_article(harness.runtime, user, entry_id)
    site.publish("Otherwise", key="short", content="<p>…</p>")
    harness.clock.ahead += DAY
    await harness.check()
    assert await _found(harness, user, "otherwise paragraph") == [entry_id]
    assert await _found(harness, user, "title:short") == []


async def _found(harness: RuntimeHarness, user: int, words: str) -> list[int]:
    return [row.id for row in (await search_entries(harness.runtime, user, words)).rows]


async def test_a_failure_is_said_and_not_tried_again_for_a_day(harness: RuntimeHarness, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(harness, site)
    site.put(path, "gone fishing", status=503, content_type="text/plain")
    failed = await read_full_article(harness.runtime, user, entry_id)
    lately = await read_full_article(harness.runtime, user, entry_id)
    assert failed.content is None
    assert failed.failed == Failure(FailureCode.HTTP_STATUS, {"status": 503})
    assert lately.failed is not None and "next try" in lately.failed.message
    assert len(site.seen_at(path)) == 1
    harness.clock.ahead += DAY + 1
    site.put(path, ARTICLE, content_type="text/html")
    assert (await read_full_article(harness.runtime, user, entry_id)).content is not None


async def test_a_feed_wanted_whole_gets_its_articles_by_itself(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    await change_subscription(harness.runtime, user, made.id, SubscriptionChange(full_text="always"))
    site.publish("Short", key="short", content="<p>…</p>")
    await harness.check()
    job = await claim(harness.runtime, ["articles"])
    assert job is not None
    await fetch_articles(harness.runtime, job)
    assert await harness.column("SELECT count(*) FROM entry_bodies WHERE full_attempted_at IS NOT NULL") == [1]


async def _short_entry(
    harness: RuntimeHarness, site: FeedSite, content: str = "<p>A teaser…</p>"
) -> tuple[int, int, str]:
    user = await harness.person()
    site.publish("Short", key="short", content=content)
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    await harness.check()
    ((entry_id, url),) = [tuple(row) for row in await harness.rows("SELECT id, url FROM entries")]
    return user, entry_id, str(url).removeprefix(site.url)


@pytest.mark.parametrize("mode", ["auto", "never"])
async def test_no_article_page_is_fetched_unless_somebody_chose_so(
    harness: RuntimeHarness, site: FeedSite, mode: str
) -> None:
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    await change_subscription(harness.runtime, user, made.id, SubscriptionChange(full_text=mode))
    for number in range(25):
        site.publish(f"Short {number}")
    await harness.check()
    assert len(await harness.column("SELECT id FROM entries")) == 25
    assert await claim(harness.runtime, [ARTICLES_JOB]) is None


async def test_a_page_with_less_text_than_the_feed_gives_is_not_kept(harness: RuntimeHarness, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(harness, site, content=f"<p>{'A text about reeds. ' * 40}</p>")
    site.put(path, ARTICLE, content_type="text/html")
    found = await read_full_article(harness.runtime, user, entry_id)
    assert (found.content, found.failed) == (None, Failure(FailureCode.ARTICLE_SHORTER))
    assert await harness.column("SELECT full_content FROM entry_bodies") == [None]
