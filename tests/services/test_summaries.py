"""Summaries without a model: asked for by reading, written by a worker, shared by equal texts."""

import pytest

from reedbed.domain.errors import NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.summaries import EXTRACT
from reedbed.services.instance import queue_state
from reedbed.services.summaries import one_lines_for, request_new_summaries, request_summaries
from reedbed.store import articles
from tests.services.writing import BREAD, HERON, MORE, STORY, Desk, new_desk


async def test_opening_an_entry_queues_its_summary_and_a_worker_writes_it(desk: Desk) -> None:
    entry = await desk.entry()
    assert (await desk.ask(entry)).status == "pending"
    assert await desk.write() == 1
    state = await desk.ask(entry)
    assert state.status == "ready" and state.summary is not None
    assert state.summary.model == EXTRACT
    assert state.summary.text.startswith("The council of Marrowby voted to close the swing bridge")
    assert len(state.summary.one_line) <= 140
    assert state.summary.language == "en"


async def test_asking_wakes_the_worker_and_being_ready_is_told(desk: Desk) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    assert desk.harness.heard("wake")[-1].data == {"for": "ai"}
    await desk.write()
    assert desk.harness.heard("entry_updated")[-1].data["id"] == str(entry)


async def test_asking_twice_is_free(desk: Desk) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.ask(entry)
    assert await desk.value("SELECT count(*) FROM summary_queue") == 1
    assert await desk.write() == 1


async def test_equal_texts_in_two_feeds_are_written_once(desk: Desk) -> None:
    other_feed = await desk.harness.follow("http://127.0.0.1:9/other.xml", user_id=desk.user.id)
    first = await desk.entry()
    second = await desk.entry(f"{STORY}</p><p>Read more", title="Elsewhere", feed_id=other_feed)
    await desk.ask(first)
    await desk.ask(second)
    assert await desk.write() == 1
    assert (await desk.ask(first)).summary == (await desk.ask(second)).summary


async def test_what_a_reader_opened_goes_before_the_background(desk: Desk) -> None:
    background = [await desk.entry(f"{STORY} It is version {number} of it.") for number in range(3)]
    opened = await desk.entry(f"{STORY} A reader waits for this one.")
    assert await request_summaries(desk.runtime, desk.user, background) == 3
    await desk.ask(opened)
    await desk.write(most=1)
    assert (await desk.ask(opened)).status == "ready"
    await desk.ask(background[2])
    await desk.write(most=1)
    assert (await desk.ask(background[2])).status == "ready"
    assert (await desk.ask(background[0])).status == "pending"


async def test_a_changed_entry_gets_another_summary(desk: Desk) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.write()
    new = f"{MORE} A heron was seen in the harbour of Marrowby on Sunday morning."
    await desk.harness.change("UPDATE entry_bodies SET content = :c WHERE entry_id = :id RETURNING 1", c=new, id=entry)
    await desk.harness.change("UPDATE entries SET version = 2 WHERE id = :id RETURNING 1", id=entry)
    assert (await desk.ask(entry)).status == "pending"
    await desk.write()
    state = await desk.ask(entry)
    assert state.summary is not None and "heron" in state.summary.text


async def test_an_article_that_reads_otherwise_gets_another_summary(desk: Desk) -> None:
    entry = await desk.entry()
    await _keep_article(desk, entry, f"<nav>{MORE} {BREAD}</nav>")
    await desk.ask(entry)
    await desk.write()
    await _keep_article(desk, entry, f"<nav>{MORE} {BREAD}</nav>")
    assert (await desk.ask(entry)).status == "ready"
    await _keep_article(desk, entry, f"<p>{MORE} {HERON}</p>")
    assert (await desk.ask(entry)).status == "pending"
    await desk.write()
    state = await desk.ask(entry)
    assert state.summary is not None and "heron" in state.summary.text


async def _keep_article(desk: Desk, entry: int, content: str) -> None:
    async with desk.runtime.db.write() as tx:
        await articles.save(tx, entry, content, desk.runtime.now())


async def test_an_entry_without_words_fails_at_once_and_says_so(desk: Desk) -> None:
    entry = await desk.entry("<img src='x.png'>", more="")
    state = await desk.ask(entry)
    assert (state.status, state.error) == ("failed", Failure(FailureCode.NOTHING_TO_SUMMARISE))
    assert (await queue_state(desk.runtime)).size == 0


@pytest.mark.parametrize("text", ["x" * 300_000, "\u0001\u0002 % % %", "<p>" * 3000 + "Deep down.", "a. " * 50_000])
async def test_strange_texts_end_and_block_nothing(desk: Desk, text: str) -> None:
    entry = await desk.entry(text)
    await desk.ask(entry)
    await desk.write()
    assert (await desk.ask(entry)).status in ("ready", "failed")
    assert (await queue_state(desk.runtime)).size == 0


async def test_who_wants_it_has_summaries_of_what_is_new_before_opening_it(desk: Desk) -> None:
    entry = await _arrived(desk, words=300)
    assert await request_new_summaries(desk.runtime) == 0
    await desk.harness.change(
        "UPDATE users SET preferences = :p WHERE id = :id RETURNING 1",
        p='{"auto_summaries":true,"auto_summary_words":200}',
        id=desk.user.id,
    )
    assert await request_new_summaries(desk.runtime) == 1
    assert await request_new_summaries(desk.runtime) == 0
    await desk.write()
    async with desk.runtime.db.read() as tx:
        assert list(await one_lines_for(tx, desk.runtime, desk.user, [entry])) == [entry]
    await _arrived(desk, words=50)
    assert await request_new_summaries(desk.runtime) == 0
    await _arrived(desk, words=250)
    assert await request_new_summaries(desk.runtime) == 1
    assert await desk.value("SELECT priority FROM summary_queue") == 0


async def _arrived(desk: Desk, *, words: int) -> int:
    entry = await desk.entry(f"{STORY} With {words} words.")
    await desk.harness.change("UPDATE entries SET words = :n WHERE id = :id RETURNING 1", n=words, id=entry)
    await desk.harness.change(
        "INSERT INTO unread (user_id, sort_at, entry_id, feed_id) VALUES (:u, 1, :e, :f) RETURNING 1",
        u=desk.user.id,
        e=entry,
        f=desk.feed_id,
    )
    return entry


async def test_another_users_entry_cannot_be_summarised(desk: Desk) -> None:
    entry = await desk.entry()
    stranger = await new_desk(desk.harness)
    with pytest.raises(NotFound):
        await stranger.ask(entry)


async def test_an_entry_that_is_deleted_leaves_no_work(desk: Desk) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.harness.change("DELETE FROM entries WHERE id = :id RETURNING 1", id=entry)
    assert await desk.write() == 0
    assert await desk.value("SELECT count(*) FROM summary_queue") == 0


async def test_captions_and_marks_of_footnotes_are_no_part_of_a_summary(desk: Desk) -> None:
    caption = "The council of Marrowby and the swing bridge in the morning light, seen from the old harbour crane."
    text = STORY.replace("months.", 'months.<sup><a href="#n1">1</a></sup>')
    entry = await desk.entry(f"<figure><img src='x.png'><figcaption>{caption}</figcaption></figure><p>{text}</p>")
    await desk.ask(entry)
    await desk.write()
    state = await desk.ask(entry)
    assert state.summary is not None and state.summary.text.startswith(STORY.partition(" Buses")[0])
    assert "morning light" not in state.summary.text


async def test_long_new_entries_get_a_line_without_a_model_though_nobody_asked(desk: Desk) -> None:
    entry = await _arrived(desk, words=400)
    await _arrived(desk, words=399)
    assert await request_new_summaries(desk.runtime) == 1
    await desk.write()
    async with desk.runtime.db.read() as tx:
        assert list(await one_lines_for(tx, desk.runtime, desk.user, [entry])) == [entry]
