"""The endpoints of stories: JSON for programs, and the page."""

from collections.abc import AsyncIterator

import pytest

from reedbed.domain.ai import Usage
from reedbed.domain.framing import SCORES, Analysis, Score
from reedbed.domain.search.indexing import search_words
from reedbed.domain.summaries import BUILT_IN, EXTRACT, Summary
from reedbed.services.runtime import Runtime
from reedbed.services.stories import StoryGrouper
from reedbed.store import search, summaries
from reedbed.store.engine.database import counting
from reedbed.store.framing import analyses
from reedbed.store.framing.analyses import GeneratedAnalysis
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness, run

FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}
TITLES = ("Council shuts Marrowby swing bridge", "Marrowby swing bridge shut by council")


class Told:
    def __init__(self, entry_ids: list[int], story_id: str) -> None:
        self.entry_ids = entry_ids
        self.story = f"/api/v1/stories/{story_id}"
        self.page = f"/stories/{story_id}"


@pytest.fixture
async def told(reader: Client, harness: RuntimeHarness, runtime: Runtime) -> AsyncIterator[Told]:
    ids: list[int] = []
    for number, title in enumerate(TITLES):
        feed_id = await harness.follow(f"http://127.0.0.1:9/{number}.xml", user_id=reader.user_id)
        async with runtime.db.write() as tx:
            rows = await run(
                tx,
                "INSERT INTO entries (feed_id, guid, title, change_hash, fetched_at, sort_at, summary) "
                "VALUES (:feed, 'g', :title, 'x', :at, :at, '') RETURNING id",
                feed=feed_id,
                title=title,
                at=runtime.now(),
            )
            ids.append(rows[0][0])
            await unread.fan_out(tx, [Arrival(feed_id, [ids[-1]])])
    await StoryGrouper().group_new(runtime)
    listed = (await reader.get("/api/v1/stories")).json()
    yield Told(ids, listed["items"][0]["id"])


async def test_the_list_names_sources_and_counts(reader: Client, told: Told) -> None:
    listed = (await reader.get("/api/v1/stories")).json()
    (item,) = listed["items"]
    assert (item["feeds"], item["entries"], item["unread"]) == (2, 2, 2)
    assert [one["title"] for one in item["sources"]] == list(TITLES)
    assert listed["next_cursor"] is None
    assert (await reader.get("/api/v1/stories", params={"cursor": "x"})).status_code == 400
    assert (await reader.get("/api/v1/stories", params={"limit": "0"})).status_code == 400


async def test_one_story_shows_each_outlet(reader: Client, told: Told) -> None:
    story = (await reader.get(told.story)).json()
    assert [one["id"] for one in story["outlets"]] == [str(id_) for id_ in told.entry_ids]
    assert story["outlets"][0]["first_seen_at"] and story["set_apart"] == []
    assert (await reader.get("/api/v1/stories/999999")).status_code == 404


async def test_an_outlet_has_the_line_that_lists_show(reader: Client, harness: RuntimeHarness, told: Told) -> None:
    variant = BUILT_IN
    line = Summary("A paragraph.", "The bridge is shut.", EXTRACT, "en")
    async with harness.runtime.db.write() as tx:
        made = summaries.GeneratedSummary("key", "hash", variant.name, line, Usage())
        await summaries.save(tx, made, harness.runtime.now())
        await summaries.attach(tx, told.entry_ids[0], variant, "key", version=1, of_full=False)
    lines = [one["one_line_summary"] for one in (await reader.get(told.story)).json()["outlets"]]
    assert lines == ["The bridge is shut.", None]


async def test_marked_read_and_undone(reader: Client, told: Told) -> None:
    marked = (await reader.post(f"{told.story}/mark-read")).json()
    assert marked["marked"] == 2
    assert (await reader.get("/api/v1/stories", params={"unread": "true"})).json()["items"] == []
    assert (await reader.post("/api/v1/undo", json={"undo": marked["undo"]})).status_code == 200
    assert (await reader.get(told.story)).json()["unread"] == 2
    assert (await reader.post("/api/v1/stories/mark-read")).json()["marked"] == 2
    assert (await reader.post(f"{told.story}/mark-read", json={"read": False})).json()["marked"] == 2


async def test_joined_and_separated(reader: Client, told: Told, runtime: Runtime, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow("http://127.0.0.1:9/7.xml", user_id=reader.user_id)
    async with runtime.db.write() as tx:
        rows = await run(
            tx,
            "INSERT INTO entries (feed_id, guid, title, change_hash, fetched_at, sort_at, summary) "
            "VALUES (:feed, 'lone', 'A lonely report', 'x', :at, :at, '') RETURNING id",
            feed=feed_id,
            at=runtime.now(),
        )
    lone = rows[0][0]
    joined = await reader.post("/api/v1/stories/join", json={"entry_ids": [str(told.entry_ids[0]), str(lone)]})
    story = (await reader.get(f"/api/v1/stories/{joined.json()['id']}")).json()
    assert len(story["outlets"]) == 3
    assert story["joined"] == [{"id": str(lone), "title": "A lonely report"}]
    assert (await reader.delete(f"{told.story}/joined/{lone}")).status_code == 204
    assert len((await reader.get(told.story)).json()["outlets"]) == 2
    assert (await reader.put(f"{told.story}/joined/{lone}")).status_code == 204
    assert len((await reader.get(told.story)).json()["outlets"]) == 3
    assert (await reader.put(f"{told.story}/joined/999999")).status_code == 404
    assert (await reader.post("/api/v1/stories/join", json={"entry_ids": [str(lone)]})).status_code == 400


async def test_set_apart_and_taken_back(reader: Client, told: Told) -> None:
    split = f"{told.story}/entries/{told.entry_ids[1]}/split"
    assert (await reader.post(split)).status_code == 204
    assert (await reader.get("/api/v1/stories")).json()["items"] == []
    story = (await reader.get(told.story)).json()
    assert [one["id"] for one in story["set_apart"]] == [str(told.entry_ids[1])]
    entries = (await reader.get("/api/v1/entries")).json()["items"]
    assert {one["id"] for one in entries} == {str(id_) for id_ in told.entry_ids}
    assert (await reader.delete(split)).status_code == 204
    assert len((await reader.get("/api/v1/stories")).json()["items"]) == 1
    assert (await reader.post(f"{told.story}/entries/999999/split")).status_code == 404


async def test_a_stranger_finds_nothing(signed_in: SignIn, told: Told) -> None:
    stranger = await signed_in("stranger@example.org")
    assert (await stranger.get("/api/v1/stories")).json()["items"] == []
    for answer in (
        await stranger.get(told.story),
        await stranger.post(f"{told.story}/mark-read"),
        await stranger.post(f"{told.story}/entries/{told.entry_ids[0]}/split"),
        await stranger.get(told.page),
    ):
        assert answer.status_code == 404


async def test_a_page_of_stories_takes_few_statements(reader: Client, told: Told) -> None:
    await reader.get("/api/v1/stories")
    with counting() as count:
        await reader.get("/api/v1/stories", params={"limit": "1"})
    assert count.value <= 8


async def test_the_pages_show_them_and_their_buttons_work(by_cookie: SignIn, told: Told) -> None:
    reader = await by_cookie("reader@example.org")
    listed = (await reader.get("/stories")).text
    assert TITLES[0] in listed and "2 sources" in listed and 'href="/stories" aria-current' in listed
    page = (await reader.get(told.page)).text
    assert all(title in page for title in TITLES) and "Not this story" in page
    split = await reader.post(f"{told.page}/entries/{told.entry_ids[0]}/split", headers=FORM)
    assert split.status_code == 303
    assert "Set apart by you" in (await reader.get(told.page)).text
    assert (await reader.get("/stories")).text.count(TITLES[1]) == 0
    await reader.post(f"{told.page}/entries/{told.entry_ids[0]}/join", headers=FORM)
    await reader.post(f"{told.page}/entries/{told.entry_ids[0]}/read", headers=FORM)
    assert "2 sources, 1 unread" in (await reader.get("/stories")).text
    assert (await reader.post(f"{told.page}/read", headers=FORM)).status_code == 303
    assert "No story has anything unread." in (await reader.get("/stories?unread=1")).text
    assert (await reader.post("/stories/read", headers=FORM)).status_code == 303


async def test_a_story_with_all_entries_set_apart_can_be_put_together_again(by_cookie: SignIn, told: Told) -> None:
    reader = await by_cookie("reader@example.org")
    for entry_id in told.entry_ids:
        await reader.post(f"{told.page}/entries/{entry_id}/split", headers=FORM)
    page = await reader.get(told.page)
    assert page.status_code == 200
    assert all(f"{told.page}/entries/{entry_id}/join" in page.text for entry_id in told.entry_ids)
    assert (await reader.get(f"{told.page}/join")).status_code == 200
    assert (await reader.post(f"{told.page}/share", headers=FORM)).status_code < 500


async def test_an_article_names_the_other_outlets(by_cookie: SignIn, told: Told) -> None:
    reader = await by_cookie("reader@example.org")
    article = (await reader.get(f"/entry/{told.entry_ids[0]}")).text
    assert "2 outlets you follow report this" in article and f'href="{told.page}"' in article


async def test_an_article_lists_related_entries_with_few_statements(
    by_cookie: SignIn, reader: Client, told: Told, runtime: Runtime
) -> None:
    async with runtime.db.write() as tx:
        for id_, title in zip(told.entry_ids, TITLES, strict=True):
            await search.index(tx, [(id_, search_words(title, "", ""))])
    first, second = told.entry_ids
    browser = await by_cookie("reader@example.org")
    await browser.post(f"{told.page}/entries/{second}/split", headers=FORM)
    with counting() as count:
        found = (await reader.get(f"/api/v1/entries/{first}/related")).json()["items"]
    assert [item["id"] for item in found] == [str(second)] and count.value <= 12
    page = (await browser.get(f"/stories/entries/{first}/related")).text
    assert TITLES[1] in page and "Same story" in page
    part = (await browser.get(f"/stories/entries/{first}/related", headers={"HX-Request": "true"})).text
    assert TITLES[1] in part and "<html" not in part


async def test_the_unread_list_shows_a_story_once_for_who_wants_it(by_cookie: SignIn, told: Told) -> None:
    reader = await by_cookie("reader@example.org")
    first, second = (f'id="e{entry_id}"' for entry_id in told.entry_ids)
    listed = (await reader.get("/unread")).text
    assert first in listed and second in listed and "2 sources" not in listed
    await reader.post("/settings/reading", data={"group_stories": "true"}, headers=FORM)
    listed = (await reader.get("/unread")).text
    assert (first in listed) + (second in listed) == 1
    assert "2 sources" in listed and f'href="{told.page}"' in listed
    opened = (await reader.get(f"/unread/entry/{told.entry_ids[0]}")).text
    assert first in opened and second in opened, "the open one stays, and so does the story's own row"
    everything = (await reader.get("/all")).text
    assert first in everything and second in everything


async def test_a_story_shows_what_a_model_read(by_cookie: SignIn, harness: RuntimeHarness, told: Told) -> None:
    scores = tuple(Score(name, 0.4, "A reason") for name in SCORES)
    overall = Score("overall", 0.4, "A reason")
    analysis = Analysis(
        "The bridge is shut", "Calmer", "", "", "", "other", scores, overall, model="scripted", language="en"
    )
    async with harness.runtime.db.write() as tx:
        await analyses.save(tx, GeneratedAnalysis("k", "h", "v", analysis, Usage()), harness.runtime.now())
    await harness.change(
        "INSERT INTO entry_analyses (entry_id, key, version) VALUES (:id, 'k', 1)", id=told.entry_ids[0]
    )
    reader = await by_cookie("reader@example.org")
    page = (await reader.get(told.page)).text
    assert "Plainly:" in page and "The bridge is shut" in page and "not a check of the facts" in page
    outlets = (await reader.get(told.story)).json()["outlets"]
    assert outlets[0]["analysis"]["title"] == "The bridge is shut" and outlets[1]["analysis"] is None
