"""Shared stories, on both engines: what the public copy holds, and what never reaches it."""

from collections.abc import Sequence
from typing import Any

import pytest

from reedbed.domain.shared_stories import MAX_QUOTE, MAX_TITLE
from reedbed.roles.app import Application
from reedbed.services import shared_stories
from reedbed.services.stories import StoryGrouper
from tests.clients import Client, SignIn, new_client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, run

ADDRESS = "/api/v1/shared-stories"
FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}
SHARED = "The council voted 31 to 28 to close the swing bridge to cars from September."
OUTLETS = {
    "courier": ("Marrowby council closes swing bridge to cars", "Buses keep one lane over the water."),
    "post": ("SCANDAL: Marrowby council SLAMS swing bridge shut", "Insiders whisper about the lorries of the port."),
    "kiosk": ("Marrowby swing bridge closed to cars by council", "The ferries sail every ten minutes until winter."),
}


async def tell(harness: RuntimeHarness, client: Client, site: FeedSite, outlets: Sequence[str] = tuple(OUTLETS)) -> str:
    """Follow outlets of one event; the id of their story."""
    for feed in outlets:
        title, own = OUTLETS[feed]
        site.feed(feed, title=f"The {feed}")
        site.publish(title, key="a", feed=feed, content=f"<p>{SHARED} {own}</p>")
        await harness.follow(site.feed_url(feed), user_id=client.user_id)
    await harness.check()
    await StoryGrouper().group_new(harness.runtime)
    (story,) = (await client.get("/api/v1/stories")).json()["items"]
    return story["id"]


async def share(client: Client, story_id: str) -> dict[str, Any]:
    made = await client.post(ADDRESS, json={"story_id": story_id})
    assert made.status_code == 201, made.text
    return made.json()


async def entry_of(client: Client, title: str) -> str:
    items = (await client.get("/api/v1/entries")).json()["items"]
    return next(item["id"] for item in items if item["title"] == title)


async def test_a_copy_is_read_by_anybody_who_has_its_address(
    reader: Client, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    made = await share(reader, await tell(harness, reader, site))
    page = await client.get(made["url"])

    assert page.status_code == 200
    for feed, (title, own) in OUTLETS.items():
        assert all(text in page.text for text in (f"The {feed}", title, own, f'href="{site.url}/{feed}/a"'))
    assert "Sentences they share" in page.text
    assert "<script" not in page.text and "<form" not in page.text and "csrf" not in page.text
    assert "set-cookie" not in page.headers
    assert page.headers["x-robots-tag"] == "noindex, nofollow"
    assert page.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "script-src" not in page.headers["content-security-policy"]


async def test_nothing_of_the_reader_is_in_a_copy(
    reader: Client, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    story_id = await tell(harness, reader, site)
    entry, apart = await entry_of(reader, OUTLETS["courier"][0]), await entry_of(reader, OUTLETS["post"][0])
    await reader.put(f"/api/v1/entries/{entry}/tags/secret-tag")
    note = {"text": "one lane over the water", "note": "my-secret-note"}
    await reader.post(f"/api/v1/entries/{entry}/highlights", json=note)
    for subscription in (await reader.get("/api/v1/subscriptions")).json()["items"]:
        await reader.patch(f"/api/v1/subscriptions/{subscription['id']}", json={"title": "my-own-name"})
    await harness.change("UPDATE folders SET name = 'my-folder'")
    await reader.post(f"/api/v1/stories/{story_id}/entries/{apart}/split")

    page = (await client.get((await share(reader, story_id))["url"])).text

    assert OUTLETS["courier"][0] in page and OUTLETS["post"][0] not in page
    for own in ("secret", "my-own-name", "my-folder", "example.org", "/entry/", "/stories/", "Unread", "Set apart"):
        assert own not in page, own


@pytest.mark.parametrize(
    "private",
    [
        "UPDATE feeds SET owner_id = (SELECT id FROM users) WHERE title = 'The post'",
        "UPDATE feeds SET kind = 'mail' WHERE title = 'The post'",
        "UPDATE feeds SET username = 'me', password = 'x' WHERE title = 'The post'",
        "UPDATE entries SET audience_id = 1 WHERE title LIKE 'SCANDAL%'",
    ],
)
async def test_what_not_everybody_may_see_leaves_no_word_in_a_copy(
    reader: Client, client: Client, harness: RuntimeHarness, site: FeedSite, private: str
) -> None:
    story_id = await tell(harness, reader, site)
    if "audience_id" in private:
        await _add_audience(harness, reader)
    await harness.change(private)
    page = (await client.get((await share(reader, story_id))["url"])).text
    assert OUTLETS["kiosk"][0] in page and SHARED in page
    for word in ("The post", "SCANDAL", "Insiders", "/post/"):
        assert word not in page, word


async def _add_audience(harness: RuntimeHarness, reader: Client) -> None:
    async with harness.runtime.db.write() as tx:
        await run(tx, "INSERT INTO audiences (id, feed_id) SELECT 1, min(id) FROM feeds")
        await run(tx, "INSERT INTO audience_members (audience_id, user_id) VALUES (1, :user)", user=reader.user_id)


async def test_a_story_of_private_feeds_alone_is_not_shared(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    story_id = await tell(harness, reader, site)
    await harness.change("UPDATE feeds SET kind = 'mail'")
    assert (await reader.post(ADDRESS, json={"story_id": story_id})).status_code == 409
    assert (await reader.get(ADDRESS)).json()["items"] == []


async def test_a_copy_stays_as_it_was_until_it_is_taken_back(
    reader: Client, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    made = await share(reader, await tell(harness, reader, site))
    before = (await client.get(made["url"])).text
    await harness.change("UPDATE entries SET title = 'Changed'")
    assert (await client.get(made["url"])).text == before
    (listed,) = (await reader.get(ADDRESS)).json()["items"]
    assert listed["id"] == made["id"] and listed["last_used_at"] and "url" not in listed
    assert (await reader.delete(f"{ADDRESS}/{made['id']}")).status_code == 204
    gone = await client.get(made["url"])
    assert gone.status_code == 404 and "set-cookie" not in gone.headers and "<script" not in gone.text
    assert (await reader.delete(f"{ADDRESS}/{made['id']}")).status_code == 404


async def test_only_its_owner_lists_and_takes_back_a_copy(
    reader: Client, client: Client, signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    story_id = await tell(harness, reader, site)
    made = await share(reader, story_id)
    stranger = await signed_in("stranger@example.org")
    assert (await stranger.post(ADDRESS, json={"story_id": story_id})).status_code == 404
    assert (await stranger.get(ADDRESS)).json()["items"] == []
    assert (await stranger.delete(f"{ADDRESS}/{made['id']}")).status_code == 404
    assert (await client.get(made["url"])).status_code == 200
    await harness.change(f"UPDATE users SET disabled_at = 1 WHERE id = {reader.user_id}")
    assert (await client.get(made["url"])).status_code == 404
    await harness.change(f"DELETE FROM users WHERE id = {reader.user_id}")
    assert (await client.get(made["url"])).status_code == 404


async def test_a_copy_is_bounded_and_its_links_lead_to_the_web(
    reader: Client, client: Client, harness: RuntimeHarness, site: FeedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    story_id = await tell(harness, reader, site)
    long = "<script>x</script> " * 200
    await harness.change(f"UPDATE entries SET title = title || ' {long}', summary = '{long}'")
    await harness.change("UPDATE entry_bodies SET content = ''")
    await harness.change("UPDATE entries SET url = 'javascript:alert(1)' WHERE title LIKE 'SCANDAL%'")
    await harness.change("UPDATE entries SET url = 'https://me:secret@example.net/' WHERE title LIKE '%by council%'")
    page = (await client.get((await share(reader, story_id))["url"])).text
    assert "<script" not in page and "javascript:" not in page and "secret@" not in page
    assert len(page) < 3_000 + 4 * 5 * (MAX_QUOTE + 2 * MAX_TITLE)
    monkeypatch.setattr(shared_stories, "MAX_SHARED_STORIES", 1)
    assert (await reader.post(ADDRESS, json={"story_id": story_id})).status_code == 409


async def test_the_page_shares_and_takes_back(
    by_cookie: SignIn, app: Application, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await by_cookie("mine@example.org")
    story_id = await tell(harness, mine, site)
    assert "Share this page" in (await mine.get(f"/stories/{story_id}")).text
    shown = await mine.post(f"/stories/{story_id}/share", headers=FORM)
    assert shown.status_code == 200
    url = shown.text.split('data-copy="')[1].split('"')[0]
    async with new_client(app) as anybody:
        assert (await anybody.get(url)).status_code == 200
    shared = (await mine.get(ADDRESS)).json()["items"][0]["id"]
    listing = (await mine.get("/settings/published")).text
    assert "Last opened" in listing and url not in listing
    taken = await mine.post(f"/settings/published/stories/{shared}/delete", headers=FORM)
    assert taken.status_code == 303
    assert "No story is shared." in (await mine.get("/settings/published")).text
