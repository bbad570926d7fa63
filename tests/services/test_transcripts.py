"""The transcript of a recording is found by searches, summarised and asked, from the moment it is fetched."""

from collections.abc import AsyncIterator, Sequence

import pytest

from reedbed.domain.playback import MAX_TRANSCRIPT, Cue, transcript_text
from reedbed.domain.questions import Question
from reedbed.domain.search.query import parse_search
from reedbed.domain.search.results import excerpt_of_transcript
from reedbed.domain.times import DAY
from reedbed.services.jobs import claim, run
from reedbed.services.playback.media import get_transcript
from reedbed.services.questions import JOB_KIND, ask_question, get_question
from reedbed.services.search.find import SearchPage, search_entries
from reedbed.services.search.upkeep import possible_words, rebuild_search, reindex, repair_search
from reedbed.services.summaries import extract_summaries, one_lines_for
from reedbed.store.entries.read import visible_texts
from reedbed.store.playback import recordings
from reedbed.store.retention import deletion
from reedbed.store.search.texts import possibly_indexed
from reedbed.worker.jobs import HANDLERS
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.services.writing import HERON, MORE, STORY, Desk, new_desk

NOTES = "A talk with the people of the upper town."
SPOKEN = f"{STORY} {MORE}"


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


async def podcast(
    harness: RuntimeHarness, site: FeedSite, spoken: str = SPOKEN, *, notes: str = NOTES, title: str = "Episode"
) -> tuple[Desk, int]:
    """A reader of a podcast, and the id of its entry; its transcript waits on the site, in cues of five words."""
    words = spoken.split()
    cues = [" ".join(words[start : start + 5]) for start in range(0, len(words), 5)]
    lines = "\n\n".join(f"{at // 60:02}:{at % 60:02}.000 --> 59:59.000\n{text}" for at, text in enumerate(cues))
    site.put("t.vtt", f"WEBVTT\n\n{lines}", content_type="text/vtt")
    desk = await new_desk(harness)
    link = f'<podcast:transcript url="{site.url}/t.vtt" type="text/vtt" language="en"/>'
    site.publish_episode(title, more=link, content=f"<p>{notes}</p>")
    feed = await harness.follow(site.feed_url(), user_id=desk.user.id)
    await harness.check()
    ids = await harness.column("SELECT id FROM entries WHERE feed_id = :feed", feed=feed)
    return desk, ids[0]


async def hear(desk: Desk, entry_id: int) -> None:
    assert (await get_transcript(desk.runtime, desk.user.id, entry_id)).cues


async def found(desk: Desk, query: str) -> Sequence[int]:
    return [row.id for row in (await find(desk, query)).rows]


async def find(desk: Desk, query: str) -> SearchPage:
    return await search_entries(desk.runtime, desk.user.id, query)


async def test_its_words_are_found_once_it_was_fetched(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site)
    assert await found(desk, "cyclists") == []
    await hear(desk, entry)
    page = await find(desk, "cyclists")
    assert [row.id for row in page.rows] == [entry]
    shown = page.matched[entry].excerpt
    assert [shown.text[start:end] for start, end in shown.spans] == ["cyclists"]
    assert "Buses, cyclists and people on foot" in shown.text
    # Phrases over two cues, other forms of a word, and the words of the feed's own text.
    for query in ('"swing bridge to cars"', "cyclist", "upper town", '"closed the bridge twice"'):
        assert await found(desk, query) == [entry], query
    assert await found(desk, "-cyclists") == []
    other = await new_desk(harness)
    assert await found(other, "cyclists") == []


async def test_it_stays_when_the_entry_is_indexed_again(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site)
    await hear(desk, entry)
    site.publish_episode("Episode", content="<p>Other notes, with a lantern.</p>", key="main-1")
    harness.clock.ahead += DAY
    await harness.check(at_least=1)
    assert await found(desk, "lantern cyclists") == [entry]
    assert await found(desk, '"upper town"') == []
    assert await rebuild_search(desk.runtime) == 1
    assert await found(desk, "lantern cyclists") == [entry]
    assert await repair_search(desk.runtime) == 0


async def test_its_words_leave_the_index_with_the_entry(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site)
    await hear(desk, entry)
    async with desk.runtime.db.write() as tx:
        words = possible_words([entry], await possibly_indexed(tx, [entry]))
        assert (await deletion.delete_entries(tx, [entry], "any", words)).entries == 1
    assert await found(desk, "cyclists") == []
    if desk.runtime.db.engine == "sqlite":
        assert await harness.column("SELECT count(*) FROM search_words WHERE search_words MATCH 'cyclists'") == [0]


async def test_a_long_one_is_found_to_its_end(harness: RuntimeHarness, site: FeedSite) -> None:
    """Beyond what PostgreSQL keeps positions of, and beyond what an excerpt is usually taken from."""
    words = " ".join(f"word{number}" for number in range(16_500))
    desk, entry = await podcast(harness, site, "First")
    async with desk.runtime.db.write() as tx:
        before = await possibly_indexed(tx, [entry])
        await recordings.put_words(tx, entry, f"{words} A heron over the quay.")
        await reindex(tx, desk.runtime.known_words, [entry], before)
    page = await find(desk, "heron")
    assert [row.id for row in page.rows] == [entry]
    assert "heron over the quay" in page.matched[entry].excerpt.text


async def test_a_hostile_one_is_cut(harness: RuntimeHarness, site: FeedSite) -> None:
    """Letters of four bytes, without a sentence and in words as long as any: no engine refuses them."""
    desk, entry = await podcast(harness, site, "First")
    hostile = transcript_text([Cue(0.0, f"{chr(0x10400 + number % 40) * 190}{number}") for number in range(3_000)])
    assert len(hostile) == MAX_TRANSCRIPT
    async with desk.runtime.db.write() as tx:
        before = await possibly_indexed(tx, [entry])
        await recordings.put_words(tx, entry, hostile)
        await reindex(tx, desk.runtime.known_words, [entry], before)
    assert await found(desk, "upper town") == [entry]


async def test_a_short_description_is_summarised_with_it(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site)
    assert not (await desk.ask(entry)).needed
    await hear(desk, entry)
    assert (await desk.ask(entry)).status == "pending"
    await desk.write()
    state = await desk.ask(entry)
    assert state.status == "ready" and state.summary is not None
    assert "swing bridge" in state.summary.text


async def test_a_long_description_is_summarised_alone(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site, HERON, notes=f"{STORY}</p><p>{MORE}", title="The bridge")
    await desk.ask(entry)
    await desk.write()
    before = await desk.ask(entry)
    await hear(desk, entry)
    assert await desk.ask(entry) == before
    assert before.summary is not None and "swing bridge" in before.summary.text


async def test_the_line_in_lists_is_written_anew(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site, notes=HERON)
    async with desk.runtime.db.read() as tx:
        written = await extract_summaries(desk.runtime, await visible_texts(tx, desk.user.id, [entry]), {entry: 1})
    line = written[entry].one_line
    assert line and await one_lines_for_reader(desk, entry) == {entry: line}
    await hear(desk, entry)
    assert list(await one_lines_for_reader(desk, entry)) == [entry]
    state = await desk.ask(entry)
    assert state.summary is not None and "swing bridge" in state.summary.text


async def test_questions_are_answered_from_it(harness: RuntimeHarness, site: FeedSite) -> None:
    desk, entry = await podcast(harness, site)
    assert not (await answer(desk, "How much does the repair of the bridge cost?")).answer.claims
    await hear(desk, entry)
    answered = await answer(desk, "How much does the repair of the bridge cost?")
    assert answered.answer.claims[0].text.startswith("The repair costs eighteen million")
    assert answered.answer.claims[0].entry_ids == (entry,)


async def answer(desk: Desk, text: str) -> Question:
    asked = await ask_question(desk.runtime, desk.user, text)
    while (job := await claim(desk.runtime, [JOB_KIND])) is not None:
        await run(desk.runtime, job, HANDLERS[job.kind])
    return await get_question(desk.runtime, desk.user.id, asked.id)


async def one_lines_for_reader(desk: Desk, entry: int) -> dict[int, str]:
    async with desk.runtime.db.read() as tx:
        return await one_lines_for(tx, desk.runtime, desk.user, [entry])


def test_paragraphs_end_with_a_sentence_or_a_speaker() -> None:
    cues = [Cue(0, "We begin", "Ada"), Cue(1, "here.", "Ada"), Cue(2, "Do we?", "Ben")]
    assert transcript_text(cues) == "We begin here.\nDo we?"
    long = [Cue(number, "and so on " * 10 + ("stop." if number % 6 == 5 else "on")) for number in range(12)]
    assert [line[-5:] for line in transcript_text(long).split("\n")] == ["stop.", "stop."]
    assert transcript_text([]) == ""


def test_an_excerpt_is_found_anywhere_in_it() -> None:
    long = "water " * 30_000 + "a heron stands there " + "reeds " * 1_000
    for place in (0, 600, 19_998, 150_000):
        found = excerpt_of_transcript(long[:place] + " an egret flies " + long[place:], parse_search("egret", 0))
        assert found is not None and "an egret flies" in found.text
        assert found.text.startswith("… ") == (place > 0)
    assert excerpt_of_transcript(long, parse_search("bittern", 0)) is None
