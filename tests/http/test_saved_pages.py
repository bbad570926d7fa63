"""Any page can be saved for later by its address."""

import asyncio

import pytest

from reedbed.domain.times import HOUR
from reedbed.services.articles import SAVED_JOB, read_saved_page
from reedbed.services.jobs import claim, run
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.services.test_articles import ARTICLE

SAVED = "/api/v1/saved-pages"
FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}


async def test_a_page_is_kept_at_once_and_read_after(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    reader = await signed_in()
    site.put("/reeds", ARTICLE, content_type="text/html")
    saved = await reader.post(SAVED, json={"url": f"{site.url}/reeds"})
    assert saved.status_code == 201, saved.text
    (waiting,) = await _later(reader)
    assert (waiting["id"], waiting["read"], waiting["later"]) == (saved.json()["entry_id"], True, True)
    assert waiting["title"].endswith("/reeds")
    await _work(harness)
    (entry,) = await _later(reader)
    assert entry["title"] == "Reeds"
    content = (await reader.get(f"/api/v1/entries/{entry['id']}")).json()["content"]
    assert "third paragraph" in content
    assert "<script" not in content
    found = (await reader.get("/api/v1/entries", params={"q": "lake"})).json()["items"]
    assert [one["id"] for one in found] == [entry["id"]]
    assert (await reader.get("/api/v1/counts")).json()["all"] == 0


async def test_saving_twice_keeps_one(harness: RuntimeHarness, site: FeedSite, signed_in: SignIn) -> None:
    reader = await signed_in()
    first = (await reader.post(SAVED, json={"url": f"{site.url}/reeds?utm_source=mail"})).json()
    again = (await reader.post(SAVED, json={"url": f"{site.url}/reeds"})).json()
    assert (first["new"], again["new"]) == (True, False)
    assert first["entry_id"] == again["entry_id"]
    assert len(await _later(reader)) == 1


async def test_pages_saved_at_once_are_all_kept_and_each_once(harness: RuntimeHarness, signed_in: SignIn) -> None:
    reader = await signed_in()
    urls = [f"https://example.org/{number}" for number in range(4)] * 5
    answers = await asyncio.gather(*(reader.post(SAVED, json={"url": url}) for url in urls))
    assert [answer.status_code for answer in answers if answer.status_code not in (200, 201)] == []
    assert sum(answer.json()["new"] for answer in answers) == 4
    assert len(await _later(reader)) == 4
    assert await harness.column("SELECT count(*) FROM entry_bodies") == [4]


async def test_an_entry_that_is_followed_already_is_only_marked(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    reader = await signed_in()
    entry = site.publish("From the feed")
    await reader.post("/api/v1/subscriptions", json={"url": site.feed_url()})
    await harness.check()
    saved = (await reader.post(SAVED, json={"url": entry.url})).json()
    (later,) = await _later(reader)
    assert saved == {"entry_id": later["id"], "new": False}
    assert later["title"] == "From the feed"


async def test_a_page_that_cannot_be_read_stays_saved(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    reader = await signed_in()
    await reader.post(SAVED, json={"url": f"{site.url}/gone", "title": "What I meant to read"})
    await _work(harness)
    (entry,) = await _later(reader)
    assert entry["title"] == "What I meant to read"


async def test_a_site_that_does_not_answer_is_asked_a_few_times_and_then_left_alone(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    reader = await signed_in()
    url = site.put("/reeds", "", status=503)
    await reader.post(SAVED, json={"url": url})
    for _ in range(24):
        await _work(harness)
        harness.clock.ahead += HOUR // 6
    assert 3 <= len(site.requests) <= 5
    assert await harness.column("SELECT state FROM jobs") == ["done"]


async def test_saved_pages_are_their_owners_alone(harness: RuntimeHarness, site: FeedSite, signed_in: SignIn) -> None:
    ann, ben = await signed_in("ann@example.org"), await signed_in("ben@example.org")
    mine = (await ann.post(SAVED, json={"url": f"{site.url}/reeds"})).json()
    theirs = (await ben.post(SAVED, json={"url": f"{site.url}/reeds"})).json()
    assert mine["entry_id"] != theirs["entry_id"]
    assert (await ben.get(f"/api/v1/entries/{mine['entry_id']}")).status_code == 404
    assert b"reedbed:saved" not in (await ann.get("/api/v1/opml")).content


@pytest.mark.parametrize("url", ["", "not an address", "javascript:alert(1)", "https://a:b@example.org/", "\x00"])
async def test_what_is_no_address_is_refused(signed_in: SignIn, url: str) -> None:
    answer = await (await signed_in()).post(SAVED, json={"url": url})
    assert answer.status_code == 400, answer.text


async def test_a_private_address_is_never_fetched(harness: RuntimeHarness, signed_in: SignIn) -> None:
    reader = await signed_in()
    assert (await reader.post(SAVED, json={"url": "http://169.254.169.254/latest"})).status_code == 201
    await _work(harness)
    (entry,) = await _later(reader)
    assert (await reader.get(f"/api/v1/entries/{entry['id']}")).json()["content"] == ""


async def test_the_field_for_anything_offers_to_save_the_page(
    site: FeedSite, by_cookie: SignIn, harness: RuntimeHarness
) -> None:
    page = await by_cookie("reader@example.org")
    site.put("/reeds", ARTICLE, content_type="text/html")
    looked = await page.get("/add", params={"url": f"{site.url}/reeds"})
    assert 'action="/saved-pages"' in looked.text
    saved = await page.post("/saved-pages", data={"url": f"{site.url}/reeds"}, headers=FORM)
    assert (saved.status_code, saved.headers["location"]) == (303, "/later")
    assert "/reeds" in (await page.get("/later")).text


async def _later(reader: Client) -> list[dict[str, object]]:
    return (await reader.get("/api/v1/entries", params={"view": "later"})).json()["items"]


async def _work(harness: RuntimeHarness) -> None:
    while (job := await claim(harness.runtime, [SAVED_JOB])) is not None:
        await run(harness.runtime, job, read_saved_page)
