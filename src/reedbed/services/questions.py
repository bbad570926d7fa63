"""Questions about a user's own entries, answered by a job that searches first and then asks the model."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from reedbed.ai.prompts import MAX_PASSAGE, Reading, answer_prompt
from reedbed.ai.responses import read_answer
from reedbed.domain.digests import DigestScope, Sentence, source_of, sources_of
from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import Invalid, NotFound, ReedbedError
from reedbed.domain.failures import Failure
from reedbed.domain.live import ChangeEvent
from reedbed.domain.push import answer_note
from reedbed.domain.questions import (
    ASKED_AGAIN_AFTER,
    CANDIDATES,
    FAILED,
    MAX_KEPT,
    MAX_WATCHED,
    READ,
    WATCHED_PER_RUN,
    AnswerText,
    CitablePassage,
    Question,
    check_question,
    search_for,
)
from reedbed.domain.summaries import EXTRACT, Variant
from reedbed.domain.users import User
from reedbed.ingest.text import prose_text
from reedbed.services.ai import ask_model, must_stay_local, variant_for
from reedbed.services.jobs import Done, Later, failure_of, wake_jobs
from reedbed.services.push import enqueue_push_notes
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import search_entries
from reedbed.store import jobs, questions, users, visibility
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.jobs import Job

if TYPE_CHECKING:  # imported with the first question: it takes a tenth of a second
    from reedbed.ai.answer_types import Inquiry

JOB_KIND = "question"
EVERYTHING = DigestScope()
NO_SUCH_QUESTION = "There is no such question"
MAX_HTML = 100_000


async def ask_question(runtime: Runtime, user: User, text: str, scope: DigestScope = EVERYTHING) -> Question:
    """Create a pending question; `NotFound` if the scope does not exist for this user."""
    checked, now = check_question(text), runtime.now()
    async with runtime.db.write() as tx:
        if await visibility.resolve(tx, user.id, _view(scope)) is None:
            raise NotFound("There is no such folder.")
        model = variant_for(runtime, user).model
        question_id = await questions.add(tx, user.id, checked, scope, model=model, now=now)
        await questions.delete_old_questions(tx, user.id, MAX_KEPT)
        await jobs.add(tx, JOB_KIND, {"question_id": question_id}, now=now, user_id=user.id)
        question = await questions.get(tx, user.id, question_id)
    assert question is not None
    await wake_jobs(runtime)
    return question


async def get_question(runtime: Runtime, user_id: int, question_id: int) -> Question:
    async with runtime.db.read() as tx:
        question = await questions.get(tx, user_id, question_id)
    if question is None:
        raise NotFound(NO_SUCH_QUESTION)
    return question


async def watch_question(runtime: Runtime, user_id: int, question_id: int, *, on: bool) -> Question:
    """Notify the user when an entry answers a question without an answer; stop that with `on` false."""
    async with runtime.db.write() as tx:
        question = await questions.get(tx, user_id, question_id)
        if question is None:
            raise NotFound(NO_SUCH_QUESTION)
        if on and not question.can_be_watched:
            raise Invalid("Only a question without an answer can wait for one.")
        if on and question.watched_at is None and await questions.count_watched(tx, user_id) >= MAX_WATCHED:
            raise Invalid("At most %(limit)s questions can wait for an answer.", limit=MAX_WATCHED)
        watched_at = runtime.now() if on else None
        await questions.watch(tx, user_id, question_id, watched_at)
    return replace(question, watched_at=watched_at)


async def answer_watched(runtime: Runtime) -> int:
    """Chore: ask watched questions again, without a model, and notify the users whose question an entry answers now."""
    now = runtime.now()
    async with runtime.db.read() as tx:
        waiting = await questions.longest_watched(tx, now - ASKED_AGAIN_AFTER, WATCHED_PER_RUN)
    return sum([await _answer_if_watched(runtime, question) for question in waiting])


async def _answer_if_watched(runtime: Runtime, question: Question) -> bool:
    async with runtime.db.write() as tx:  # first, so that a question that fails does not hold up the others
        await questions.postpone_watched(tx, question.id, runtime.now())
    from reedbed.ai.answer_types import inquire
    from reedbed.ai.answers import answer

    inquiry = inquire(question.question)
    passages: list[CitablePassage] = []
    stories: Mapping[int, int] = {}
    with suppress(ReedbedError):  # the folder is gone, or the search took too long: it is tried again
        passages, stories = await find_passages(runtime, question.user_id, question.scope, inquiry)
    found = await asyncio.to_thread(answer, inquiry, passages, stories)
    now = runtime.now()
    if not found.claims:
        return False
    written = AnswerText(found.claims, sources_of(found.claims, passages), len(passages))
    async with runtime.db.write() as tx:
        if not await questions.answer_watched(tx, question.id, written, model=EXTRACT, now=now):
            return False
        await enqueue_push_notes(tx, question.user_id, answer_note(replace(question, answer=written)), now)
    data = {"event": "answered", "question_id": str(question.id), "question": question.question}
    await runtime.bus.publish(ChangeEvent("notice", user_id=question.user_id, data=data))
    return True


async def delete_question(runtime: Runtime, user_id: int, question_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await questions.remove(tx, user_id, question_id):
            raise NotFound(NO_SUCH_QUESTION)


async def answer_question(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job. Errors end up in the question's status."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
        question = await questions.get(tx, job.user_id, job.payload["question_id"])
    if user is None or question is None or question.status != "pending":
        return Done()
    work = _answer(runtime, user, question)
    failure = await failure_of(work, FAILED, event="a question broke down", question=question.id)
    if failure is not None:
        await _fail(runtime, question, failure)
    await _publish_progress(runtime, question, "done")
    return Done({"question_id": question.id})


async def _answer(runtime: Runtime, user: User, question: Question) -> None:
    from reedbed.ai.answer_types import inquire

    await _publish_progress(runtime, question, "searching")
    inquiry = inquire(question.question)
    passages, stories = await find_passages(runtime, user.id, question.scope, inquiry)
    await _publish_progress(runtime, question, "reading", entries=len(passages))
    written, model = await _write_answer(runtime, user, question, inquiry, passages, stories)
    async with runtime.db.write() as tx:
        await questions.finish(tx, question.id, written, model=model, now=runtime.now())
    for claim in written.claims:
        data = {"text": claim.text, "entry_ids": list(map(str, claim.entry_ids))}
        await _publish_progress(runtime, question, "answering", claim=data)


async def find_passages(
    runtime: Runtime, user_id: int, scope: DigestScope, inquiry: "Inquiry"
) -> tuple[list[CitablePassage], Mapping[int, int]]:
    """Entries that may hold the answer, and the stories they belong to."""
    from reedbed.ai.answer_types import search_terms

    rows = await _candidates(runtime, user_id, scope, search_for(search_terms(inquiry), scope.q))
    ids = [row.id for row in rows]
    async with runtime.db.read() as tx:
        entries = await entry_texts.visible_texts(tx, user_id, ids)
        stories = await questions.stories_of(tx, ids)
    return await asyncio.to_thread(lambda: [_passage(entry) for entry in entries]), stories


async def _candidates(runtime: Runtime, user_id: int, scope: DigestScope, text: str) -> Sequence[EntryRow]:
    """Entries that may hold the answer; the newest ones if the question has no search terms."""
    view = _view(scope)
    if text:
        best = await search_entries(
            runtime, user_id, text, within=view, order="relevance", limit=CANDIDATES, thorough=True, excerpts=False
        )
        return best.rows
    async with runtime.db.read() as tx:
        newest = await entry_lists.page(tx, user_id, view, None, CANDIDATES)
    return newest.rows if newest is not None else ()


def _passage(entry: EntryText) -> CitablePassage:
    text = prose_text(entry.content[:MAX_HTML]) or entry.summary
    return CitablePassage(
        entry_id=entry.id,
        title=entry.title,
        text=f"{text}\n{entry.transcript}" if entry.transcript else text,
        feed_id=entry.feed_id,
        feed=entry.feed_title,
        at=entry.sort_at,
        language=entry.language or "",
    )


async def _write_answer(
    runtime: Runtime,
    user: User,
    question: Question,
    inquiry: "Inquiry",
    passages: Sequence[CitablePassage],
    stories: Mapping[int, int],
) -> tuple[AnswerText, str]:
    """The answer and its author: the model, or quotes from the entries if the model is not available."""
    from reedbed.ai.answers import answer

    variant = variant_for(runtime, user)
    async with runtime.db.read() as tx:
        private_feeds = await must_stay_local(tx, runtime, user.id)
    sendable = (
        [passage for passage in passages if passage.feed_id not in private_feeds] if variant.model != EXTRACT else []
    )
    if sendable:
        by_model = await _answer_by_model(runtime, user.id, question, variant, inquiry, sendable)
        if by_model is not None:
            return by_model, variant.model
    found = await asyncio.to_thread(answer, inquiry, passages, stories)
    nearest = [passage for id_ in found.nearest for passage in passages if passage.entry_id == id_]
    return AnswerText(
        found.claims,
        sources_of(found.claims, passages),
        len(passages),
        fallback=bool(sendable),
        nearest=tuple(map(source_of, nearest)),
        missing=found.missing,
    ), EXTRACT


async def _answer_by_model(
    runtime: Runtime,
    user_id: int,
    question: Question,
    variant: Variant,
    inquiry: "Inquiry",
    passages: Sequence[CitablePassage],
) -> AnswerText | None:
    from reedbed.ai.answers import best_passages, excerpt

    selected = await asyncio.to_thread(best_passages, inquiry, passages, READ)
    numbers = dict(enumerate(selected, 1))
    readings = [
        Reading(number, item.title, item.feed, excerpt(inquiry, item, MAX_PASSAGE)) for number, item in numbers.items()
    ]
    prompt = answer_prompt(question.question, readings, variant.language)
    texts = {reading.number: f"{reading.title}\n{reading.text}" for reading in readings}
    parsed = await ask_model(runtime, user_id, prompt, lambda response: read_answer(response, texts))
    if parsed is None or (parsed.dropped and not parsed.claims):
        return None
    claims = tuple(
        Sentence(item.text, tuple(numbers[number].entry_id for number in item.numbers), variant.language, item.quote)
        for item in parsed.claims
    )
    return AnswerText(claims, sources_of(claims, selected), len(selected), parsed.dropped)


async def _fail(runtime: Runtime, question: Question, failure: Failure) -> None:
    async with runtime.db.write() as tx:
        await questions.fail(tx, question.id, failure, runtime.now())


async def _publish_progress(runtime: Runtime, question: Question, stage: str, **more: object) -> None:
    data = {"kind": JOB_KIND, "question_id": str(question.id), "stage": stage, **more}
    await runtime.bus.publish(ChangeEvent("progress", user_id=question.user_id, data=data))


def _view(scope: DigestScope) -> ViewQuery:
    return ViewQuery(view="all", folder_id=scope.folder_id, tag=scope.tag)
