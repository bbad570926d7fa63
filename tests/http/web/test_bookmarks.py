"""What a reader keeps: bookmarks, highlights, searches; and what an entry said before."""

import re
from html import unescape

import pytest

from reedbed.store import search
from reedbed.store.search import planner as ways
from reedbed.store.search import postgresql as tsvector
from reedbed.store.search import sqlite as fts5
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE, texts


async def test_a_copy_is_kept_read_and_removed(reading: Client, harness: RuntimeHarness) -> None:
    entry = await _first(harness)
    kept = await reading.post(f"/entry/{entry}/bookmark", data={"value": "true", "next": "/all"})
    assert (kept.status_code, kept.headers["location"]) == (303, "/all")
    (bookmark,) = await harness.column("SELECT id FROM bookmarks")
    assert "Herons 1" in (await reading.get("/bookmarks")).text
    assert "Grey birds in the reeds, 1." in (await reading.get(f"/bookmarks/{bookmark}")).text
    assert "Remove the bookmark" in (await reading.get(f"/entry/{entry}")).text
    await reading.post(f"/entry/{entry}/bookmark", data={"value": "false"}, headers=HTMX)
    assert (await reading.get(f"/bookmarks/{bookmark}")).status_code == 404


async def test_bookmarks_come_in_pages(reading: Client, harness: RuntimeHarness) -> None:
    for number in range(53):
        await harness.change(
            "INSERT INTO bookmarks (user_id, url, title, content, feed_title, created_at)"
            " VALUES (:user, :url, :title, '', 'F', 1)",
            user=reading.user_id,
            url=f"https://a.example/{number}",
            title=f"Kept {number}",
        )
    first = (await reading.get("/bookmarks")).text
    assert "1 to 50 of 53" in first and "Kept 52" in first
    (rest,) = set(texts(first, 'rel="next"')) and [first.split('rel="next" href="')[1].split('"')[0]]
    second = (await reading.get(rest.replace("&amp;", "&"))).text
    assert "51 to 53 of 53" in second and ">Kept 0<" in second
    assert "1 to 50" in (await reading.get("/bookmarks?before=x&seen=-1")).text


async def test_a_passage_is_highlighted_noted_and_let_go(reading: Client, harness: RuntimeHarness) -> None:
    entry = await _first(harness)
    made = await reading.post(f"/entry/{entry}/highlights", data={"quote": "in the reeds"}, headers=HTMX)
    assert made.status_code == 200 and 'id="highlights"' in made.text and "in the reeds" in made.text
    (highlight,) = await harness.column("SELECT id FROM highlights")
    noted = await reading.post(f"/highlights/{highlight}", data={"note": "nice"}, headers=HTMX)
    assert ">nice</textarea>" in noted.text
    assert "nice" in (await reading.get("/highlights")).text
    gone = await reading.post(
        f"/highlights/{highlight}", data={"note": "nice", "removed": "true", "next": f"/entry/{entry}"}
    )
    assert gone.headers["location"] == f"/entry/{entry}"
    assert await harness.column("SELECT id FROM highlights") == []


async def test_words_that_are_not_in_the_entry_cannot_be_highlighted(reading: Client, harness: RuntimeHarness) -> None:
    entry = await _first(harness)
    refused = await reading.post(f"/entry/{entry}/highlights", data={"quote": "elsewhere"}, headers=HTMX)
    assert refused.status_code == 400


async def test_what_an_entry_said_before_is_shown_with_the_changes(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    entry = await _first(harness)
    untouched = (await reading.get(f"/entry/{entry}/versions")).text
    assert "Nothing was changed since it came." in untouched
    site.publish("Herons 1 and egrets", key="1", content="<p>White birds in the reeds, 1.</p>")
    await harness.check_anyway((await harness.column("SELECT id FROM feeds"))[0])
    changed = (await reading.get(f"/entry/{entry}/versions")).text
    assert "<del>Grey" in changed and "<ins>White" in changed and "<ins> and egrets</ins>" in changed
    first = (await reading.get(f"/entry/{entry}/versions?version=1")).text
    assert "The entry as it came." in first
    assert (await reading.get(f"/entry/{entry}/versions?version=9")).status_code == 404


async def test_what_changed_is_read_in_paragraphs(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    entry = await _first(harness)
    site.publish("Herons 1", key="1", content="<p>Grey birds in the reeds, 1.</p><p>And white ones.</p>")
    await harness.check_anyway((await harness.column("SELECT id FROM feeds"))[0])
    changed = (await reading.get(f"/entry/{entry}/versions")).text
    assert "<p>Grey birds in the reeds, 1.</p><p><ins>And white ones.</ins></p>" in changed


async def test_a_search_marks_its_words_and_can_be_kept(reading: Client, harness: RuntimeHarness) -> None:
    found = (await reading.get("/search", params={"q": "grey reeds"})).text
    assert found.count('class="row"') == 3 and "<mark>Grey</mark> birds in the <mark>reeds</mark>" in found
    kept = await reading.post("/searches", data={"query": "grey", "name": "Grey ones"})
    address = kept.headers["location"]
    saved = (await reading.get(address)).text
    assert saved.count('class="row"') == 3 and f'href="{address}" aria-current="page"' in saved
    assert "Grey ones" in (await reading.get("/unread")).text
    assert '<span class="chip">3</span>' in (await reading.get("/searches")).text
    await reading.post(f"/searches/{address.rpartition('/')[2]}/delete")
    assert (await reading.get(address)).status_code == 404


async def test_an_entry_opens_beside_its_search(reading: Client, harness: RuntimeHarness) -> None:
    entry = await _first(harness)
    page = (await reading.get(f"/search/entry/{entry}?q=grey&order=relevance")).text
    assert "Best first" in page and "Grey birds in the reeds, 1." in page
    assert f'href="/search/entry/{entry}?q=grey&amp;order=relevance"' in page
    part = await reading.get(f"/search/entry/{entry}?q=grey", headers={**HTMX, "HX-Target": "article"})
    assert "<html" not in part.text and 'class="read"' in part.text


async def test_a_search_that_cannot_be_read_says_why_and_keeps_the_words(reading: Client) -> None:
    refused = await reading.get("/search", params={"q": "after:someday"})
    assert refused.status_code == 400 and 'value="after:someday"' in refused.text
    assert "That could not be searched" in refused.text
    assert "Nothing found" in (await reading.get("/search?q=zebra")).text
    assert "What are you looking for?" in (await reading.get("/search")).text
    connective = await reading.get("/search", params={"q": "AND"})
    assert connective.status_code == 400 and "AND and OR connect words." in connective.text
    assert (await reading.get("/api/v1/entries", params={"q": "OR"})).status_code == 400


async def test_a_misspelt_state_names_the_one_that_was_meant(reading: Client) -> None:
    for text, meant in (("is:unred", "is:unread"), ("is:starrd", "is:starred")):
        page = (await reading.get("/search", params={"q": text})).text
        assert f">{meant}</a>?" in page, "the link of what was meant"
        found = (await reading.get("/api/v1/entries", params={"q": text})).json()
        assert (found["did_you_mean"], found["unknown"]) == (meant, [text])


async def test_a_search_that_has_cost_enough_offers_to_go_on(reading: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_LISTED", 1)
    monkeypatch.setattr(ways, "MIN_STEP", 1)
    for engine in (fts5, tsvector):
        monkeypatch.setattr(engine, "BUDGET", 1.0)
        monkeypatch.setattr(engine, "FIRST_HITS", 1)
    page = (await reading.get("/search", params={"q": "grey is:read"})).text
    assert "Nothing found so far" in page
    for _ in range(3):
        if "Nothing found so far" not in page:
            break
        address = re.findall(r'<div class="acts">\s*<a class="btn" href="([^"]+)', page)[0]
        page = (await reading.get(unescape(address))).text
    assert "Try fewer words" in page
    words = (await reading.get("/add", params={"url": "grey is:read"}, headers=HTMX)).text
    assert "Search for these words" in words


async def test_a_found_title_cannot_bring_markup(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("<img src=x> herons & more", key="evil", content="<p>x</p>")
    await harness.check_anyway((await harness.column("SELECT id FROM feeds"))[0])
    page = (await reading.get("/search?q=herons")).text
    assert "<img src=x>" not in page


async def test_a_search_name_that_is_taken_keeps_what_was_typed(reading: Client) -> None:
    await reading.post("/searches", data={"query": "grey", "name": "Mine"})
    again = await reading.post("/searches", data={"query": "white", "name": "Mine"})
    assert again.status_code == 409
    assert 'value="white"' in again.text and 'value="Mine"' in again.text


async def test_a_search_that_cannot_be_kept_says_why(reading: Client) -> None:
    refused = await reading.post("/searches", data={"query": "after:someday", "name": "Later"})
    assert refused.status_code == 400 and 'value="after:someday"' in refused.text
    (why,) = texts(refused.text)
    assert '"someday" is not a date' in why


async def test_saved_searches_are_renamed_and_put_in_order(reading: Client, harness: RuntimeHarness) -> None:
    for name in ("One", "Two", "Three"):
        await reading.post("/searches", data={"query": "grey", "name": name})
    in_order = "SELECT name FROM searches ORDER BY position"
    (one, two, _) = await harness.column("SELECT id FROM searches ORDER BY id")
    assert (await reading.post(f"/searches/{two}", data={"name": "Second"})).status_code == 303
    await reading.post(f"/searches/{two}/move", data={"to": "up"})
    assert await harness.column(in_order) == ["Second", "One", "Three"]
    await reading.post(f"/searches/{one}/move", data={"to": "down"})
    await reading.post(f"/searches/{one}/move", data={"to": "down"})
    assert await harness.column(in_order) == ["Second", "Three", "One"]
    refused = await reading.post(f"/searches/{one}", data={"name": "Second"})
    assert refused.status_code == 409 and refused.text.count('value="Second"') == 2
    assert "aria-invalid" in refused.text


async def test_tags_are_renamed_and_deleted_and_entries_stay(reading: Client, harness: RuntimeHarness) -> None:
    entry = await _first(harness)
    await reading.post(f"/entry/{entry}/tags", data={"new_tag": "birds, water"})
    page = (await reading.get("/searches")).text
    assert 'value="birds"' in page and 'href="/tag/water"' in page
    (birds,) = await harness.column("SELECT id FROM tags WHERE name = 'birds'")
    refused = await reading.post(f"/searches/tags/{birds}", data={"name": "water"})
    assert refused.status_code == 409 and "You have a tag of this name already" in refused.text
    assert (await reading.post(f"/searches/tags/{birds}", data={"name": "Herons"})).status_code == 303
    assert await harness.column("SELECT name FROM tags ORDER BY name") == ["Herons", "water"]
    assert (await reading.post(f"/searches/tags/{birds}/delete")).status_code == 303
    assert await harness.column("SELECT name FROM tags") == ["water"]
    assert (await reading.get(f"/entry/{entry}")).status_code == 200


async def test_nobody_reaches_what_another_has_kept(
    reading: Client, by_cookie: SignIn, harness: RuntimeHarness
) -> None:
    entry = await _first(harness)
    await reading.post(f"/entry/{entry}/bookmark", data={"value": "true"})
    await reading.post(f"/entry/{entry}/highlights", data={"quote": "reeds"})
    saved = (await reading.post("/searches", data={"query": "grey"})).headers["location"]
    (bookmark,) = await harness.column("SELECT id FROM bookmarks")
    (highlight,) = await harness.column("SELECT id FROM highlights")
    await reading.post(f"/entry/{entry}/tags", data={"new_tag": "birds"})
    (tag,) = await harness.column("SELECT id FROM tags")
    search = saved.rpartition("/")[2]
    stranger = await by_cookie("stranger@example.org")
    stranger.headers.update(OWN_PAGE)
    for path in (f"/bookmarks/{bookmark}", saved, f"/entry/{entry}/versions", f"/search/entry/{entry}?q=grey"):
        assert (await stranger.get(path)).status_code == 404, path
    for path, fields in (
        (f"/bookmarks/{bookmark}/delete", {}),
        (f"/highlights/{highlight}", {"note": "x"}),
        (f"/highlights/{highlight}/delete", {}),
        (f"/searches/{search}", {"name": "x"}),
        (f"/searches/{search}/move", {"to": "up"}),
        (f"/searches/{search}/delete", {}),
        (f"/searches/tags/{tag}", {"name": "x"}),
        (f"/searches/tags/{tag}/delete", {}),
        (f"/entry/{entry}/bookmark", {"value": "true"}),
        (f"/entry/{entry}/bookmark", {"value": "false"}),
        (f"/entry/{entry}/highlights", {"quote": "reeds"}),
    ):
        assert (await stranger.post(path, data=fields)).status_code == 404, path
    assert "Grey" not in (await stranger.get("/search?q=grey")).text.replace('value="grey"', "")


async def _first(harness: RuntimeHarness) -> int:
    return (await harness.column("SELECT id FROM entries ORDER BY id"))[0]
