"""Questions about a user's own entries, answered by a job that searches first and then asks the model."""

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from reedbed.ai.extractive import excerpt, quote
from reedbed.ai.prompts import MAX_PASSAGE, Reading, answer_prompt
from reedbed.ai.responses import read_answer
from reedbed.domain.digests import DigestScope, Sentence, sources_of
from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import NotFound, ReedbedError, TooSlow, Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.questions import (
    CANDIDATES,
    FAILED,
    KEPT,
    AnswerText,
    CitablePassage,
    Question,
    best_passages,
    check_question,
    question_stems,
    search_for,
    weights,
)
from reedbed.domain.summaries import EXTRACT, Variant
from reedbed.domain.users import User
from reedbed.ingest.text import clean_text
from reedbed.services.ai import ask_model, must_stay_local, variant_for
from reedbed.services.jobs import Done, Later, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.search import search_entries
from reedbed.store import jobs, questions, users, visibility
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.jobs import Job

log = structlog.get_logger()

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
        await questions.delete_old_questions(tx, user.id, KEPT)
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
    try:
        await _answer(runtime, user, question)
    except TooSlow as error:
        await _fail(runtime, question, error.message)
    except Unavailable:
        raise
    except ReedbedError as error:
        await _fail(runtime, question, error.message)
    except Exception:
        log.exception("a question broke down", question=question.id)
        await _fail(runtime, question, FAILED)
    await _publish_progress(runtime, question, "done")
    return Done({"question_id": question.id})


async def _answer(runtime: Runtime, user: User, question: Question) -> None:
    await _publish_progress(runtime, question, "searching")
    terms = question_stems(question.question)
    passages = await _find_passages(runtime, user.id, question.scope, terms)
    term_weights = weights(terms, passages)
    await _publish_progress(runtime, question, "reading", entries=len(passages))
    answer, model = await _write_answer(runtime, user, question, term_weights, passages)
    async with runtime.db.write() as tx:
        await questions.finish(tx, question.id, answer, model=model, now=runtime.now())
    for claim in answer.claims:
        data = {"text": claim.text, "entry_ids": list(map(str, claim.entry_ids))}
        await _publish_progress(runtime, question, "answering", claim=data)


async def _find_passages(
    runtime: Runtime, user_id: int, scope: DigestScope, terms: Sequence[str]
) -> list[CitablePassage]:
    rows = await _candidates(runtime, user_id, scope, search_for(terms, scope.q))
    async with runtime.db.read() as tx:
        entries = await entry_texts.visible_texts(tx, user_id, [row.id for row in rows])
    return await asyncio.to_thread(lambda: [_passage(entry) for entry in entries])


async def _candidates(runtime: Runtime, user_id: int, scope: DigestScope, text: str) -> Sequence[EntryRow]:
    """Entries that may hold the answer; the newest ones if the question has no search terms."""
    view = _view(scope)
    if text:
        best = await search_entries(
            runtime, user_id, text, within=view, order="relevance", limit=CANDIDATES, thorough=True
        )
        return best.rows
    async with runtime.db.read() as tx:
        newest = await entry_lists.page(tx, user_id, view, None, CANDIDATES)
    return newest.rows if newest is not None else ()


def _passage(entry: EntryText) -> CitablePassage:
    return CitablePassage(
        entry_id=entry.id,
        title=entry.title,
        text=clean_text(entry.content[:MAX_HTML]) or entry.summary,
        feed_id=entry.feed_id,
        feed=entry.feed_title,
        at=entry.sort_at,
        language=entry.language or "",
    )


async def _write_answer(
    runtime: Runtime,
    user: User,
    question: Question,
    term_weights: Mapping[str, float],
    passages: Sequence[CitablePassage],
) -> tuple[AnswerText, str]:
    """The answer and its author: the model, or quotes from the entries if the model is not available."""
    variant = variant_for(runtime, user)
    async with runtime.db.read() as tx:
        private_feeds = await must_stay_local(tx, runtime, user.id)
    sendable = (
        [passage for passage in passages if passage.feed_id not in private_feeds]
        if variant.model != EXTRACT
        else []
    )
    if sendable:
        answer = await _answer_by_model(runtime, user.id, question, variant, term_weights, sendable)
        if answer is not None:
            return answer, variant.model
    claims = await asyncio.to_thread(quote, term_weights, passages)
    answer = AnswerText(claims, sources_of(claims, passages), len(passages), fallback=bool(sendable))
    return answer, EXTRACT


async def _answer_by_model(
    runtime: Runtime,
    user_id: int,
    question: Question,
    variant: Variant,
    term_weights: Mapping[str, float],
    passages: Sequence[CitablePassage],
) -> AnswerText | None:
    selected = await asyncio.to_thread(best_passages, term_weights, passages)
    numbers = dict(enumerate(selected, 1))
    readings = [
        Reading(number, item.title, item.feed, excerpt(term_weights, item, MAX_PASSAGE))
        for number, item in numbers.items()
    ]
    prompt = answer_prompt(question.question, readings, variant.language)
    parsed = await ask_model(runtime, user_id, prompt, lambda answer: read_answer(answer, numbers))
    if parsed is None:
        return None
    claims = tuple(
        Sentence(item.text, tuple(numbers[number].entry_id for number in item.numbers), variant.language)
        for item in parsed.claims
    )
    return AnswerText(claims, sources_of(claims, selected), len(selected), parsed.dropped)


async def _fail(runtime: Runtime, question: Question, reason: str) -> None:
    async with runtime.db.write() as tx:
        await questions.fail(tx, question.id, reason, runtime.now())


async def _publish_progress(runtime: Runtime, question: Question, stage: str, **more: object) -> None:
    data = {"kind": JOB_KIND, "question_id": str(question.id), "stage": stage, **more}
    await runtime.bus.publish(ChangeEvent("progress", user_id=question.user_id, data=data))


def _view(scope: DigestScope) -> ViewQuery:
    return ViewQuery(view="all", folder_id=scope.folder_id, tag=scope.tag)
