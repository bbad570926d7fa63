"""How an operator has a feed fetched: what may be set, that it is used, and that secrets stay secret."""

import logging
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from reedbed.domain.errors import Invalid
from reedbed.domain.times import HOUR, MINUTE
from reedbed.services.feeds import FeedSettings, add_feed, change_feed, disable_feed, enable_feed, find_feed
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.feeds.admin import FeedFilter
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness


@pytest.fixture
async def harness(database_url: str) -> AsyncIterator[RuntimeHarness]:
    async with open_harness(database_url) as harness:
        yield harness


async def change(harness: RuntimeHarness, feed_id: int, **settings: Any) -> None:
    await change_feed(harness.runtime, str(feed_id), FeedSettings(**settings))


async def test_a_name_and_password_open_a_feed_that_had_stopped(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Behind the endpoint")
    site.protect("heron", "grey: bird ")
    feed_id = await harness.follow(site.feed_url())
    await change(harness, feed_id, max_failures=1)
    (report,) = await harness.check()
    assert report.status == "unauthorized"
    assert (await harness.state(feed_id)).stopped_at is not None
    assert await harness.check(at_least=24 * HOUR) == []

    await change(harness, feed_id, username=" heron ", password="grey: bird ")
    assert (await harness.state(feed_id)).stopped_at is None
    assert harness.heard("wake")
    (report,) = await harness.check()
    assert (report.status, report.new) == ("success", 1)


async def test_the_site_gets_the_user_agent_until_it_is_taken_back(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await change(harness, feed_id, user_agent="Heron/1.0 (+https://reeds.example)")
    await harness.check()
    await change(harness, feed_id, user_agent="")
    await harness.check()
    first, second = (request.headers["User-Agent"] for request in site.seen())
    assert first == "Heron/1.0 (+https://reeds.example)" and second.startswith("Reedbed/")


async def test_a_proxy_fetches_it_and_is_told_its_own_password_alone(site: FeedSite, harness: RuntimeHarness) -> None:
    async with FeedSite() as proxy:
        proxy.publish("Seen from elsewhere")
        feed_id = await harness.follow("http://127.0.0.1:9/main.feed")
        at = proxy.url.replace("//", "//up:secret@")
        await change(harness, feed_id, proxy=f"{at}/", username="heron", password="grey")
        await harness.check()
        (asked,) = proxy.requests
        assert await harness.titles(feed_id) == ["Seen from elsewhere"]
    assert asked.headers["Host"] == "127.0.0.1:9"
    assert asked.headers["Proxy-Authorization"] == basic("up:secret")
    assert asked.headers["Authorization"] == basic("heron:grey"), "this one is for the site"


async def test_entries_may_share_an_address_where_the_operator_says_so(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Monday", key="a", url="https://tide.example/table")
    site.publish("Tuesday", key="b", url="https://tide.example/table")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    assert len(await harness.titles(feed_id)) == 1
    await change(harness, feed_id, allow_duplicate_urls=True)
    await harness.check()
    assert len(await harness.titles(feed_id)) == 2, "read anew, though nothing changed at the site"


async def test_the_interval_sets_the_next_check(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await change(harness, feed_id, interval=15 * MINUTE)
    await harness.check()
    assert (await harness.state(feed_id)).next_check_rule == "operator"


async def test_what_changes_nothing_runs_nothing(site: FeedSite, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow(site.feed_url())
    await change(harness, feed_id, user_agent="Heron", proxy="", interval=None)
    await harness.check()
    await change(harness, feed_id, user_agent=" Heron ", username=None, password=None)
    assert await harness.check() == []


async def test_a_feed_that_is_disabled_or_not_polled_is_not_run(site: FeedSite, harness: RuntimeHarness) -> None:
    added = await add_feed(harness.runtime, site.feed_url("added"))
    await enable_feed(harness.runtime, str(added.id))
    followed = await harness.follow(site.feed_url())
    await disable_feed(harness.runtime, str(followed))
    await change(harness, added.id, user_agent="Heron")
    await change(harness, followed, user_agent="Heron")
    assert await harness.check() == []


async def test_secrets_are_never_shown_again_nor_logged(
    site: FeedSite, harness: RuntimeHarness, caplog: pytest.LogCaptureFixture
) -> None:
    feed_id = await harness.follow(site.feed_url())
    with caplog.at_level(logging.DEBUG), capture_logs() as logged:
        wanted = FeedSettings(proxy="http://up:pr0xy-word@127.0.0.1:9", username="heron", password="s1te-word")
        await change_feed(harness.runtime, str(feed_id), wanted)
        await harness.check()
    feed = await find_feed(harness.runtime, str(feed_id))
    assert (feed.fetching.shown_proxy, feed.fetching.has_password) == ("http://***@127.0.0.1:9", True)
    said = f"{wanted!r} {feed!r} {logged} {caplog.text} {feed.last_error}"
    assert feed.last_error is not None
    assert "s1te-word" not in said and "pr0xy-word" not in said


async def test_a_proxy_sent_back_as_it_was_shown_stays(site: FeedSite, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow(site.feed_url())
    await change(harness, feed_id, proxy="http://up:word@127.0.0.1:3128")
    await change(harness, feed_id, proxy="http://***@127.0.0.1:3128")
    assert await kept(harness, feed_id, "proxy") == "http://up:word@127.0.0.1:3128"


async def test_a_password_goes_with_its_name_or_alone(site: FeedSite, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow(site.feed_url())
    for gone in ({"username": None}, {"password": ""}):
        await change(harness, feed_id, username="heron", password="grey")
        await change(harness, feed_id, **gone)
        assert await kept(harness, feed_id, "password") is None
    assert await kept(harness, feed_id, "username") == "heron"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("proxy", "socks5://127.0.0.1:1080"),
        ("proxy", "127.0.0.1:3128"),
        ("proxy", "http://127.0.0.1:3128/path"),
        ("proxy", "http://10.1.2.3:3128"),
        ("proxy", "http://[::1]:3128"),
        ("user_agent", "Heron\r\nX-Evil: 1"),
        ("user_agent", "Reiher/1 (größer)"),
        ("user_agent", "h" * 256),
        ("username", "a:b"),
        ("username", "a\nb"),
        ("password", "a\nb"),
        ("password", "x" * 256),
        ("interval", 14 * MINUTE),
        ("interval", 25 * HOUR),
        ("max_failures", 0),
        ("max_failures", 1_001),
        ("root_domain", "not a name"),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_is_changed(
    site: FeedSite, harness: RuntimeHarness, field: str, value: Any
) -> None:
    feed_id = await harness.follow(site.feed_url())
    known = {"username": "heron"} if field == "password" else {}
    with pytest.raises(Invalid) as refused:
        await change(harness, feed_id, **{"allow_duplicate_urls": True, **known, field: value})
    assert refused.value.field == field
    assert not await kept(harness, feed_id, "allow_duplicate_urls")


async def test_a_password_without_a_name_is_refused_beside_the_name(site: FeedSite, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow(site.feed_url())
    with pytest.raises(Invalid) as refused:
        await change(harness, feed_id, password="grey")
    assert refused.value.field == "username"


async def test_a_feed_with_a_password_does_not_move_to_another_host(site: FeedSite, harness: RuntimeHarness) -> None:
    async with FeedSite() as elsewhere:
        elsewhere.publish("Come here")
        feed_id = await harness.follow(site.feed_url())
        await change(harness, feed_id, username="heron", password="grey")
        site.redirect(elsewhere.feed_url())
        for _ in range(4):
            await harness.check_anyway(feed_id)
        assert all("Authorization" not in asked.headers for asked in elsewhere.requests)
    assert await kept(harness, feed_id, "url") == site.feed_url()


async def test_feeds_are_found_by_name_address_and_standing(site: FeedSite, harness: RuntimeHarness) -> None:
    site.feed("a", title="Zebra 100%")
    site.feed("b", title="Apple")
    site.misbehave(feed="c", status=500)
    ids = [await harness.follow(site.feed_url(name)) for name in "abcd"]
    await harness.check()
    await disable_feed(harness.runtime, str(ids[3]))
    await harness.follow("https://reeds.example/pending")
    private = await harness.follow("https://reeds.example/private")
    await harness.change("UPDATE feeds SET owner_id = 1 WHERE id = :id", id=private)

    async def found(search: str = "", standing: str = "all", limit: int = 10, offset: int = 0) -> list[str]:
        async with harness.runtime.db.read() as tx:
            wanted = FeedFilter(search, standing)
            page = await operator_feeds.page(tx, wanted, harness.runtime.now(), limit=limit, offset=offset)
            if offset == 0 and len(page) < limit:
                assert await operator_feeds.how_many(tx, wanted) == len(page)
            return [one.title or one.url.rpartition("/")[2] for one in page]

    async with harness.runtime.db.read() as tx:
        counted = await operator_feeds.counted(tx, FeedFilter())
    assert counted == {"working": 2, "error": 1, "off": 1, "pending": 1}
    assert await found() == ["Apple", "c.feed", "d.feed", "pending", "Zebra 100%"]
    assert await found(limit=2, offset=3) == ["pending", "Zebra 100%"]
    assert await found("0%") == ["Zebra 100%"] and await found("ZEBRA") == ["Zebra 100%"]
    assert await found("reeds.example") == ["pending"] and await found("_") == []
    assert await found(standing="error") == ["c.feed"] and await found("a", "working") == await found("", "working")


async def kept(harness: RuntimeHarness, feed_id: int, column: str) -> Any:
    (value,) = await harness.column(f"SELECT {column} FROM feeds WHERE id = :id", id=feed_id)
    return value


def basic(pair: str) -> str:
    return f"Basic {b64encode(pair.encode()).decode()}"


async def test_an_address_without_a_scheme_gets_http_where_only_that_answers(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("One")
    bare = site.feed_url().removeprefix("http://")
    added = await add_feed(harness.runtime, bare)
    assert added.url == site.feed_url()
    assert (await find_feed(harness.runtime, bare)).id == added.id
    assert (await add_feed(harness.runtime, "127.0.0.1:9/feed.xml")).url == "https://127.0.0.1:9/feed.xml"
