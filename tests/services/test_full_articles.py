"""Whole articles: on demand, always, and never hammering a site that does not give them."""

from reedbed.domain.full_articles import AUTOMATIC_AT_ONCE
from reedbed.domain.times import DAY
from reedbed.services.arrival import ARTICLES_JOB
from reedbed.services.full_articles import fetch_articles, read_full_article
from reedbed.services.jobs import claim
from reedbed.services.search import search_entries
from reedbed.services.subscriptions import Change, Wish, change_subscription, subscribe
from tests.crawling import Crawl
from tests.feedsite import FeedSite

ARTICLE = (
    "<html><head><title>Reeds</title></head><body><article><h1>Reeds</h1>"
    + "".join(
        f"<p>The {word} paragraph tells at some length how reeds clean the water of a lake.</p>"
        for word in ("first", "second", "third", "fourth", "fifth")
    )
    + "<script>alert(1)</script></article></body></html>"
)


async def test_an_article_is_read_once_and_kept(crawl: Crawl, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(crawl, site)
    site.put(path, ARTICLE, content_type="text/html")
    first = await read_full_article(crawl.runtime, user, entry_id)
    again = await read_full_article(crawl.runtime, user, entry_id)
    assert first.content is not None
    assert "third paragraph" in first.content
    assert "script" not in first.content
    assert again == first
    assert len(site.seen_at(path)) == 1


async def test_an_article_is_found_by_its_own_words_at_once(crawl: Crawl, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(crawl, site)
    assert await _found(crawl, user, "paragraph") == []
    site.put(path, ARTICLE, content_type="text/html")
    await read_full_article(crawl.runtime, user, entry_id)
    assert await _found(crawl, user, "paragraph") == [entry_id]
    assert await _found(crawl, user, "teaser") == [entry_id], "what the feed gave is found as before"
    (row,) = (await search_entries(crawl.runtime, user, "fifth")).matched.values()
    assert "fifth paragraph" in row.excerpt.text
    if crawl.runtime.db.engine == "sqlite":
        assert await crawl.column("SELECT count(*) FROM search_keys") == [1]


async def test_a_changed_title_leaves_the_article_findable(crawl: Crawl, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(crawl, site)
    site.put(path, ARTICLE, content_type="text/html")
    await read_full_article(crawl.runtime, user, entry_id)
    site.publish("Otherwise", key="short", content="<p>…</p>")
    crawl.clock.ahead += DAY
    await crawl.check()
    assert await _found(crawl, user, "otherwise paragraph") == [entry_id]
    assert await _found(crawl, user, "title:short") == []


async def _found(crawl: Crawl, user: int, words: str) -> list[int]:
    return [row.id for row in (await search_entries(crawl.runtime, user, words)).rows]


async def test_a_failure_is_said_and_not_tried_again_for_a_day(crawl: Crawl, site: FeedSite) -> None:
    user, entry_id, path = await _short_entry(crawl, site)
    site.put(path, "gone fishing", status=503, content_type="text/plain")
    failed = await read_full_article(crawl.runtime, user, entry_id)
    lately = await read_full_article(crawl.runtime, user, entry_id)
    assert failed.content is None
    assert "503" in failed.failed
    assert "next try" in lately.failed
    assert len(site.seen_at(path)) == 1
    crawl.clock.ahead += DAY + 1
    site.put(path, ARTICLE, content_type="text/html")
    assert (await read_full_article(crawl.runtime, user, entry_id)).content is not None


async def test_a_feed_wanted_whole_gets_its_articles_by_itself(crawl: Crawl, site: FeedSite) -> None:
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url(), looked=True))
    await change_subscription(crawl.runtime, user, made.id, Change(full_text="always"))
    site.publish("Short", key="short", content="<p>…</p>")
    await crawl.check()
    job = await claim(crawl.runtime, ["articles"])
    assert job is not None
    await fetch_articles(crawl.runtime, job)
    assert await crawl.column("SELECT count(*) FROM entry_bodies WHERE full_attempted_at IS NOT NULL") == [1]


async def _short_entry(crawl: Crawl, site: FeedSite) -> tuple[int, int, str]:
    user = await crawl.person()
    site.publish("Short", key="short", content="<p>A teaser…</p>")
    await subscribe(crawl.runtime, user, Wish(site.feed_url(), looked=True))
    await crawl.check()
    ((entry_id, url),) = [tuple(row) for row in await crawl.rows("SELECT id, url FROM entries")]
    return user, entry_id, str(url).removeprefix(site.url)


async def test_a_feed_that_only_points_to_its_articles_brings_them_whole(
    crawl: Crawl, site: FeedSite
) -> None:
    _, entry_id, path = await _short_entry(crawl, site)
    site.put(path, ARTICLE, content_type="text/html")
    job = await claim(crawl.runtime, [ARTICLES_JOB])
    assert job is not None
    await fetch_articles(crawl.runtime, job)
    assert (job.payload["entry_ids"], len(site.seen_at(path))) == ([entry_id], 1)


async def test_a_feed_with_whole_texts_is_left_alone(crawl: Crawl, site: FeedSite) -> None:
    await subscribe(crawl.runtime, await crawl.person(), Wish(site.feed_url(), looked=True))
    site.publish("Long", content=f"<p>{'A long text about reeds. ' * 20}</p>")
    await crawl.check()
    assert await claim(crawl.runtime, [ARTICLES_JOB]) is None


async def test_many_short_entries_fetch_only_the_newest(crawl: Crawl, site: FeedSite) -> None:
    await subscribe(crawl.runtime, await crawl.person(), Wish(site.feed_url(), looked=True))
    for number in range(25):
        site.publish(f"Short {number}")
    await crawl.check()
    job = await claim(crawl.runtime, [ARTICLES_JOB])
    assert job is not None
    newest = await crawl.column(f"SELECT id FROM entries ORDER BY sort_at DESC LIMIT {AUTOMATIC_AT_ONCE}")
    assert sorted(job.payload["entry_ids"]) == sorted(newest)
