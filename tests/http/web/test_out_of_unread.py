"""Feeds and folders kept out of Unread: their own lists and counts stay."""

from typing import Any

import pytest

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


@pytest.fixture
async def feeds(reader: Client, site: FeedSite, harness: RuntimeHarness) -> dict[str, dict[str, Any]]:
    """Three feeds with an entry each; one lies in a folder inside a folder."""
    outer = (await reader.post("/api/v1/folders", json={"name": "Outer"})).json()["id"]
    inner = (await reader.post("/api/v1/folders", json={"name": "Inner", "parent_id": outer})).json()["id"]
    made: dict[str, dict[str, Any]] = {"outer": {"id": outer}, "inner": {"id": inner}}
    for name in ("plain", "apart", "deep"):
        site.publish(name.title(), feed=name)
        fields = {"url": site.feed_url(name), "folder_id": inner if name == "deep" else None}
        made[name] = (await reader.post("/api/v1/subscriptions", json=fields)).json()
    await harness.check()
    return made


async def titles(reader: Client, query: str) -> list[str]:
    return sorted(entry["title"] for entry in (await reader.get(f"/api/v1/entries?{query}")).json()["items"])


async def test_a_feed_out_of_unread_keeps_its_list_and_its_count(reader: Client, feeds: dict[str, Any]) -> None:
    apart = feeds["apart"]
    changed = await reader.patch(f"/api/v1/subscriptions/{apart['id']}", json={"in_unread": False})
    assert changed.json()["in_unread"] is False
    assert await titles(reader, "view=unread") == ["Deep", "Plain"]
    assert await titles(reader, "view=all") == ["Apart", "Deep", "Plain"]
    assert await titles(reader, f"view=unread&feed_id={apart['feed_id']}") == ["Apart"]
    counts = (await reader.get("/api/v1/counts")).json()
    assert (counts["all"], counts["feeds"][apart["feed_id"]]) == (2, 1)
    page = (await reader.get("/unread")).text
    assert "<li class=line data-apart" in page


async def test_a_folder_out_of_unread_takes_the_folders_inside_with_it(reader: Client, feeds: dict[str, Any]) -> None:
    outer, inner = feeds["outer"]["id"], feeds["inner"]["id"]
    changed = await reader.patch(f"/api/v1/folders/{outer}", json={"in_unread": False})
    assert changed.json()["in_unread"] is False
    assert await titles(reader, "view=unread") == ["Apart", "Plain"]
    assert await titles(reader, f"view=unread&folder_id={outer}") == ["Deep"]
    counts = (await reader.get("/api/v1/counts")).json()
    assert (counts["all"], counts["folders"]) == (2, {outer: 1, inner: 1})
    await reader.patch(f"/api/v1/folders/{outer}", json={"in_unread": True})
    assert (await reader.get("/api/v1/counts")).json()["all"] == 3


async def test_marking_unread_read_leaves_alone_what_it_does_not_show(reader: Client, feeds: dict[str, Any]) -> None:
    await reader.patch(f"/api/v1/subscriptions/{feeds['apart']['id']}", json={"in_unread": False})
    await reader.patch(f"/api/v1/folders/{feeds['outer']['id']}", json={"in_unread": False})
    assert (await reader.post("/api/v1/entries/mark-read", json={"view": "unread", "all": True})).json()["marked"] == 1
    counts = (await reader.get("/api/v1/counts")).json()
    assert (counts["all"], sum(counts["feeds"].values())) == (0, 2)
    assert (await reader.post("/api/v1/entries/mark-read", json={"view": "all", "all": True})).json()["marked"] == 2


async def test_the_pages_set_it(reader: Client, feeds: dict[str, Any]) -> None:
    outer = feeds["outer"]["id"]
    assert (await reader.post(f"/folders/{outer}/in-unread", data={"value": "false"})).status_code == 303
    assert (await reader.get(f"/api/v1/folders/{outer}")).json()["in_unread"] is False
