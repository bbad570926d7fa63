"""Published feeds, on both engines: made with a key, read without a login, taken back."""

from email.utils import format_datetime
from typing import Any

import feedparser
import pytest

from reedbed.domain.feeds import ParsedFeed
from reedbed.domain.times import to_datetime
from reedbed.ingest.parse import parse_feed
from reedbed.services import published_feeds
from reedbed.services.stories import StoryGrouper
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ADDRESS = "/api/v1/published-feeds"


async def follow(harness: RuntimeHarness, client: Client, site: FeedSite, *titles: str, feed: str = "main") -> int:
    for title in titles:
        site.publish(title, feed=feed, content=f"<p>About {title}</p>")
    feed_id = await harness.follow(site.feed_url(feed), user_id=client.user_id)
    await harness.check()
    return feed_id


async def publish(client: Client, **body: Any) -> dict[str, Any]:
    made = await client.post(ADDRESS, json={"name": "Mine", **body})
    assert made.status_code == 201, made.text
    return made.json()


def parsed(body: bytes, content_type: str) -> ParsedFeed:
    feed = parse_feed(body, content_type=content_type, url="http://127.0.0.1:8080/published/x.atom")
    assert isinstance(feed, ParsedFeed)
    return feed


@pytest.mark.parametrize("form", ["atom", "json"])
async def test_a_view_is_read_without_a_login(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite, form: str
) -> None:
    mine = await signed_in()
    await follow(harness, mine, site, "One", "Two")
    made = await publish(mine, name="Reading & more")
    answer = await client.get(made[f"{form}_url"])
    assert answer.status_code == 200
    assert answer.headers["cache-control"].startswith("private")
    assert "noindex" in answer.headers["x-robots-tag"]
    feed = parsed(answer.content, answer.headers["content-type"])
    assert feed.title == "Reading & more"
    assert [entry.title for entry in feed.entries] == ["Two", "One"]
    assert feed.entries[0].content == "<p>About Two</p>"
    assert all((entry.guid or "").startswith("tag:127.0.0.1,2026:entry-") for entry in feed.entries)
    assert feed.entries[0].published is not None


async def test_a_fetched_article_is_published_only_for_feeds_that_are_read_whole(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await signed_in()
    await follow(harness, mine, site, "One")
    await harness.change("UPDATE entry_bodies SET full_content = content || '<p>And more of it.</p>'")
    (followed,) = (await mine.get("/api/v1/subscriptions")).json()["items"]
    made = await publish(mine)
    for mode, content in (
        ("auto", "<p>About One</p>"),
        ("always", "<p>About One</p><p>And more of it.</p>"),
        ("never", "<p>About One</p>"),
    ):
        await mine.patch(f"/api/v1/subscriptions/{followed['id']}", json={"full_text": mode})
        answer = await client.get(made["atom_url"])
        (entry,) = parsed(answer.content, answer.headers["content-type"]).entries
        assert entry.content == content


async def test_what_was_read_is_published(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await signed_in()
    await follow(harness, mine, site, "One", "Two", "Three")
    rows = (await mine.get("/api/v1/entries", params={"order": "oldest"})).json()["items"]
    for row in rows[:2]:
        assert (await mine.patch(f"/api/v1/entries/{row['id']}", json={"read": True})).status_code == 200
        harness.clock.ahead += 1_000
    made = await publish(mine, view="history")
    assert made["view"] == "history"
    answer = await client.get(made["atom_url"])
    feed = parsed(answer.content, answer.headers["content-type"])
    assert [entry.title for entry in feed.entries] == ["Two", "One"]
    narrowed = await mine.post(ADDRESS, json={"name": "Mine", "view": "history", "tag": "x"})
    assert narrowed.status_code == 400


@pytest.mark.parametrize("form", ["atom", "json"])
async def test_stories_are_published(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite, form: str
) -> None:
    mine = await signed_in()
    for number, title in enumerate(("Council shuts Marrowby <swing> bridge", "Marrowby swing bridge shut by council")):
        await follow(harness, mine, site, title, feed=f"f{number}")
    await StoryGrouper().group_new(harness.runtime)
    made = await publish(mine, view="stories")
    assert made["view"] == "stories"
    answer = await client.get(made[f"{form}_url"])
    (story,) = parsed(answer.content, answer.headers["content-type"]).entries
    assert "Marrowby" in (story.title or "") and "/stories/" in (story.url or "")
    assert (story.guid or "").startswith("tag:127.0.0.1,2026:story-")
    assert story.content and story.content.count(f'<a href="{site.url}') == 2
    assert "&lt;swing&gt;" in story.content
    other = await signed_in("other@example.org")
    theirs = await publish(other, view="stories")
    empty = await client.get(theirs[f"{form}_url"])
    assert parsed(empty.content, empty.headers["content-type"]).entries == ()


async def test_whatever_entries_hold_the_feed_is_well_formed(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await signed_in()
    await follow(harness, mine, site, "One")
    await harness.change(
        "UPDATE entries SET title = :title, author = :author, url = :url",
        title="A ]]> & <b>\x01\x1f\ufffe🐦",
        author="\x02Ann",
        url="https://example.org/?a=1&b=<2>",
    )
    await harness.change("UPDATE entry_bodies SET content = :content", content="<p>]]>\x0b&amp;&lt;script&gt;</p>")
    made = await publish(mine)
    atom = await client.get(made["atom_url"])
    told = feedparser.parse(atom.content)
    assert (told.bozo, told.version) == (False, "atom10")
    assert told.entries[0].title_detail.value == "A ]]> & <b>🐦"
    assert told.entries[0].content[0].value == "<p>]]>&amp;&lt;script&gt;</p>"
    assert parsed(atom.content, "application/atom+xml").entries[0].url == "https://example.org/?a=1&b=<2>"
    items = (await client.get(made["json_url"])).json()["items"]
    assert items[0]["content_html"] == "<p>]]>\x0b&amp;&lt;script&gt;</p>"


async def test_what_has_not_changed_is_not_sent_again(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await signed_in()
    feed_id = await follow(harness, mine, site, "One")
    url = (await publish(mine))["atom_url"]
    first = await client.get(url)
    tag = {"If-None-Match": first.headers["etag"]}
    date = {"If-Modified-Since": first.headers["last-modified"]}
    again = await client.get(url, headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    assert (await client.get(url, headers=date)).status_code == 304
    assert (await client.get(url, headers={"If-Modified-Since": "never"})).status_code == 200
    assert (await client.get(url, headers={**date, "If-None-Match": '"other"'})).status_code == 200
    site.publish("Two")
    harness.clock.ahead += 2_000
    await harness.check_anyway(feed_id)
    assert (await client.get(url, headers=tag)).status_code == 200
    assert (await client.get(url, headers=date)).status_code == 200


async def test_a_date_never_hides_an_old_entry_that_was_starred_now(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await signed_in()
    await follow(harness, mine, site, "One")
    url = (await publish(mine, view="starred"))["json_url"]
    assert (await client.get(url)).json()["items"] == []
    (entry,) = await harness.column("SELECT id FROM entries")
    await mine.patch(f"/api/v1/entries/{entry}", json={"starred": True})
    later = format_datetime(to_datetime(harness.runtime.now() + 60_000), usegmt=True)
    answer = await client.get(url, headers={"If-Modified-Since": later})
    assert [item["title"] for item in answer.json()["items"]] == ["One"]


async def test_every_view_can_be_published(
    signed_in: SignIn, client: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine = await signed_in()
    folder = (await mine.post("/api/v1/folders", json={"name": "News"})).json()["id"]
    one = await follow(harness, mine, site, "One", feed="a")
    await follow(harness, mine, site, "Two", feed="b")
    await harness.change(
        "UPDATE subscriptions SET folder_id = :folder WHERE feed_id = :feed", folder=int(folder), feed=one
    )
    ids = {title: id_ for id_, title in await harness.rows("SELECT id, title FROM entries")}
    await mine.patch(
        f"/api/v1/entries/{ids['Two']}", json={"starred": True, "later": True, "tags": ["birds"], "read": True}
    )
    await harness.change(
        "INSERT INTO searches (user_id, name, query, created_at) VALUES (:user, 'S', 'title:one', 1)", user=mine.user_id
    )
    (search,) = await harness.column("SELECT id FROM searches")
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({"view": "unread"}, ["One"]),
        ({"view": "all"}, ["Two", "One"]),
        ({"view": "starred"}, ["Two"]),
        ({"view": "later"}, ["Two"]),
        ({"feed_id": str(one)}, ["One"]),
        ({"folder_id": folder}, ["One"]),
        ({"tag": "birds"}, ["Two"]),
        ({"search_id": str(search)}, ["One"]),
    ]
    for body, titles in expected:
        made = await publish(mine, **body)
        items = (await client.get(made["json_url"])).json()["items"]
        assert ([item["title"] for item in items], body) == (titles, body)


async def test_an_address_is_shown_once_renewed_and_taken_back(
    signed_in: SignIn, client: Client, harness: RuntimeHarness
) -> None:
    mine = await signed_in()
    made = await publish(mine)
    token = made["atom_url"].rpartition("/")[2].removesuffix(".atom")
    stored = await harness.rows("SELECT * FROM published_feeds")
    assert token not in str([tuple(row) for row in stored])
    listed = (await mine.get(ADDRESS)).json()["items"]
    assert "atom_url" not in listed[0]
    assert (await mine.patch(f"{ADDRESS}/{made['id']}", json={"name": "New"})).json()["name"] == "New"
    renewed = (await mine.post(f"{ADDRESS}/{made['id']}/renew")).json()
    assert (await client.get(made["atom_url"])).status_code == 404
    assert (await client.get(renewed["atom_url"])).status_code == 200
    assert (await mine.get(f"{ADDRESS}/{made['id']}")).json()["last_used_at"] is not None
    assert (await mine.delete(f"{ADDRESS}/{made['id']}")).status_code == 204
    gone = await client.get(renewed["atom_url"])
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")


async def test_an_address_asked_too_often_must_wait(
    signed_in: SignIn, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reedbed.domain.users import Allowance

    monkeypatch.setattr(published_feeds, "PER_ADDRESS", Allowance(2, 0.01))
    url = (await publish(await signed_in()))["atom_url"]
    answers = [(await client.get(url)).status_code for _ in range(3)]
    assert answers == [200, 200, 429]


async def test_nobody_publishes_or_reaches_what_is_another_users(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine, other = await signed_in(), await signed_in("other@example.org")
    feed_id = await follow(harness, mine, site, "One")
    folder = (await mine.post("/api/v1/folders", json={"name": "News"})).json()["id"]
    made = await publish(mine)
    for body in ({"feed_id": str(feed_id)}, {"folder_id": folder}, {"tag": "x"}, {"search_id": "1"}):
        refused = await other.post(ADDRESS, json={"name": "Theirs", **body})
        assert (refused.status_code, body) == (404, body)
    address = f"{ADDRESS}/{made['id']}"
    assert (await other.get(address)).status_code == 404
    assert (await other.patch(address, json={"name": "x"})).status_code == 404
    assert (await other.post(f"{address}/renew")).status_code == 404
    assert (await other.delete(address)).status_code == 404
    assert (await other.get(ADDRESS)).json()["items"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"name": " "},
        {"name": "x" * 101},
        {"view": "bookmarks"},
        {"view": "stories", "folder_id": "1"},
        {"feed_id": "1", "folder_id": "1"},
        {"tag": " "},
    ],
)
async def test_wrong_wishes_are_refused(signed_in: SignIn, body: dict[str, Any]) -> None:
    client = await signed_in()
    assert (await client.post(ADDRESS, json={"name": "Mine", **body})).status_code == 400
