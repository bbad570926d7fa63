"""Which new entries are summarised by themselves, and which texts are sent to nobody."""

import json
from typing import Any

import pytest

from reedbed.domain.digests import DigestScope
from reedbed.domain.errors import Invalid
from reedbed.services.digests import DIGEST_JOB as DIGEST
from reedbed.services.digests import ask_digest, get_digest
from reedbed.services.folders import change_folder, create_folder
from reedbed.services.jobs import claim, run
from reedbed.services.questions import JOB_KIND as QUESTION
from reedbed.services.questions import ask_question, get_question
from reedbed.services.search.upkeep import repair_search
from reedbed.services.subscriptions.manage import SubscriptionChange, change_subscription
from reedbed.services.summaries import one_lines, request_new_summaries
from reedbed.store import users
from reedbed.worker.jobs import HANDLERS
from tests.modelserver import ModelServer
from tests.services.writing import HERON, STORY, Desk


async def test_a_feed_is_summarised_though_the_rest_is_not(desk: Desk) -> None:
    other = await desk.harness.follow("http://127.0.0.1:9/other.xml", user_id=desk.user.id)
    await change(desk, desk.feed_id, summary_words=0)
    wanted = await news(desk, STORY)
    await news(desk, HERON, feed_id=other)
    assert await asked(desk) == {wanted}


async def test_a_feed_is_left_out_though_the_rest_is_summarised(desk: Desk) -> None:
    await prefer(desk, auto_summaries=True, auto_summary_words=0)
    other = await desk.harness.follow("http://127.0.0.1:9/other.xml", user_id=desk.user.id)
    await change(desk, desk.feed_id, summary_words=-1)
    await news(desk, STORY)
    wanted = await news(desk, HERON, feed_id=other)
    assert await asked(desk) == {wanted}


async def test_only_long_ones_where_a_feed_says_so(desk: Desk) -> None:
    await change(desk, desk.feed_id, summary_words=300)
    wanted = await news(desk, STORY)
    assert await asked(desk) == {wanted}
    await change(desk, desk.feed_id, summary_words=301)
    await news(desk, HERON)
    assert await asked(desk) == {wanted}


async def test_a_folder_speaks_for_what_lies_in_it_and_a_feed_for_itself(desk: Desk) -> None:
    outer = await create_folder(desk.runtime, desk.user.id, "Outer")
    inner = await create_folder(desk.runtime, desk.user.id, "Inner", outer.id)
    await change_folder(desk.runtime, desk.user.id, outer.id, summary_words=0)
    other = await desk.harness.follow("http://127.0.0.1:9/other.xml", user_id=desk.user.id)
    await change(desk, desk.feed_id, folder_id=inner.id)
    await change(desk, other, folder_id=inner.id, summary_words=-1)
    wanted = await news(desk, STORY)
    await news(desk, HERON, feed_id=other)
    assert await asked(desk) == {wanted}
    await change_folder(desk.runtime, desk.user.id, inner.id, summary_words=-1)
    await news(desk, f"{STORY} Later.")
    assert await asked(desk) == {wanted}
    with pytest.raises(Invalid):
        await change_folder(desk.runtime, desk.user.id, inner.id, summary_words=-2)


async def test_nothing_is_asked_for_twice_and_nothing_is_skipped(desk: Desk) -> None:
    await change(desk, desk.feed_id, summary_words=100)
    first = await news(desk, STORY)
    assert await request_new_summaries(desk.runtime) == 1
    assert await request_new_summaries(desk.runtime) == 0
    second = await news(desk, HERON)
    assert await asked(desk) == {first, second}


async def test_texts_of_a_feed_that_is_kept_here_are_never_sent(modelled: Desk, server: ModelServer) -> None:
    await change(modelled, modelled.feed_id, local_only=True, summary_words=0)
    opened, new = await modelled.entry(HERON), await news(modelled, STORY)
    await modelled.ask(opened)
    await request_new_summaries(modelled.runtime)
    await modelled.write()
    assert server.calls == 0
    assert (await modelled.ask(opened)).model == "extract"
    assert set(await one_lines(modelled.runtime, modelled.user, [opened, new])) == {opened, new}


async def test_who_changes_their_mind_has_nothing_sent_that_was_queued(modelled: Desk, server: ModelServer) -> None:
    await modelled.ask(await modelled.entry(HERON))
    await change(modelled, modelled.feed_id, local_only=True)
    await modelled.write()
    assert server.calls == 0


async def test_a_digest_sends_only_what_may_be_sent_and_tells_the_rest_itself(
    modelled: Desk, server: ModelServer
) -> None:
    secret = await modelled.harness.follow("http://127.0.0.1:9/secret.xml", user_id=modelled.user.id)
    await change(modelled, secret, local_only=True)
    free, kept = await modelled.entry(STORY), await modelled.entry(HERON, title="Heron", feed_id=secret)
    digest = await ask_digest(modelled.runtime, modelled.user, DigestScope())
    await work(modelled, DIGEST)
    written = await get_digest(modelled.runtime, modelled.user.id, digest.id)
    assert written.status == "ready" and "heron" not in json.dumps(server.questions).lower()
    assert {one.entry_id for one in written.text.sources} == {free, kept}


async def test_a_question_is_answered_here_where_its_entries_are_kept_here(modelled: Desk, server: ModelServer) -> None:
    await change(modelled, modelled.feed_id, local_only=True)
    entry = await modelled.entry(HERON, title="Heron")
    await repair_search(modelled.runtime)
    question = await ask_question(modelled.runtime, modelled.user, "Where does the heron nest?")
    await work(modelled, QUESTION)
    answered = await get_question(modelled.runtime, modelled.user.id, question.id)
    assert (server.calls, answered.model, answered.answer.fallback) == (0, "extract", False)
    assert answered.answer.claims[0].entry_ids == (entry,)


async def change(desk: Desk, feed_id: int, **wanted: Any) -> None:
    number = await desk.value(
        "SELECT id FROM subscriptions WHERE user_id = :user AND feed_id = :feed", user=desk.user.id, feed=feed_id
    )
    await change_subscription(desk.runtime, desk.user.id, number, SubscriptionChange(**wanted))


async def prefer(desk: Desk, **chosen: Any) -> None:
    async with desk.runtime.db.write() as tx:
        await users.set_preferences(tx, desk.user.id, json.dumps(chosen, separators=(",", ":")))


async def news(desk: Desk, text: str, feed_id: int | None = None) -> int:
    """An entry that is unread."""
    entry_id = await desk.entry(text, feed_id=feed_id)
    await desk.harness.change(
        "INSERT INTO unread (user_id, sort_at, entry_id, feed_id) VALUES (:user, 1, :entry, :feed) RETURNING entry_id",
        user=desk.user.id,
        entry=entry_id,
        feed=feed_id or desk.feed_id,
    )
    return entry_id


async def asked(desk: Desk) -> set[int]:
    await request_new_summaries(desk.runtime)
    return {row[0] for row in await desk.harness.rows("SELECT entry_id FROM entry_summaries")}


async def work(desk: Desk, kind: str) -> None:
    while (job := await claim(desk.runtime, [kind])) is not None:
        await run(desk.runtime, job, HANDLERS[job.kind])
