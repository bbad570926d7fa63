"""Bookmarks through the API, on both engines."""

from reedbed.domain.times import HOUR
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ADDRESS = "/api/v1/bookmarks"


async def entries_of(harness: RuntimeHarness, client: Client, site: FeedSite, *titles: str) -> list[str]:
    """Follow the site's feed with these entries; their ids."""
    for title in titles:
        site.publish(title, content=f"<p>All about {title}</p>")
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    return [str(id_) for id_ in await harness.column("SELECT id FROM entries ORDER BY id")]


async def test_a_snapshot_outlives_the_entry_and_the_feed(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    (entry,) = await entries_of(harness, client, site, "Herons")
    made = await client.post(ADDRESS, json={"entry_id": entry})
    assert made.status_code == 201
    assert made.json()["content"] == "<p>All about Herons</p>"
    await harness.change("DELETE FROM entries")
    await harness.change("DELETE FROM feeds")
    kept = (await client.get(f"{ADDRESS}/{made.json()['id']}")).json()
    assert (kept["title"], kept["feed_title"], kept["entry_id"]) == ("Herons", "Feed main", None)
    assert kept["content"] == "<p>All about Herons</p>"
    assert kept["url"].startswith("http://")


async def test_the_same_again_renews_the_snapshot(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    client = await signed_in()
    (entry,) = await entries_of(harness, client, site, "Herons")
    first = await client.post(ADDRESS, json={"entry_id": entry})
    site.publish("Herons, corrected", key="main-1", content="<p>Better</p>")
    await harness.check(at_least=25 * HOUR)
    again = await client.post(ADDRESS, json={"entry_id": entry})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert (again.json()["title"], again.json()["content"]) == ("Herons, corrected", "<p>Better</p>")
    assert len((await client.get(ADDRESS)).json()["items"]) == 1


async def test_pages_search_and_delete(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    client = await signed_in()
    ids = await entries_of(harness, client, site, "One", "Two", "Three 100%")
    for id_ in ids:
        await client.post(ADDRESS, json={"entry_id": id_})
    first = (await client.get(ADDRESS, params={"limit": 2})).json()
    second = (await client.get(ADDRESS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [item["title"] for item in first["items"] + second["items"]] == ["Three 100%", "Two", "One"]
    assert second["next_cursor"] is None
    assert "content" not in first["items"][0]
    found = (await client.get(ADDRESS, params={"search": "100%"})).json()["items"]
    assert [item["title"] for item in found] == ["Three 100%"]
    (only,) = (await client.get(ADDRESS, params={"entry_id": ids[0]})).json()["items"]
    assert (await client.delete(f"{ADDRESS}/{only['id']}")).status_code == 204
    assert (await client.delete(f"{ADDRESS}/{only['id']}")).status_code == 404
    stale = await client.get(ADDRESS, params={"search": "x", "cursor": first["next_cursor"]})
    assert stale.status_code == 400
    assert {hint.data["what"] for hint in harness.heard("state_changed")} == {"bookmarks"}


async def test_nobody_keeps_or_sees_what_is_another_users(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine, other = await signed_in(), await signed_in("other@example.org")
    (entry,) = await entries_of(harness, mine, site, "Secret")
    made = (await mine.post(ADDRESS, json={"entry_id": entry})).json()
    assert (await other.post(ADDRESS, json={"entry_id": entry})).status_code == 404
    assert (await other.get(f"{ADDRESS}/{made['id']}")).status_code == 404
    assert (await other.delete(f"{ADDRESS}/{made['id']}")).status_code == 404
    assert (await other.get(ADDRESS)).json()["items"] == []
    assert (await other.get(f"{ADDRESS}/export")).json() == []


async def test_exports_hold_everything_and_escape_titles(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    ids = await entries_of(harness, client, site, *(f"Entry {number}" for number in range(25)), 'A "<b>" & more')
    for id_ in ids:
        await client.post(ADDRESS, json={"entry_id": id_})
    told = (await client.get(f"{ADDRESS}/export")).json()
    assert len(told) == 26
    assert told[-1]["content"] == "<p>All about Entry 0</p>"
    page = await client.get(f"{ADDRESS}/export.html")
    assert page.headers["content-disposition"] == 'attachment; filename="reedbed-bookmarks.html"'
    assert page.text.startswith("<!DOCTYPE NETSCAPE-Bookmark-file-1>")
    assert page.text.count("<DT><A HREF=") == 26
    assert ">A &quot;&lt;b&gt;&quot; &amp; more</A>" in page.text
