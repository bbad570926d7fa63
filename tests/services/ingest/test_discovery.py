from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed
from reedbed.domain.subscriptions import Discovery, FeedCandidate
from reedbed.ingest.discovery import discover, looks_like_feed
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from tests.faulty_servers import MisbehavingServer

from .conftest import LOOPBACK_ALLOWED
from .pages import ATOM, JSON_FEED, RSS, Pages


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Pages]:
    async with Pages() as running:
        yield running


async def _discover(fetcher: Fetcher, text: str) -> Discovery:
    return await discover(fetcher, text, pause=0.0)


@pytest.mark.parametrize(
    ("body", "kind", "title"), [(RSS, "rss", "Reeds"), (ATOM, "atom", "Marsh"), (JSON_FEED, "json", "Pond")]
)
async def test_an_address_that_is_a_feed_is_the_only_candidate(
    body: bytes, kind: str, title: str, site: Pages, fetcher: Fetcher
) -> None:
    site.pages["/x"] = body
    found = await _discover(fetcher, site.url("/x"))
    assert found.candidates == (FeedCandidate(site.url("/x"), title, kind, "direct"),)
    assert found.document is not None and found.document.body == body, "it need not be fetched again"
    assert site.asked == ["/x"]


async def test_a_large_feed_that_is_damaged_is_found(site: Pages) -> None:
    site.pages["/x"] = RSS.replace(b"<item>", b"<x>a & b</x>" * 90_000 + b"<item>")
    fetcher = Fetcher(LOOPBACK_ALLOWED)
    found = await _discover(fetcher, site.url("/x"))
    await fetcher.close()
    assert [candidate.title for candidate in found.candidates] == ["Reeds"]


async def test_a_missing_scheme_is_tried_safely_first(site: Pages, fetcher: Fetcher) -> None:
    site.pages["/x"] = RSS
    found = await _discover(fetcher, site.url("/x").removeprefix("http://"))
    assert [candidate.url for candidate in found.candidates] == [site.url("/x")]


async def test_a_page_names_its_feeds_and_nothing_else_is_asked(site: Pages, fetcher: Fetcher) -> None:
    site.pages["/"] = (
        b'<title>Marsh</title><link rel="alternate" type="application/rss+xml" href="/rss.xml">'
        b'<link rel="alternate" type="application/atom+xml" title="Atom" href="/atom">'
    )
    found = await _discover(fetcher, site.url())
    assert found.candidates == (
        FeedCandidate(site.url("/rss.xml"), "Marsh", "rss", "link"),
        FeedCandidate(site.url("/atom"), "Atom", "atom", "link"),
    )
    assert site.asked == ["/"]


async def test_an_anchor_that_looks_like_a_feed_is_tried(site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {"/": b'<a href="/nonsense.rss">x</a><a href="/news.rss">RSS</a>', "/news.rss": RSS}
    found = await _discover(fetcher, site.url())
    assert found.candidates == (FeedCandidate(site.url("/news.rss"), "Reeds", "rss", "anchor"),)


@pytest.mark.parametrize("path", ["/feed", "/rss", "/atom.xml", "/feed.xml", "/rss.xml", "/index.xml", "/feed.json"])
async def test_a_page_without_any_link_is_asked_at_the_usual_paths(path: str, site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {"/about": b"<html><p>Hello", path: ATOM}
    found = await _discover(fetcher, site.url("/about"))
    assert found.candidates == (FeedCandidate(site.url(path), "Marsh", "atom", "guess"),)


async def test_usual_paths_are_tried_below_the_page_first(site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {"/blog/": b"<html>", "/blog/feed": RSS, "/feed": ATOM}
    found = await _discover(fetcher, site.url("/blog/"))
    assert [candidate.url for candidate in found.candidates] == [site.url("/blog/feed")]


@pytest.mark.parametrize("hidden", [(403, b"<html>"), b"<html>An app without links"])
async def test_a_profile_of_a_federated_site_is_tried_by_its_pattern(
    hidden: bytes | tuple[int, bytes], site: Pages, fetcher: Fetcher
) -> None:
    site.pages |= {"/@reed": hidden, "/@reed.rss": RSS}
    found = await _discover(fetcher, site.url("/@reed"))
    assert found.candidates == (FeedCandidate(site.url("/@reed.rss"), "Reeds", "rss", "known"),)
    assert site.asked == ["/@reed", "/@reed.rss"]


async def test_nothing_found_is_said_in_one_sentence(site: Pages, fetcher: Fetcher) -> None:
    site.pages["/"] = b"<html><p>Hello"
    found = await _discover(fetcher, site.url())
    assert found == Discovery(reason=Failure(FailureCode.NO_FEED_FOUND))
    assert len(site.asked) <= 16


async def test_a_page_that_cannot_be_fetched_says_why(site: Pages, fetcher: Fetcher) -> None:
    found = await _discover(fetcher, site.url("/nowhere"))
    assert replace(found, failure=None) == Discovery(
        reason=Failure(FailureCode.NOTHING_AT_ADDRESS, {"status": 404}), unreachable=True
    )
    assert isinstance(found.failure, Failed) and found.failure.status == 404


async def test_a_host_that_wants_peace_gets_it(site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {"/": b"<html>", "/feed": (429, b"")}
    await _discover(fetcher, site.url())
    assert site.asked == ["/", "/feed"]


async def test_a_known_site_is_never_asked() -> None:
    found = await _discover(Fetcher(Guard()), "github.com/reed/bed/releases")
    assert [candidate.url for candidate in found.candidates] == ["https://github.com/reed/bed/releases.atom"]


async def test_a_private_address_is_refused_with_the_way_out(site: Pages) -> None:
    fetcher = Fetcher(Guard())
    found = await _discover(fetcher, site.url())
    await fetcher.close()
    assert found.reason and "REEDBED_ALLOW_NETWORKS" in found.reason.message
    assert site.asked == []


@pytest.mark.parametrize("text", ["", "words and words", "javascript:alert(1)", "file:///etc/passwd", "\0", "http://"])
async def test_what_is_no_address_is_told_so(text: str, fetcher: Fetcher) -> None:
    assert (await _discover(fetcher, text)).reason


@pytest.mark.parametrize("name", ["endless", "gzip_bomb", "garbage", "redirect_loop", "header_bytes_odd", "drip"])
async def test_a_misbehaving_server_ends_in_a_value(name: str, server: MisbehavingServer, impatient: Fetcher) -> None:
    found = await _discover(impatient, server.url(name))
    assert bool(found.candidates) != bool(found.reason)


@pytest.mark.parametrize(
    ("body", "feed"),
    [
        (RSS, True),
        (ATOM, True),
        (JSON_FEED, True),
        (b"\xef\xbb\xbf  " + RSS, True),
        (RSS.decode().encode("utf-16"), True),
        (b"<rdf:RDF xmlns:rdf='x'>", True),
        (b"<atom:feed xmlns:atom='x'>", True),
        (b"<!doctype html><html>", False),
        (b'{"a": 1}', False),
        (b"", False),
    ],
)
def test_a_feed_is_told_by_its_beginning(body: bytes, feed: bool) -> None:
    assert looks_like_feed(body) == feed
