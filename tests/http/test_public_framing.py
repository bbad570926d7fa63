"""The deframer's endpoints as strangers and other readers find them."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import feedparser
import pytest
from fastapi import FastAPI
from lxml import etree

from reedbed.domain.feeds import ParsedFeed
from reedbed.domain.users import Allowance, RateLimits
from reedbed.ingest.parse import parse_feed
from reedbed.roles.app import create_app
from reedbed.services.feeds import FeedSettings, add_feed, change_feed, disable_feed
from reedbed.services.runtime import FramingPolicy
from tests.clients import Client, new_client
from tests.feedsite import FeedSite
from tests.framing_harness import LONG, FramingHarness, open_framing_harness
from tests.harness import RuntimeHarness
from tests.modelserver import Reply, framing

HOSTILE = "<script>alert(1)</script> & ]]> “A” \x0b"
FEEDS = Path(__file__).parents[1] / "data/feeds"


@pytest.fixture
async def room(harness: RuntimeHarness, site: FeedSite) -> AsyncIterator[FramingHarness]:
    async with open_framing_harness(harness, site) as room:
        yield room


@pytest.fixture
async def stranger(room: FramingHarness) -> AsyncIterator[Client]:
    async with new_client(create_app(room.runtime)) as client:
        yield client


async def test_a_stored_document_is_served_with_its_date_and_tag(
    room: FramingHarness, site: FeedSite, stranger: Client
) -> None:
    site.publish("SHOCK", content=LONG)
    await room.open_feed()
    answer = await stranger.get("/rss", params={"url": site.feed_url()})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
    built = etree.fromstring(answer.content).findtext("channel/lastBuildDate")
    assert answer.headers["last-modified"] == built
    for known in ({"If-None-Match": answer.headers["etag"]}, {"If-Modified-Since": built}):
        again = await stranger.get("/rss", params={"url": site.feed_url()}, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == answer.headers["etag"]
    for other in ({"If-None-Match": '"x"'}, {"If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}):
        again = await stranger.get("/rss", params={"url": site.feed_url()}, headers=other)
        assert again.status_code == 200
    assert (await stranger.head("/rss", params={"url": site.feed_url()})).status_code == 200

    room.harness.clock.ahead += 5_000
    site.publish("PANIC", content=LONG)
    await room.run(site.feed_url())
    later = await stranger.get("/rss", params={"url": site.feed_url()}, headers={"If-Modified-Since": built})
    assert later.status_code == 200 and later.headers["etag"] != answer.headers["etag"]


async def test_a_password_of_the_operator_shuts_the_endpoint_until_it_is_taken_back(
    room: FramingHarness, site: FeedSite, stranger: Client
) -> None:
    site.publish("SHOCK", content=LONG)
    feed_id = await room.open_feed()
    statuses = []
    for name in (None, "heron", None):
        await change_feed(room.runtime, str(feed_id), FeedSettings(username=name))
        statuses.append((await stranger.get("/rss", params={"url": site.feed_url()})).status_code)
    assert statuses == [200, 404, 200]


@pytest.mark.parametrize("joins", [False, True])
async def test_an_address_that_a_feed_has_left_leads_to_where_it_is_now(
    room: FramingHarness, site: FeedSite, stranger: Client, joins: bool
) -> None:
    site.publish("SHOCK", key="a", content=LONG, feed="old")
    site.publish("PANIC", key="b", content=LONG, feed="new")
    feed_id = await room.open_feed("old")
    if joins:
        await room.open_feed("new")
    site.redirect(site.feed_url("new"), feed="old", status=301)
    for _ in range(3):
        await room.harness.check_anyway(feed_id)
    await room.work()
    found = [await stranger.get("/rss", params={"url": site.feed_url(name)}) for name in ("old", "new")]
    assert [answer.status_code for answer in found] == [200, 200]
    assert found[0].content == found[1].content
    assert quote(site.feed_url("new"), safe="").encode() in found[0].content


async def test_unknown_disabled_unbuilt_and_malformed_addresses(
    room: FramingHarness, site: FeedSite, stranger: Client
) -> None:
    async def status(url: str, endpoint: str = "/rss", name: str = "url") -> tuple[int, str]:
        answer = await stranger.get(endpoint, params={name: url})
        return answer.status_code, answer.json()["error"]["message"]

    assert await status("https://nowhere.example/feed") == (404, "This feed is not deframed here.")
    for malformed in ("", "nonsense", "ftp://example.org/", "http://", "http://[::1"):
        assert (await status(malformed))[0] == 400
        assert (await status(malformed, "/api/item"))[0] == 400
    assert (await stranger.get("/rss")).status_code == 400
    await room.open_feed()
    assert await status(site.feed_url()) == (404, "Nothing of this feed has been deframed yet.")
    await disable_feed(room.runtime, site.feed_url())
    assert await status(site.feed_url()) == (403, "The operator has disabled this feed.")
    assert (await status("https://nowhere.example/a", "/api/item"))[0] == 404
    assert (await status("nowhere.example", "/api/site", "root"))[0] == 404
    for malformed in ("", "https://a.example/", "a b"):
        refused = await stranger.get("/api/site", params={"root": malformed})
        assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "root")
    for score in ("-1", "1.1", "x", "nan"):
        answer = await stranger.get("/rss", params={"url": site.feed_url(), "max_score": score})
        assert answer.status_code == 400, score


async def test_one_article_is_told_with_scores_reasons_and_quotes(
    room: FramingHarness, site: FeedSite, stranger: Client
) -> None:
    site.publish("SHOCK in town", key="a", content=LONG)
    room.model.say(Reply(text=framing("A vote", overall=0.8, quote="the vote was close")))
    await room.open_feed()
    item = (await stranger.get("/api/item", params={"url": f"{site.url}/main/a?utm_source=x#top"})).json()
    assert item["title_corrected"] == "A vote" and item["title_original"] == "SHOCK in town"
    assert item["framing"] == {"score": 0.25, "reason": "Words that push", "quote": "the vote was close"}
    assert (item["overall"]["score"], item["band"], item["category"]) == (0.8, "loud", "politics")
    assert (item["llm_model"], item["feed_url"]) == ("scripted", site.feed_url())
    assert "not a check of the facts" in item["caveat"]
    for score, expected in (("0.79", 404), ("0.8", 200), ("0", 200)):
        found = await stranger.get("/api/item", params={"url": f"{site.url}/main/a", "max_score": score})
        assert found.status_code == expected


async def test_a_score_filters_before_the_limit(room: FramingHarness, site: FeedSite) -> None:
    room.harness.runtime = replace(room.runtime, framing=FramingPolicy(items=3))
    for number in range(6):
        site.publish(f"N{number}", content=LONG + f"<p>{number}</p>")
        room.model.say(Reply(text=framing(f"Calm {number}", overall=0.9 if number > 2 else 0.1)))
        await (room.run(site.feed_url()) if number else room.open_feed())
    async with new_client(create_app(room.runtime)) as stranger:
        for score, shown in ((None, [5, 4, 3]), (0, [5, 4, 3]), (0.5, [2, 1, 0]), (0.05, [])):
            params: dict[str, Any] = {"url": site.feed_url()} | ({} if score is None else {"max_score": score})
            answer = await stranger.get("/rss", params=params)
            assert re.findall(r"<title>Calm (\d)</title>", answer.text) == [str(number) for number in shown]
            again = await stranger.get("/rss", params=params, headers={"If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304
        found = await stranger.get("/api/site", params={"root": "127.0.0.1", "max_score": 0.5})
        assert [item["title_corrected"] for item in found.json()["items"]] == ["Calm 2", "Calm 1", "Calm 0"]


async def test_a_site_shows_its_feeds_in_turn_and_each_address_once(
    room: FramingHarness, site: FeedSite, stranger: Client
) -> None:
    for number in range(5):
        site.publish(f"Quick {number}", feed="quick", content=LONG + f"<p>{number}</p>")
    site.publish("Slow", feed="slow", content=LONG)
    site.publish("Quick 4", feed="slow", url=f"{site.url}/quick/quick-5", content=LONG + "<p>4</p>")
    site.publish("Alone", feed="alone", content=LONG)
    for name in ("quick", "slow", "alone"):
        await room.open_feed(name)
    await change_feed(room.runtime, site.feed_url("alone"), FeedSettings(root_domain="alone.example"))
    items = (await stranger.get("/api/site", params={"root": "127.0.0.1"})).json()["items"]
    titles = [item["title_original"] for item in items]
    assert sorted(titles[:3]) == ["Quick 3", "Quick 4", "Slow"] and len(titles) == 6
    assert len({item["url"] for item in items}) == 6
    await disable_feed(room.runtime, site.feed_url("alone"))
    assert (await stranger.get("/api/site", params={"root": "alone.example"})).status_code == 404


async def test_an_address_may_only_knock_so_often(harness: RuntimeHarness, site: FeedSite) -> None:
    limits = RateLimits(deframer=Allowance(3, 0.001))
    harness.runtime = replace(harness.runtime, limits=limits)
    async with new_client(create_app(harness.runtime)) as stranger:
        answers = [await stranger.get("/rss", params={"url": site.feed_url()}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [404, 404, 404, 429]
    assert int(answers[3].headers["retry-after"]) > 0


@pytest.mark.parametrize("form", ["rss", "atom", "json"])
async def test_other_readers_and_our_own_read_what_is_served(
    room: FramingHarness, site: FeedSite, stranger: Client, form: Any
) -> None:
    site.feed(form=form, title=f"The Courier {HOSTILE}")
    site.publish(f"One {HOSTILE}", key="1", content=LONG, author="A. Writer")
    site.publish("Two", key="2", content=LONG + "<p>2</p>")
    await room.open_feed()
    answer = await stranger.get("/rss", params={"url": site.feed_url()})
    assert_is_rss_2(answer.content)

    theirs = feedparser.parse(answer.content)
    assert not theirs.bozo and theirs.version == "rss20"
    assert [entry.title for entry in theirs.entries] == ["Calm: Two", theirs.entries[1].title]
    assert theirs.entries[0].link == f"{site.url}/main/2"
    assert theirs.entries[0].f_overall == "0.5" and theirs.entries[0].f_title_original == "Two"

    ours = parse_feed(answer.content, content_type=answer.headers["content-type"], url="http://r.example/rss")
    assert isinstance(ours, ParsedFeed)
    assert ours.entries[0].title == "Calm: Two"
    assert "not a check of the facts" in ours.entries[0].content
    assert ours.self_url == f"http://127.0.0.1:8080/rss?url={quote(site.feed_url(), safe='')}"


async def test_formats_of_the_wild_become_valid_rss(room: FramingHarness, site: FeedSite, stranger: Client) -> None:
    for file in sorted(FEEDS.iterdir()):
        site.put(f"/{file.stem}.feed", file.read_bytes())
        settings = await add_feed(room.runtime, site.feed_url(file.stem))
        await room.harness.change(
            "UPDATE feed_framing SET enforce_domain = (1 = 0) WHERE feed_id = :id RETURNING 1", id=settings.id
        )
        await room.harness.change("UPDATE feeds SET enabled = (1 = 1) WHERE id = :id RETURNING 1", id=settings.id)
        await room.run(str(settings.id))
        answer = await stranger.get("/rss", params={"url": site.feed_url(file.stem)})
        assert answer.status_code == 200, file.name
        assert_is_rss_2(answer.content)
        assert not feedparser.parse(answer.content).bozo


async def test_the_project_s_own_subscribe_reads_an_endpoint(
    app: FastAPI, room: FramingHarness, site: FeedSite, stranger: Client, signed_in: Any
) -> None:
    site.publish("SHOCK", content=LONG)
    await room.open_feed()
    document = (await stranger.get("/rss", params={"url": site.feed_url()})).content
    site.put("/deframed.feed", document, content_type="application/rss+xml; charset=utf-8")
    reader = await signed_in()
    made = await reader.post("/api/v1/subscriptions", json={"url": f"{site.url}/deframed.feed"})
    assert made.status_code == 201, made.text
    await room.harness.check()
    (entry,) = (await reader.get("/api/v1/entries", params={"feed_id": made.json()["feed_id"]})).json()["items"]
    assert entry["title"] == "Calm: SHOCK"


def assert_is_rss_2(document: bytes) -> None:
    """The rules of the specification that a validator checks."""
    root = etree.fromstring(document)
    assert root.tag == "rss" and root.get("version") == "2.0"
    (channel,) = root
    assert channel.tag == "channel"
    for once in ("title", "link", "description"):
        assert len(channel.findall(once)) == 1 and (channel.findtext(once) or "").strip()
    assert _is_address(channel.findtext("link"))
    assert _is_date(channel.findtext("lastBuildDate"))
    (own,) = channel.findall("{http://www.w3.org/2005/Atom}link")
    assert own.get("rel") == "self" and own.get("type") == "application/rss+xml" and _is_address(own.get("href"))
    items = channel.findall("item")
    guids = [item.findtext("guid") for item in items]
    assert items and len(set(guids)) == len(guids) and all(guids)
    for item in items:
        assert item.findtext("title") and item.findtext("description")
        for name in ("title", "link", "description", "guid", "pubDate", "author"):
            assert len(item.findall(name)) <= 1
        assert _is_date(item.findtext("pubDate"))
        link, guid = item.findtext("link"), item.find("guid")
        assert link is None or _is_address(link)
        assert guid is not None and guid.get("isPermaLink") in ("true", "false")
        assert guid.get("isPermaLink") == "false" or _is_address(guid.text)
        source = item.find("source")
        assert source is not None and _is_address(source.get("url")) and source.text
    assert b"<script" not in document


def _is_date(text: str | None) -> bool:
    moment = parsedate_to_datetime(text or "")
    return moment.tzinfo == UTC and moment < datetime(2100, 1, 1, tzinfo=UTC)


def _is_address(text: str | None) -> bool:
    parts = urlsplit(text or "")
    return parts.scheme in ("http", "https") and bool(parts.netloc)
