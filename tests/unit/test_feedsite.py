"""The site the other tests fetch from must itself be right."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime

import aiohttp
import feedparser
import pytest

from tests.feedsite import FeedSite
from tests.feedtext import Format


async def _get(url: str, **headers: str) -> tuple[int, bytes, Mapping[str, str]]:
    async with aiohttp.ClientSession() as client, client.get(url, headers=headers, allow_redirects=False) as answer:
        return answer.status, await answer.read(), answer.headers.copy()


@pytest.mark.parametrize("form", ["rss", "atom"])
async def test_another_parser_reads_what_was_published(site: FeedSite, form: Format) -> None:
    site.feed(form=form, title="News & views")
    moment = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    site.publish("A <b>", key="a", content="<p>x & y</p>", published=moment, author="Ann", tags=["one", "two"])
    parsed = feedparser.parse((await _get(site.feed_url()))[1])
    [entry] = parsed.entries
    assert not parsed.bozo
    assert parsed.feed.title == "News & views"
    assert (entry.id, entry.author, entry.content[0].value) == ("a", "Ann", "<p>x & y</p>")
    assert entry.published_parsed[:6] == (2026, 5, 4, 3, 2, 1)
    assert [tag.term for tag in entry.tags] == ["one", "two"]


async def test_an_unchanged_feed_answers_304_to_either_validator_and_a_changed_one_does_not(site: FeedSite) -> None:
    site.publish("Hello", key="a")
    _, _, headers = await _get(site.feed_url())
    by_tag, by_date = {"If-None-Match": headers["ETag"]}, {"If-Modified-Since": headers["Last-Modified"]}
    assert (await _get(site.feed_url(), **by_tag))[0] == 304
    assert (await _get(site.feed_url(), **by_date))[0] == 304
    site.publish("Hello again", key="a")
    assert (await _get(site.feed_url(), **by_tag))[0] == 200
    assert (await _get(site.feed_url(), **by_date))[0] == 200
    assert site.count() == 5
    assert site.count(status=304) == 2


async def test_trouble_comes_as_told_and_ends_as_told(site: FeedSite) -> None:
    site.misbehave(status=503, retry_after=7, times=1)
    status, _, headers = await _get(site.feed_url())
    assert (status, headers["Retry-After"]) == (503, "7")
    site.redirect("/elsewhere", status=308)
    status, _, headers = await _get(site.feed_url())
    assert (status, headers["Location"]) == (308, "/elsewhere")
    site.behave()
    assert (await _get(site.feed_url()))[0] == 200


async def test_a_protected_feed_wants_its_password(site: FeedSite) -> None:
    site.protect("ann", "secret")
    assert (await _get(site.feed_url()))[0] == 401
    login = "Basic " + b64encode(b"ann:secret").decode()
    assert (await _get(site.feed_url(), Authorization=login))[0] == 200


async def test_a_page_names_its_feeds_and_an_entry_has_a_page(site: FeedSite) -> None:
    address = site.page("/blog", feeds=["main"])
    assert b'href="/main.feed"' in (await _get(address))[1]
    entry = site.publish("Hello")
    assert b"<h1>Hello</h1>" in (await _get(entry.url))[1]


def test_a_site_in_a_thread_serves_a_program_without_a_loop(threaded_site: FeedSite) -> None:
    from urllib.request import urlopen

    threaded_site.publish("Hello")
    with urlopen(threaded_site.feed_url()) as answer:
        assert b"Hello" in answer.read()


def test_databases_of_a_test_are_its_own(database_url: str) -> None:
    assert database_url.startswith(("sqlite:", "postgresql:"))
