"""Taking everything along, on both engines."""

import io
import zipfile
from collections.abc import AsyncGenerator
from typing import Any

import orjson

from reedbed.http.responses import ArchiveFile, zipped
from reedbed.ingest.transfer import read_opml
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def archive_of(client: Client) -> zipfile.ZipFile:
    answer = await client.get("/api/v1/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    return archive


def told(archive: zipfile.ZipFile, name: str) -> Any:
    return orjson.loads(archive.read(name))


async def fill(client: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    for number in range(45):
        site.publish(f"Entry {number}", content=f"<p>Text {number}</p>")
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    ids = await harness.column("SELECT id FROM entries ORDER BY id")
    for id_ in ids[:22]:
        await client.patch(f"/api/v1/entries/{id_}", json={"starred": True})
    await client.patch(f"/api/v1/entries/{ids[0]}", json={"later": True, "tags": ["a"]})
    await client.patch(f"/api/v1/entries/{ids[30]}", json={"later": True})
    await client.patch(f"/api/v1/entries/{ids[40]}", json={"tags": ["a", "b"]})
    await client.post("/api/v1/bookmarks", json={"entry_id": str(ids[44])})
    await client.post("/api/v1/highlights", json={"entry_id": str(ids[44]), "quote": "Text 44"})
    condition = {"field": "title", "operator": "contains", "value": "x"}
    rule = {"name": "Rule", "conditions": [condition], "actions": [{"action": "star"}]}
    await client.post("/api/v1/rules", json=rule)


async def test_an_archive_holds_everything_once(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    client = await signed_in()
    await fill(client, harness, site)
    archive = await archive_of(client)
    entries = told(archive, "entries.json")
    titles = [entry["title"] for entry in entries]
    assert sorted(titles) == sorted([*(f"Entry {number}" for number in range(22)), "Entry 30", "Entry 40"])
    kept = {entry["title"]: entry for entry in entries}
    assert (kept["Entry 0"]["starred"], kept["Entry 0"]["later"], kept["Entry 0"]["tags"]) == (True, True, ["a"])
    assert kept["Entry 40"]["content"] == "<p>Text 40</p>"
    assert [one["title"] for one in told(archive, "bookmarks.json")] == ["Entry 44"]
    assert [one["quote"] for one in told(archive, "highlights.json")] == ["Text 44"]
    assert [one["name"] for one in told(archive, "rules.json")] == ["Rule"]
    assert (told(archive, "searches.json"), told(archive, "published_feeds.json")) == ([], [])
    assert told(archive, "preferences.json")["theme"] == "system"
    assert told(archive, "account.json")["email"] == "reader@example.org"
    assert read_opml(archive.read("subscriptions.opml")).outlines[0].xml_url == site.feed_url()
    assert b"> Text 44" in archive.read("highlights.md")


async def test_an_archive_holds_nothing_of_others(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    await fill(await signed_in(), harness, site)
    archive = await archive_of(await signed_in("other@example.org"))
    lists = [
        name
        for name in archive.namelist()
        if name.endswith(".json") and name not in ("account.json", "preferences.json", "interest.json")
    ]
    assert {name: told(archive, name) for name in lists} == {name: [] for name in lists}
    assert told(archive, "interest.json")["beliefs"] == []
    assert b"Entry" not in b"".join(archive.read(name) for name in archive.namelist())


async def test_an_archive_holds_what_was_played(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish_episode("One")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    (one,) = await harness.column("SELECT id FROM entries")
    await reader.post("/api/v1/playback/queue", json={"entry_id": str(one)})
    await reader.put(f"/api/v1/playback/positions/{one}", json={"position": 61})
    archive = await archive_of(reader)
    assert [item["title"] for item in told(archive, "queue.json")] == ["One"]
    assert [item["position"]["position"] for item in told(archive, "played.json")] == [61]


async def test_exports_are_rare(signed_in: SignIn) -> None:
    client = await signed_in()
    answers = [(await client.get("/api/v1/export")).status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]


async def test_an_archive_is_written_as_it_is_read() -> None:
    async def parts() -> AsyncGenerator[bytes]:
        for number in range(200):
            yield bytes((number * 31 + place * place) % 256 for place in range(10_000))

    pieces = [piece async for piece in zipped([ArchiveFile("a.bin", parts())], (2026, 11, 15, 0, 0, 0))]
    whole = zipfile.ZipFile(io.BytesIO(b"".join(pieces)))
    assert len(whole.read("a.bin")) == 2_000_000
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 300_000
