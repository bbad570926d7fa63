"""Entries through the API: lists, states, marking many and taking it back."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

import pytest

from reedbed.domain.times import HOUR
from reedbed.store.engine.database import counting
from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness
from tests.store.library import Library


@dataclass
class Desk:
    """A reader at the API, and the feeds behind it."""

    client: Client
    library: Library
    harness: RuntimeHarness

    @property
    def user_id(self) -> int:
        return self.client.user_id

    async def feed_with(self, count: int, **place: Any) -> tuple[int, list[int]]:
        """A followed feed and its entries, oldest first."""
        feed = await self.library.feed()
        await self.library.follow(self.user_id, feed, **place)
        return feed, [await self.library.entry(feed) for _ in range(count)]

    async def ids(self, **query: Any) -> list[int]:
        answer = await self.client.get("/api/v1/entries", params=query)
        assert answer.status_code == 200, answer.text
        return [int(item["id"]) for item in answer.json()["items"]]

    async def mark(self, **body: Any) -> dict[str, Any]:
        answer = await self.client.post("/api/v1/entries/mark-read", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def undo(self, token: str) -> int:
        return (await self.client.post("/api/v1/undo", json={"undo": token})).status_code

    async def unread(self) -> int:
        return (await self.client.get("/api/v1/counts")).json()["all"]


@pytest.fixture
async def desk(signed_in: SignIn, harness: RuntimeHarness) -> Desk:
    return Desk(await signed_in(), Library(harness.runtime.db), harness)


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("view", ["unread", "all"])
async def test_a_cursor_with_any_sign_changed_is_another_place_or_refused(desk: Desk, view: str, order: str) -> None:
    await desk.feed_with(3)
    query = {"limit": 1, "order": order, "view": view}
    page = (await desk.client.get("/api/v1/entries", params=query)).json()
    raw = urlsafe_b64decode(page["next_cursor"])
    for place in range(len(raw)):
        for mask in (0x01, 0x80, 0xFF):
            changed = raw[:place] + bytes([raw[place] ^ mask]) + raw[place + 1 :]
            cursor = urlsafe_b64encode(changed).decode()
            answer = await desk.client.get("/api/v1/entries", params={**query, "cursor": cursor})
            assert answer.status_code in (200, 400), (place, mask, answer.text)


async def test_a_list_gives_every_entry_once_page_by_page_in_both_orders(desk: Desk) -> None:
    _, entries = await desk.feed_with(7)
    for order, expected in (("newest", entries[::-1]), ("oldest", entries)):
        seen: list[int] = []
        cursor: str | None = None
        while True:
            query = {"view": "unread", "order": order, "limit": 3, **({"cursor": cursor} if cursor else {})}
            page = (await desk.client.get("/api/v1/entries", params=query)).json()
            seen += [int(item["id"]) for item in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == expected


async def test_an_item_has_no_body_and_everything_a_list_shows(desk: Desk) -> None:
    feed, (entry,) = await desk.feed_with(1)
    (item,) = (await desk.client.get("/api/v1/entries")).json()["items"]
    assert item["id"] == str(entry)
    assert item["feed_id"] == str(feed)
    assert (item["read"], item["starred"], item["later"], item["tags"]) == (False, False, False, [])
    assert item["sort_at"].endswith("Z")
    assert item["one_line_summary"] is None
    assert "content" not in item


async def test_one_entry_has_its_content(desk: Desk) -> None:
    _, (entry,) = await desk.feed_with(1)
    answer = (await desk.client.get(f"/api/v1/entries/{entry}")).json()
    assert answer["content"].startswith("<p>Body")
    assert answer["attachments"] == []


async def test_a_page_takes_at_most_four_statements(desk: Desk) -> None:
    folder = await desk.library.folder(desk.user_id)
    feed, entries = await desk.feed_with(5, folder=folder)
    await desk.client.patch(f"/api/v1/entries/{entries[0]}", json={"tags": ["red"], "starred": True})
    await desk.client.get("/api/v1/entries")  # the caller is known from here on
    for query in (
        {"view": "unread"},
        {"view": "all"},
        {"view": "starred"},
        {"view": "later"},
        {"view": "history"},
        {"view": "unread", "feed_id": feed},
        {"view": "unread", "folder_id": folder},
        {"view": "all", "folder_id": folder, "tag": "red"},
    ):
        with counting() as count:
            assert (await desk.client.get("/api/v1/entries", params=query)).status_code == 200
        assert count.value <= 4, query
    with counting() as count:
        await desk.client.get("/api/v1/counts")
    assert count.value <= 4


async def test_states_are_set_and_never_toggled(desk: Desk) -> None:
    _, (entry,) = await desk.feed_with(1)
    for _ in range(2):
        answer = await desk.client.patch(
            f"/api/v1/entries/{entry}", json={"read": True, "starred": True, "later": True, "tags": ["b", "a", " a "]}
        )
        states = answer.json()
        assert (states["read"], states["starred"], states["later"]) == (True, True, True)
        assert states["tags"] == ["a", "b"]
    assert await desk.ids(view="starred") == await desk.ids(view="later") == await desk.ids(tag="a") == [entry]
    assert await desk.ids(view="history") == [entry]
    assert await desk.ids(view="unread") == []
    await desk.client.patch(f"/api/v1/entries/{entry}", json={"read": False, "starred": False})
    assert await desk.ids(view="unread") == [entry]
    assert await desk.ids(view="starred") == []


async def test_a_change_reaches_the_other_devices(desk: Desk) -> None:
    _, (entry,) = await desk.feed_with(1)
    await desk.client.patch(f"/api/v1/entries/{entry}", json={"starred": True})
    (hint,) = desk.harness.heard("state_changed")
    assert hint.user_id == desk.user_id
    assert hint.data == {"ids": [str(entry)], "starred": True}
    assert desk.harness.heard("counts")


async def test_everything_is_marked_read_and_comes_back(desk: Desk) -> None:
    _, entries = await desk.feed_with(4)
    await desk.client.patch(f"/api/v1/entries/{entries[0]}", json={"read": True})
    marked = await desk.mark(all=True)
    assert marked["marked"] == 3
    assert await desk.unread() == 0
    assert await desk.undo(marked["undo"]) == 200
    assert await desk.ids(view="unread", order="oldest") == entries[1:]
    assert await desk.undo(marked["undo"]) == 404


async def test_what_arrived_after_the_reader_looked_stays_unread(desk: Desk) -> None:
    feed, entries = await desk.feed_with(2)
    fresh = await desk.library.entry(feed)
    assert (await desk.mark(feed_id=str(feed), up_to=str(entries[-1])))["marked"] == 2
    assert await desk.ids(view="unread") == [fresh]


async def test_a_folder_is_marked_with_its_subfolders(desk: Desk) -> None:
    outer = await desk.library.folder(desk.user_id)
    inner = await desk.library.folder(desk.user_id, outer)
    await desk.feed_with(2, folder=outer)
    await desk.feed_with(3, folder=inner)
    _, outside = await desk.feed_with(1)
    assert (await desk.mark(folder_id=str(outer)))["marked"] == 5
    assert await desk.ids(view="unread") == outside


async def test_above_and_below_follow_the_order_of_the_list(desk: Desk) -> None:
    _, (first, second, third) = await desk.feed_with(3)
    marked = await desk.mark(view="unread", order="newest", above=str(second))
    assert await desk.ids(view="unread", order="oldest") == [first, second]
    await desk.undo(marked["undo"])
    await desk.mark(view="unread", order="oldest", above=str(second))
    assert await desk.ids(view="unread", order="oldest") == [second, third]
    await desk.mark(view="unread", order="newest", below=str(third))
    assert await desk.ids(view="unread") == [third]


async def test_ids_and_tags_are_marked_read_and_unread(desk: Desk) -> None:
    _, (first, second) = await desk.feed_with(2)
    await desk.client.patch(f"/api/v1/entries/{first}", json={"tags": ["red"]})
    assert (await desk.mark(tag="red"))["marked"] == 1
    assert (await desk.mark(ids=[str(first), str(second)]))["marked"] == 1
    back = await desk.mark(ids=[str(first)], read=False)
    assert back["marked"] == 1
    assert await desk.ids(view="unread") == [first]
    await desk.undo(back["undo"])
    assert await desk.unread() == 0


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
async def test_a_moment_outside_the_calendar_is_refused(desk: Desk, moment: str) -> None:
    marked = await desk.client.post("/api/v1/entries/mark-read", json={"all": True, "older_than": moment})
    listed = await desk.client.get("/api/v1/entries", params={"since": moment})
    assert (marked.status_code, listed.status_code) == (400, 400)


async def test_what_is_older_than_a_moment_is_marked_read(desk: Desk) -> None:
    feed, _ = await desk.feed_with(0)
    old = await desk.library.entry(feed, sort_at=1_000_000)
    new = await desk.library.entry(feed, sort_at=9_000_000_000)
    assert (await desk.mark(all=True, older_than="1970-01-02T00:00:00Z"))["marked"] == 1
    assert await desk.ids(view="unread") == [new]
    assert await desk.ids(since="1970-01-02T00:00:00Z") == [new]
    assert await desk.ids(view="all") == [new, old]


async def test_an_older_act_waits_for_the_newer_one(desk: Desk) -> None:
    feed, _ = await desk.feed_with(2)
    older = await desk.mark(all=True)
    await desk.library.entry(feed)
    newer = await desk.mark(all=True)
    assert await desk.undo(older["undo"]) == 409
    assert await desk.undo(newer["undo"]) == 200
    assert await desk.undo(older["undo"]) == 200
    assert await desk.unread() == 3


async def test_an_undo_is_good_for_an_hour(desk: Desk) -> None:
    await desk.feed_with(1)
    marked = await desk.mark(all=True)
    desk.harness.clock.ahead += HOUR
    assert await desk.undo(marked["undo"]) == 404


async def test_versions_show_what_changed(desk: Desk) -> None:
    _, (entry,) = await desk.feed_with(1)
    await desk.harness.change(
        "INSERT INTO entry_versions (entry_id, version, title, content, change_hash, replaced_at)"
        " VALUES (:id, 1, 'Old title', '<p>Old words</p>', 'x', 5)",
        id=entry,
    )
    await desk.harness.change("UPDATE entries SET version = 2 WHERE id = :id", id=entry)
    current, before = (await desk.client.get(f"/api/v1/entries/{entry}/versions")).json()["items"]
    assert (current["version"], current["replaced_at"]) == (2, None)
    assert {"kind": "removed", "text": "Old words"} in [
        {**piece, "text": piece["text"].strip()} for piece in current["text_changes"]
    ]
    assert before["title"] == "Old title"


async def test_a_starred_entry_stays_after_unsubscribing(desk: Desk) -> None:
    feed, (kept, gone) = await desk.feed_with(2)
    await desk.client.patch(f"/api/v1/entries/{kept}", json={"starred": True})
    await desk.library.leave(desk.user_id, feed)
    assert await desk.ids(view="all") == []
    assert await desk.ids(view="starred") == [kept]
    assert (await desk.client.get(f"/api/v1/entries/{kept}")).status_code == 200
    assert (await desk.client.get(f"/api/v1/entries/{gone}")).status_code == 404
    assert (await desk.client.patch(f"/api/v1/entries/{kept}", json={"starred": False})).status_code == 200
    assert (await desk.client.get(f"/api/v1/entries/{kept}")).status_code == 404


async def test_nobody_sees_or_changes_what_is_not_theirs(desk: Desk, signed_in: SignIn) -> None:
    folder = await desk.library.folder(desk.user_id)
    feed, (entry,) = await desk.feed_with(1, folder=folder)
    marked = await desk.mark(all=True)
    tag = (await desk.client.post("/api/v1/tags", json={"name": "mine"})).json()["id"]
    other = await signed_in("other@example.org")
    for answer in (
        await other.get(f"/api/v1/entries/{entry}"),
        await other.get(f"/api/v1/entries/{entry}/versions"),
        await other.patch(f"/api/v1/entries/{entry}", json={"starred": True}),
        await other.get("/api/v1/entries", params={"feed_id": feed}),
        await other.get("/api/v1/entries", params={"folder_id": folder}),
        await other.post("/api/v1/entries/mark-read", json={"feed_id": str(feed)}),
        await other.post("/api/v1/entries/mark-read", json={"folder_id": str(folder)}),
        await other.post("/api/v1/entries/mark-read", json={"above": str(entry)}),
        await other.post("/api/v1/undo", json={"undo": marked["undo"]}),
        await other.patch(f"/api/v1/tags/{tag}", json={"name": "yours"}),
        await other.delete(f"/api/v1/tags/{tag}"),
    ):
        assert answer.status_code == 404, answer.request.url
    answer = await other.post("/api/v1/entries/mark-read", json={"ids": [str(entry)]})
    assert answer.json()["marked"] == 0


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "nonsense"},
        {"cursor": "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
        {"view": "everything"},
        {"order": "sideways"},
        {"limit": "0"},
        {"limit": "201"},
        {"feed_id": "x"},
        {"feed_id": "99999999999999999999"},
        {"since": "yesterday"},
    ],
)
async def test_a_question_that_makes_no_sense_is_400(desk: Desk, query: dict[str, str]) -> None:
    answer = await desk.client.get("/api/v1/entries", params=query)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "invalid"


async def test_a_cursor_of_another_list_is_refused(desk: Desk) -> None:
    await desk.feed_with(3)
    page = (await desk.client.get("/api/v1/entries", params={"limit": 1})).json()
    query = {"limit": 1, "cursor": page["next_cursor"], "view": "unread"}
    assert (await desk.client.get("/api/v1/entries", params=query)).status_code == 400


@pytest.mark.parametrize(
    "body", [{}, {"up_to": "5"}, {"ids": ["x"]}, {"above": "1", "below": "2"}, {"view": "history"}]
)
async def test_a_mark_that_says_nothing_is_400(desk: Desk, body: dict[str, Any]) -> None:
    answer = await desk.client.post("/api/v1/entries/mark-read", json=body)
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize("id", ["0", "-1", "x", "99999999999999999999", "4503599627370496"])
async def test_an_impossible_id_is_404(desk: Desk, id: str) -> None:
    assert (await desk.client.get(f"/api/v1/entries/{id}")).status_code == 404
    assert (await desk.client.patch(f"/api/v1/entries/{id}", json={"read": True})).status_code == 404


async def test_counts_by_subscription_folder_and_tag(desk: Desk) -> None:
    outer = await desk.library.folder(desk.user_id)
    inner = await desk.library.folder(desk.user_id, outer)
    feed, (entry, _) = await desk.feed_with(2, folder=inner)
    await desk.client.patch(f"/api/v1/entries/{entry}", json={"tags": ["red"], "later": True})
    counted = (await desk.client.get("/api/v1/counts")).json()
    assert counted["all"] == 2
    assert counted["feeds"] == {str(feed): 2}
    assert list(counted["subscriptions"].values()) == [2]
    assert counted["folders"] == {str(outer): 2, str(inner): 2}
    assert counted["tags"] == {"red": 1}
    assert (counted["starred"], counted["later"]) == (0, 1)


async def test_tags_are_made_renamed_and_deleted(desk: Desk) -> None:
    _, (entry,) = await desk.feed_with(1)
    made = await desk.client.post("/api/v1/tags", json={"name": "  red  "})
    assert (made.status_code, made.json()["name"]) == (201, "red")
    assert (await desk.client.post("/api/v1/tags", json={"name": "red"})).status_code == 409
    assert (await desk.client.post("/api/v1/tags", json={"name": " "})).status_code == 400
    await desk.client.patch(f"/api/v1/entries/{entry}", json={"tags": ["red", "blue"]})
    address = f"/api/v1/tags/{made.json()['id']}"
    assert (await desk.client.patch(address, json={"name": "blue"})).status_code == 409
    renamed = (await desk.client.patch(address, json={"name": "green"})).json()
    assert (renamed["name"], renamed["entries"], renamed["unread"]) == ("green", 1, 1)
    assert (await desk.client.delete(address)).status_code == 204
    listed = (await desk.client.get("/api/v1/tags")).json()["items"]
    assert [tag["name"] for tag in listed] == ["blue"]
