"""Folders: made, renamed, moved by keys and by dragging, deleted without losing a feed."""

import re

from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE, texts


async def test_folders_move_up_down_in_and_out(reader: Client, harness: RuntimeHarness) -> None:
    ids = await _make(reader, harness, "A", "B", "C")
    a, b, c = ids["A"], ids["B"], ids["C"]
    await _move(reader, c, to="up")
    assert await _shape(reader) == ["0 A", "0 C", "0 B"]
    await _move(reader, c, to="in")
    assert await _shape(reader) == ["0 A", "1 C", "0 B"]
    await _move(reader, b, to="in")
    assert await _shape(reader) == ["0 A", "1 C", "1 B"]
    await _move(reader, c, to="down")
    assert await _shape(reader) == ["0 A", "1 B", "1 C"]
    await _move(reader, b, to="out")
    assert await _shape(reader) == ["0 A", "1 C", "0 B"]
    await _move(reader, c, before=str(a))
    assert await _shape(reader) == ["0 C", "0 A", "0 B"]
    await _move(reader, a, parent_id=str(b))
    assert await _shape(reader) == ["0 C", "0 B", "1 A"]


async def test_a_move_answers_with_the_page_as_it_now_is(reader: Client, harness: RuntimeHarness) -> None:
    ids = await _make(reader, harness, "A", "B")
    answer = await reader.post(f"/folders/{ids['B']}/move", data={"to": "up"}, headers=HTMX)
    assert answer.status_code == 200 and answer.text.index(">B<") < answer.text.index(">A<")
    assert (await reader.post(f"/folders/{ids['A']}/move", data={"to": "up", "next": "/folders"})).status_code == 303


async def test_the_tree_alone_shows_what_has_changed(reader: Client, harness: RuntimeHarness) -> None:
    ids = await _make(reader, harness, "A")
    tree = (await reader.get("/sidebar", params={"here": f"/folder/{ids['A']}"}, headers=HTMX)).text
    assert "<html" not in tree and 'id="tree"' in tree
    assert f'href="/folder/{ids["A"]}" aria-current="page"' in tree


async def test_a_folder_cannot_lie_inside_itself(reader: Client, harness: RuntimeHarness) -> None:
    ids = await _make(reader, harness, "A", "B")
    await _move(reader, ids["B"], to="in")
    refused = await reader.post(f"/folders/{ids['A']}/move", data={"parent_id": str(ids["B"])})
    assert refused.status_code == 400 and "A folder cannot lie inside itself" in texts(refused.text)
    assert await _shape(reader) == ["0 A", "1 B"]


async def test_a_name_that_is_taken_stays_in_the_field(reader: Client, harness: RuntimeHarness) -> None:
    ids = await _make(reader, harness, "A", "B")
    made = await reader.post("/folders", data={"name": "A"})
    assert made.status_code == 409 and 'name="name" type="text" value="A"' in made.text
    renamed = await reader.post(f"/folders/{ids['B']}", data={"name": "A"})
    assert renamed.status_code == 409 and "A folder with this name already exists" in texts(renamed.text)
    empty = await reader.post("/folders", data={"name": " "})
    assert empty.status_code == 400 and texts(empty.text) == ["Folder name is required"]


async def test_deleting_a_folder_moves_its_feeds_up(reading: Client, harness: RuntimeHarness) -> None:
    ids = await _make(reading, harness, "A")
    await harness.change("UPDATE subscriptions SET folder_id = :folder", folder=ids["A"])
    await reading.post(f"/folders/{ids['A']}/delete")
    assert await _shape(reading) == []
    assert await harness.column("SELECT folder_id FROM subscriptions") == [None]


async def test_another_users_folder_is_not_found(reader: Client, by_cookie: SignIn, harness: RuntimeHarness) -> None:
    ids = await _make(reader, harness, "A")
    stranger = await by_cookie("stranger@example.org")
    for path, fields in (("", {"name": "Mine"}), ("/delete", {}), ("/move", {"to": "up"})):
        answer = await stranger.post(f"/folders/{ids['A']}{path}", data=fields, headers=OWN_PAGE)
        assert answer.status_code == 404
    assert (await stranger.get(f"/folder/{ids['A']}")).status_code == 404
    assert await _shape(reader) == ["0 A"]


async def _make(reader: Client, harness: RuntimeHarness, *names: str) -> dict[str, int]:
    for name in names:
        assert (await reader.post("/folders", data={"name": name})).status_code == 303
    return {row[0]: row[1] for row in await harness.rows("SELECT name, id FROM folders")}


async def _move(reader: Client, folder_id: int, **fields: str) -> None:
    answer = await reader.post(f"/folders/{folder_id}/move", data=fields)
    assert answer.status_code == 303, answer.text


async def _shape(reader: Client) -> list[str]:
    page = (await reader.get("/folders")).text
    lines = re.findall(r'data-depth="(\d)" data-folder="\d+"[^>]*aria-label="([^"]*)"', page)
    return [f"{depth} {name}" for depth, name in lines]
