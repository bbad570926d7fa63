"""Highlights and notes through the API, on both engines."""

import re
from io import BytesIO
from zipfile import ZipFile

import pytest

from reedbed.domain.times import DAY
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ADDRESS = "/api/v1/highlights"
TEXT = "<p>The heron stands <em>very</em> still.</p><p>Then it strikes.</p>"


async def entry_of(harness: RuntimeHarness, client: Client, site: FeedSite) -> str:
    site.publish("Herons", content=TEXT)
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    return str((await harness.column("SELECT max(id) FROM entries"))[0])


async def test_a_passage_is_kept_with_its_note_and_outlives_the_entry(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    body = {"entry_id": entry, "quote": "stands very still", "prefix": "heron ", "suffix": ".", "note": "Yes"}
    made = await client.post(ADDRESS, json=body)
    assert made.status_code == 201
    address = f"{ADDRESS}/{made.json()['id']}"
    changed = (await client.patch(address, json={"note": "No"})).json()
    assert (changed["quote"], changed["note"]) == ("stands very still", "No")
    await harness.change("DELETE FROM entries")
    kept = (await client.get(address)).json()
    assert (kept["entry_id"], kept["entry_title"], kept["prefix"]) == (None, "Herons", "heron ")
    assert kept["entry_url"].startswith("http://")
    assert (await client.delete(address)).status_code == 204
    assert (await client.get(address)).status_code == 404


@pytest.mark.parametrize("quote", ["stands very still. Then it strikes.", "very still.\n\nThen", "still.Then it"])
async def test_a_selection_over_paragraphs_is_found(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, quote: str
) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    assert (await client.post(ADDRESS, json={"entry_id": entry, "quote": quote})).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"quote": "an egret"}, "quote"),
        ({"quote": "   "}, "quote"),
        ({"quote": "heron" * 2_000}, "quote"),
        ({"quote": "heron", "prefix": "x" * 201}, "prefix"),
        ({"quote": "heron", "note": "x" * 10_001}, "note"),
    ],
)
async def test_what_cannot_be_kept_is_refused_with_its_field(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, wrong: dict[str, str], field: str
) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    refused = await client.post(ADDRESS, json={"entry_id": entry, **wrong})
    assert refused.status_code == 400
    assert refused.json()["error"]["details"] == {"field": field}


async def test_signs_no_database_can_hold_are_left_out(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    body = b'{"entry_id": "%s", "quote": "her\\u0000on", "note": "a\\ud800b"}' % entry.encode()
    made = await client.post(ADDRESS, content=body, headers={"Content-Type": "application/json"})
    assert made.status_code == 201
    assert (made.json()["quote"], made.json()["note"]) == ("heron", "ab")


async def test_nobody_marks_or_sees_what_is_another_users(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    mine, other = await signed_in(), await signed_in("other@example.org")
    entry = await entry_of(harness, mine, site)
    made = (await mine.post(ADDRESS, json={"entry_id": entry, "quote": "heron"})).json()
    assert (await other.post(ADDRESS, json={"entry_id": entry, "quote": "heron"})).status_code == 404
    assert (await other.get(f"{ADDRESS}/{made['id']}")).status_code == 404
    assert (await other.patch(f"{ADDRESS}/{made['id']}", json={"note": "x"})).status_code == 404
    assert (await other.delete(f"{ADDRESS}/{made['id']}")).status_code == 404
    assert (await other.get(ADDRESS, params={"entry_id": entry})).json()["items"] == []


async def test_lists_and_exports(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    for quote, note in (("heron", ""), ("very still", "# not a heading"), ("it strikes", "Quick!")):
        await client.post(ADDRESS, json={"entry_id": entry, "quote": quote, "note": note})
    first = (await client.get(ADDRESS, params={"limit": 2, "entry_id": entry})).json()
    cursor = first["next_cursor"]
    second = (await client.get(ADDRESS, params={"limit": 2, "entry_id": entry, "cursor": cursor})).json()
    quotes = [item["quote"] for item in first["items"] + second["items"]]
    assert (quotes, second["next_cursor"]) == (["it strikes", "very still", "heron"], None)
    assert [item["quote"] for item in (await client.get(f"{ADDRESS}/export")).json()] == quotes
    text = (await client.get(f"{ADDRESS}/export.md")).text
    assert text.count("\n## [Herons](<http://") == 1
    assert "\n> it strikes\n\nQuick!\n" in text


async def test_a_highlight_has_a_color_and_is_found_by_it_and_by_its_words(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    first = (await client.post(ADDRESS, json={"entry_id": entry, "quote": "heron"})).json()
    second = (await client.post(ADDRESS, json={"entry_id": entry, "quote": "strikes", "color": "blue"})).json()
    assert [first["color"], second["color"]] == ["yellow", "blue"]
    changed = (await client.patch(f"{ADDRESS}/{first['id']}", json={"color": "rose"})).json()
    assert (changed["color"], changed["note"]) == ("rose", "")
    changed = (await client.patch(f"{ADDRESS}/{first['id']}", json={"note": "100 % sure"})).json()
    assert (changed["color"], changed["note"]) == ("rose", "100 % sure")
    assert (await client.post(ADDRESS, json={"entry_id": entry, "quote": "heron", "color": "red"})).status_code == 400

    async def quotes(query: str) -> list[str]:
        return [one["quote"] for one in (await client.get(f"{ADDRESS}?{query}")).json()["items"]]

    assert await quotes("color=blue") == ["strikes"]
    assert await quotes("q=STRIKE") == ["strikes"]
    assert await quotes("q=0%20%25%20s") == ["heron"]
    assert await quotes("q=%25&color=blue") == []
    assert b", blue*" in (await client.get(f"{ADDRESS}/export.md")).content


async def test_highlights_are_reviewed_in_turn(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    client = await signed_in()
    entry = await entry_of(harness, client, site)
    ids = [
        (await client.post(ADDRESS, json={"entry_id": entry, "quote": quote})).json()["id"]
        for quote in ("heron", "stands", "strikes")
    ]
    assert (await client.get(f"{ADDRESS}/due")).json() == []
    week = 8 * DAY
    await harness.change(f"UPDATE highlights SET created_at = created_at - {week}")
    assert [one["id"] for one in (await client.get(f"{ADDRESS}/due?limit=2")).json()] == ids[:2]
    reviewed = await client.post(f"{ADDRESS}/{ids[0]}/review")
    assert reviewed.json()["reviewed_at"] is not None
    assert [one["id"] for one in (await client.get(f"{ADDRESS}/due")).json()] == ids[1:]
    other = await signed_in("other@example.org")
    assert (await other.post(f"{ADDRESS}/{ids[1]}/review")).status_code == 404
    assert (await other.get(f"{ADDRESS}/due")).json() == []


@pytest.mark.parametrize("style", ["obsidian", "logseq"])
async def test_notes_for_obsidian_and_logseq(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, style: str
) -> None:
    client = await signed_in()
    site.publish(
        'A "title": with [[brackets]] / and #tags', key="n", content="<p>One line.</p><p>Two *stars* here.</p>"
    )
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    (entry,) = (await client.get("/api/v1/entries")).json()["items"]
    for quote, note in (("One line.", "First\nsecond"), ("Two *stars* here.", "")):
        await client.post(ADDRESS, json={"entry_id": entry["id"], "quote": quote, "note": note})
    answer = await client.get(f"{ADDRESS}/export.zip", params={"style": style})
    with ZipFile(BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        (name,) = (name for name in archive.namelist() if "Deleted" not in name)
        text = archive.read(name).decode()
    folder, _, file = name.partition("/")
    assert folder == {"obsidian": "Reedbed", "logseq": "pages"}[style]
    assert re.fullmatch(r"A title with brackets and tags \(\d+\)\.md", file)
    assert text.index("One line.") < text.index(r"Two \*stars\* here.")
    if style == "obsidian":
        head = text.split("---\n")[1]
        assert 'title: "A \\"title\\": with [[brackets]] / and #tags"\n' in head
        assert re.search(r"> One line\.\n\^h\d+\n\nFirst\nsecond\n", text)
    else:
        assert text.startswith("title:: A ") and "\n- > One line.\n  date:: " in text
        assert "\n  - First\n    second\n" in text
    assert (await client.get(f"{ADDRESS}/export.zip", params={"style": "other"})).status_code in (400, 422)
