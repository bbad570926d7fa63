"""Articles by their address: only of entries that the caller sees, and nothing else in the world."""

from dataclasses import replace
from ipaddress import ip_network

import pytest

from reedbed.domain.users import Allowance, RateLimits
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.roles.app import Application
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ARTICLE = (
    "<html><head><title>Reeds</title></head><body><article>"
    + "".join(
        f"<p onclick=evil()>The {word} paragraph tells how <a href='/lake'>reeds</a> clean the water.</p>"
        for word in ("first", "second", "third", "fourth", "fifth")
    )
    + "<script>alert(1)</script></article></body></html>"
)


async def known_address(harness: RuntimeHarness, site: FeedSite, user_id: int) -> str:
    site.publish("Reeds", content="<p>Short.</p>")
    await harness.follow(site.feed_url(), user_id=user_id)
    await harness.check()
    (url,) = await harness.column("SELECT url FROM entries")
    site.put(url.removeprefix(site.url), ARTICLE, content_type="text/html")
    return url


async def ask(client: Client, url: str) -> int:
    return (await client.get("/api/proxy", params={"url": url})).status_code


async def test_the_article_of_ones_own_entry_comes_clean(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    reader = await signed_in("a@example.org")
    url = await known_address(harness, site, reader.user_id)
    for asked in (url, f"{url}?utm_source=somewhere", f"{url}#there"):
        answer = await reader.get("/api/proxy", params={"url": asked})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "third paragraph" in answer.text
        assert f'href="{site.url}/lake"' in answer.text
        assert "script" not in answer.text
        assert "onclick" not in answer.text
    assert len(site.seen_at(url.removeprefix(site.url))) == 1, "it was fetched once and kept"


@pytest.mark.parametrize(
    "other",
    [
        "{site}/elsewhere",
        "{url}/more",
        "{url}?page=2",
        "http://127.0.0.1:1/",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "not an address",
        "http://me:secret@127.0.0.1/",
        "",
        "http://[",
        "https://example.org/" + "x" * 3_000,
    ],
)
async def test_no_other_address_is_fetched(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, other: str
) -> None:
    reader = await signed_in("a@example.org")
    url = await known_address(harness, site, reader.user_id)
    before = len(site.requests)
    assert await ask(reader, other.format(site=site.url, url=url)) == 404
    assert len(site.requests) == before


async def test_entries_of_others_and_strangers_are_refused(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    reader, other = await signed_in("a@example.org"), await signed_in("b@example.org")
    url = await known_address(harness, site, reader.user_id)
    assert await ask(other, url) == 404
    assert await ask(client, url) == 401
    assert site.seen_at(url.removeprefix(site.url)) == []


async def test_an_entry_that_leads_into_the_network_is_not_followed(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, app: Application
) -> None:
    """A feed may say any address; the guard has the last word."""
    reader = await signed_in("a@example.org")
    url = await known_address(harness, site, reader.user_id)
    strict = Fetcher(Guard([ip_network("192.0.2.0/24")]), timeout=5)
    app.state.runtime = replace(harness.runtime, fetcher=strict)
    try:
        answer = await reader.get("/api/proxy", params={"url": url})
    finally:
        await strict.close()
    assert answer.status_code == 503
    assert site.seen_at(url.removeprefix(site.url)) == []


async def test_a_page_without_an_article_is_said_to_be_one(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    reader = await signed_in("a@example.org")
    url = await known_address(harness, site, reader.user_id)
    wall = "<title>Wall</title><p>Subscribe now to continue reading this article, already a subscriber?</p>"
    site.put(url.removeprefix(site.url), wall, content_type="text/html")
    answer = await reader.get("/api/proxy", params={"url": url})
    assert answer.status_code == 503
    assert "paywall" in answer.json()["error"]["message"]


async def test_so_many_and_then_a_pause(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, app: Application
) -> None:
    reader = await signed_in("a@example.org")
    url = await known_address(harness, site, reader.user_id)
    app.state.runtime = replace(harness.runtime, limits=RateLimits(refresh=Allowance(2, 0.001)))
    assert [await ask(reader, url) for _ in range(3)] == [200, 200, 429]
