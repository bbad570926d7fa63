"""The order by interest through the API: learnt from one's own acts, off until wanted, stable from page to page."""

from typing import Any

import pytest

from reedbed.domain.times import HOUR
from reedbed.store.engine.database import counting
from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

INTEREST = "/api/v1/interest"
ME = "/api/v1/users/me"
FEEDS = ("bridges", "football", "gardens")
PER_FEED = 30


async def _library(reader: Client, site: FeedSite, harness: RuntimeHarness) -> dict[str, dict[str, Any]]:
    """Entries of three feeds by title; every third one of each feed is about a bridge."""
    for number in range(PER_FEED):
        for feed in FEEDS:
            about = "bridge opening" if number % 3 == 0 else "ordinary matter"
            site.publish(f"{feed} {about} {number}", feed=feed, key=f"{feed}{number}", content="<p>Text.</p>")
    for feed in FEEDS:
        await harness.follow(site.feed_url(feed), user_id=reader.user_id)
    await harness.check()
    items = await _all(reader, "/api/v1/entries?limit=200")
    assert len(items) == PER_FEED * len(FEEDS)
    return {item["title"]: item for item in items}


async def _all(reader: Client, url: str, *, most: int = 50) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(most):
        page = (await reader.get(f"{url}{'&cursor=' if cursor else ''}{cursor}")).json()
        items += page["items"]
        cursor = page["next_cursor"]
        if not cursor:
            return items
    raise AssertionError("it does not end")


async def _switch_on(reader: Client, **more: bool) -> None:
    answer = await reader.patch(ME, json={"preferences": {"interest": True, **more}})
    assert answer.json()["preferences"]["interest"] is True


async def _teach(reader: Client, harness: RuntimeHarness, library: dict[str, dict[str, Any]]) -> None:
    """A reader who opens what is about bridges, in six sessions."""
    titles = sorted(library)
    for session in range(6):
        harness.clock.ahead += 3 * HOUR
        part = titles[session::6]
        liked = [library[title]["id"] for title in part if "bridge opening" in title]
        ignored = [{"entry_id": library[title]["id"], "ms": 2_000} for title in part if "ordinary" in title]
        answer = await reader.post(f"{INTEREST}/seen", json={"passed": ignored, "read": liked})
        assert answer.json()["learnt"] == len(liked) + len(ignored)


async def test_it_is_off_until_wanted(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    library = await _library(reader, site, harness)
    some = next(iter(library.values()))
    assert (await reader.get("/api/v1/entries?order=interest")).status_code == 400
    assert (await reader.post(f"{INTEREST}/seen", json={"read": [some["id"]]})).status_code == 400
    await reader.patch(f"/api/v1/entries/{some['id']}", json={"starred": True})
    assert await harness.rows("SELECT * FROM interest_models") == []
    assert (await reader.get(INTEREST)).json()["verdict"] == "learning"


async def test_acts_teach_and_lists_follow(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    library = await _library(reader, site, harness)
    await _switch_on(reader)
    by_time = [item["id"] for item in await _all(reader, "/api/v1/entries?view=unread&limit=200")]
    assert [item["id"] for item in await _all(reader, "/api/v1/entries?view=unread&order=interest")] == by_time
    await _teach(reader, harness, library)
    report = (await reader.get(INTEREST)).json()
    assert report["verdict"] in ("unmeasured", "better")
    assert {"bridge", "opening"} & {belief["label"] for belief in report["likes"]}
    assert {"ordinary", "matter"} & {belief["label"] for belief in report["dislikes"]}
    ranked = await _all(reader, "/api/v1/entries?view=unread&order=interest")
    assert sorted(item["id"] for item in ranked) == sorted(by_time)
    assert sum("bridge opening" in item["title"] for item in ranked[:20]) >= 16
    exported = (await reader.get(f"{INTEREST}/export")).json()
    assert len(exported["beliefs"]) > 10


async def test_pages_follow_the_first_one_while_marks_change(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    library = await _library(reader, site, harness)
    await _switch_on(reader)
    await _teach(reader, harness, library)
    first = (await reader.get("/api/v1/entries?view=unread&order=interest&limit=20")).json()
    seen = [item["id"] for item in first["items"]]
    for item in first["items"][:10]:  # marks, acts and a pin that would change the order
        await reader.patch(f"/api/v1/entries/{item['id']}", json={"read": True, "later": True})
    await reader.put(f"{INTEREST}/pins", json={"kind": "word", "label": "ordinary", "pin": "more"})
    rest = await _all(reader, f"/api/v1/entries?view=unread&order=interest&limit=20&cursor={first['next_cursor']}&x=")
    together = seen + [item["id"] for item in rest]
    assert len(together) == len(set(together)) == len(library)
    again = (await reader.get("/api/v1/entries?view=unread&order=interest&limit=200")).json()["items"]
    assert len(again) == len(library) - 10


async def test_each_reason_can_be_corrected(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    library = await _library(reader, site, harness)
    await _switch_on(reader)
    await _teach(reader, harness, library)
    entry = library["football bridge opening 0"]
    address = f"{INTEREST}/entries/{entry['id']}"
    before = (await reader.get(address)).json()
    assert sum(term["adds"] for term in before["terms"]) == pytest.approx(before["score"])
    for pin, former in (("never", ""), ("less", "never")):
        answer = await reader.put(f"{INTEREST}/pins", json={"kind": "word", "label": "bridge", "pin": pin})
        assert answer.json() == {"before": former}
        after = (await reader.get(address)).json()
        assert after["score"] < before["score"]
        assert sum(term["adds"] for term in after["terms"]) == pytest.approx(after["score"])
    assert [pin["label"] for pin in (await reader.get(INTEREST)).json()["pins"]] == ["bridge"]
    await reader.put(f"{INTEREST}/pins", json={"kind": "word", "label": "bridge", "pin": ""})
    assert (await reader.get(address)).json()["score"] == pytest.approx(before["score"], abs=1e-4)
    for body in ({"kind": "word", "label": "the"}, {"kind": "planet", "label": "Mars"}):
        assert (await reader.put(f"{INTEREST}/pins", json={**body, "pin": "more"})).status_code == 400
    foreign = {"kind": "source", "label": "999999", "pin": "more"}
    assert (await reader.put(f"{INTEREST}/pins", json=foreign)).status_code == 404


async def test_a_bulk_mark_says_nothing_and_other_acts_do(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    library = await _library(reader, site, harness)
    await _switch_on(reader)
    await reader.post("/api/v1/entries/mark-read", json={"all": True})
    ids = [item["id"] for item in library.values()]
    await reader.patch(f"/api/v1/entries/{ids[0]}", json={"read": True})
    assert (await reader.get(INTEREST)).json()["chosen"] == 0
    await reader.patch(f"/api/v1/entries/{ids[1]}", json={"starred": True})
    await reader.patch(f"/api/v1/entries/{ids[2]}", json={"later": True})
    await reader.post("/api/v1/bookmarks", json={"entry_id": ids[3]})
    await reader.post("/api/v1/highlights", json={"entry_id": ids[4], "quote": "Text"})
    assert (await reader.get(INTEREST)).json()["chosen"] == 4
    assert (await reader.delete(INTEREST)).status_code == 204
    assert (await reader.get(INTEREST)).json()["chosen"] == 0


async def test_reports_are_bounded_and_of_own_entries_only(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    await _library(reader, site, harness)
    await _switch_on(reader)
    assert (await reader.post(f"{INTEREST}/seen", json={"read": ["999999"]})).json() == {"learnt": 0}
    too_many = {"read": [str(number) for number in range(1, 102)]}
    assert (await reader.post(f"{INTEREST}/seen", json=too_many)).status_code == 400
    both = {"read": too_many["read"][:60], "passed": [{"entry_id": "1", "ms": 5}] * 60}
    assert (await reader.post(f"{INTEREST}/seen", json=both)).status_code == 400


async def test_a_list_that_nobody_ranks_costs_nothing(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    library = await _library(reader, site, harness)

    async def cost(url: str) -> int:
        await reader.get(url)
        with counting() as count:
            await reader.get(url)
        return count.value

    plain = await cost("/api/v1/entries?view=unread")
    await _switch_on(reader)
    await _teach(reader, harness, library)
    assert await cost("/api/v1/entries?view=unread") == plain
    assert await cost("/api/v1/entries?view=unread&order=interest&limit=20") <= plain + 6
