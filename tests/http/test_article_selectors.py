"""Selectors for the whole articles of a feed: who may set them, what they do, and when."""

import pytest

from reedbed.services.articles import fetch_articles
from reedbed.services.jobs import claim
from reedbed.services.rules.match import ARTICLES_JOB
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

PAGE = (
    "<html><head><title>Reeds</title></head><body><div class=story>"
    + "".join(
        f"<p>The {word} paragraph tells at some length how reeds clean the water of a lake.</p>"
        for word in ("first", "second", "third", "fourth", "fifth")
    )
    + "<p class=plea>Please support us with a subscription, reader, it is not dear at all.</p></div>"
    + "<div class=recipe>A pie of reeds.</div></body></html>"
)


async def follow(client: Client, site: FeedSite) -> str:
    made = await client.post("/api/v1/subscriptions", json={"url": site.feed_url()})
    assert made.status_code == 201, made.text
    return made.json()["id"]


async def entry_of(client: Client, harness: RuntimeHarness, site: FeedSite) -> str:
    await harness.check()
    (item,) = (await client.get("/api/v1/entries")).json()["items"]
    site.put(item["url"].removeprefix(site.url), PAGE, content_type="text/html")
    return item["id"]


async def owned(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> tuple[Client, str, str]:
    """An operator, their subscription, and its one entry."""
    owner = await signed_in("o@example.org", role="owner")
    site.publish("Reeds", content="<p>Short.</p>")
    subscription_id = await follow(owner, site)
    return owner, subscription_id, await entry_of(owner, harness, site)


async def whole(client: Client, entry_id: str) -> str:
    return (await client.get(f"/api/v1/entries/{entry_id}/full")).json()["content"]


async def test_what_an_operator_says_is_what_everybody_reads(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    owner, reader = await signed_in("o@example.org", role="owner"), await signed_in("r@example.org")
    site.publish("Reeds", content="<p>Short.</p>")
    mine, theirs = await follow(owner, site), await follow(reader, site)
    entry_id = await entry_of(owner, harness, site)
    assert "support us" in await whole(reader, entry_id)

    endpoint = f"/api/v1/subscriptions/{mine}/selectors"
    changed = await owner.put(endpoint, json={"keep": [" .story ", ""], "drop": [".plea"]})
    assert changed.json() == {"keep": [".story"], "drop": [".plea"], "may_change": True}

    read = await whole(reader, entry_id)
    assert "third paragraph" in read
    assert "support us" not in read
    seen = (await reader.get(f"/api/v1/subscriptions/{theirs}/selectors")).json()
    assert seen == {"keep": [".story"], "drop": [".plea"], "may_change": False}

    await owner.put(endpoint, json={"keep": [".recipe"]})
    assert "third" not in await whole(reader, entry_id)
    await owner.put(endpoint, json={})
    assert "third" in await whole(reader, entry_id)


async def test_articles_had_before_are_read_anew_by_a_job(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    owner, mine, entry_id = await owned(signed_in, harness, site)
    await harness.change("DELETE FROM jobs")
    await whole(owner, entry_id)

    await owner.put(f"/api/v1/subscriptions/{mine}/selectors", json={"keep": [".recipe"]})
    job = await claim(harness.runtime, [ARTICLES_JOB])
    assert job is not None
    await fetch_articles(harness.runtime, job)

    assert await harness.column("SELECT full_content FROM entry_bodies") == ["<div>A pie of reeds.</div>"]


async def test_while_the_site_is_away_the_article_stays_as_it_was(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    owner, mine, entry_id = await owned(signed_in, harness, site)
    before = await whole(owner, entry_id)
    (url,) = await harness.column("SELECT url FROM entries")
    site.put(url.removeprefix(site.url), "away", status=503, content_type="text/plain")

    await owner.put(f"/api/v1/subscriptions/{mine}/selectors", json={"keep": [".recipe"]})

    answer = (await owner.get(f"/api/v1/entries/{entry_id}/full")).json()
    assert answer["content"] == before
    assert "503" in answer["failed"]


async def test_on_a_shared_feed_a_reader_may_not(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    reader, other = await signed_in("r@example.org"), await signed_in("x@example.org")
    site.publish("Reeds")
    mine = await follow(reader, site)
    refused = await reader.put(f"/api/v1/subscriptions/{mine}/selectors", json={"keep": ["p"]})
    assert refused.status_code == 403
    assert (await other.get(f"/api/v1/subscriptions/{mine}/selectors")).status_code == 404
    assert (await other.put(f"/api/v1/subscriptions/{mine}/selectors", json={})).status_code == 404
    assert await harness.column("SELECT feed_id FROM article_selectors") == []


async def test_on_a_feed_of_their_own_a_reader_may(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    reader = await signed_in("r@example.org")
    site.publish("Reeds")
    mine = await follow(reader, site)
    await harness.change("UPDATE feeds SET owner_id = :id", id=reader.user_id)
    changed = await reader.put(f"/api/v1/subscriptions/{mine}/selectors", json={"drop": ["aside"]})
    assert changed.status_code == 200, changed.text


@pytest.mark.parametrize(
    ("sent", "word"),
    [
        ({"keep": ["p", "p[["]}, "p[["),
        ({"drop": ["a::b::"]}, "a::b::"),
        ({"keep": [f"p{n}" for n in range(21)]}, "20"),
        ({"drop": ["p" * 201]}, "200"),
        ({"keep": [","]}, "selector"),
    ],
)
async def test_a_wrong_selector_is_named_and_nothing_changes(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, sent: dict[str, list[str]], word: str
) -> None:
    owner = await signed_in("o@example.org", role="owner")
    site.publish("Reeds")
    mine = await follow(owner, site)
    refused = await owner.put(f"/api/v1/subscriptions/{mine}/selectors", json=sent)
    assert refused.status_code == 400, refused.text
    error = refused.json()["error"]
    assert word in error["message"]
    assert error["details"]["field"] in sent
    assert await harness.column("SELECT feed_id FROM article_selectors") == []


async def test_the_page_of_the_feed_has_a_form_for_those_who_may(
    by_cookie: SignIn, signed_in: SignIn, site: FeedSite
) -> None:
    owner, page = await signed_in("o@example.org", role="owner"), await by_cookie("o@example.org")
    reader, plain = await signed_in("r@example.org"), await by_cookie("r@example.org")
    site.publish("Reeds")
    mine, theirs = await follow(owner, site), await follow(reader, site)
    assert f"/feeds/{theirs}/selectors" not in (await plain.get(f"/feeds/{theirs}/edit")).text
    form = (await page.get(f"/feeds/{mine}/edit")).text
    token = form.split('name="csrf_token" value="')[1].split('"')[0]

    typed = {"csrf_token": token, "keep": ".story\n.recipe", "drop": "p[["}
    refused = await page.post(f"/feeds/{mine}/selectors", data=typed)
    assert refused.status_code == 400
    assert "p[[” is not a CSS selector" in refused.text
    assert ".story\n.recipe</textarea>" in refused.text

    saved = await page.post(f"/feeds/{mine}/selectors", data={**typed, "drop": ".plea"})
    assert saved.status_code == 303
    assert ".plea</textarea>" in (await page.get(f"/feeds/{mine}/edit")).text
