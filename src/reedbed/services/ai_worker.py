"""What an AI worker does: take the next summary that may be written now, write it, note what became of it."""

import asyncio
from dataclasses import dataclass

import structlog

from reedbed.ai.answers import read_summary
from reedbed.ai.model import Answer, Prompt, Trouble
from reedbed.ai.prompts import summary_prompt
from reedbed.domain.budget import Usage
from reedbed.domain.hints import Hint
from reedbed.domain.summaries import EXTRACT, LEASE, MOST_ATTEMPTS, Summary, after_failure
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import clean_text
from reedbed.services.ai_gate import Closed, Door, Permit, enter, find_door, settle
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import MOST_HTML
from reedbed.services.writers import may_send
from reedbed.store import summaries, summary_queue, users
from reedbed.store.database import Tx
from reedbed.store.summaries import Made, Source
from reedbed.store.summary_queue import Queued

log = structlog.get_logger()

WORKER_DIED = "The worker stopped in the middle of it."
UNREADABLE = "The model's answer could not be read."


@dataclass(frozen=True, slots=True)
class Task:
    row: Queued
    source: Source
    prompt: Prompt | None = None
    permit: Permit | None = None
    """None: the built-in extract writes it."""


@dataclass(frozen=True, slots=True)
class Nap:
    """Nothing to do before this moment."""

    until: Instant


@dataclass(frozen=True, slots=True)
class Gone:
    """The row needed no writing; look again."""


async def next_task(runtime: Runtime) -> Task | Nap | Gone:
    now = runtime.now()
    async with runtime.db.read() as tx:
        at = await summary_queue.next_at(tx, LEASE)
    if at is None or at > now:
        return Nap(now + MINUTE if at is None else at)
    async with runtime.db.write() as tx:
        return await _take(tx, runtime, now)


async def write_summary(runtime: Runtime, task: Task) -> None:
    """The model is asked outside any transaction; one write notes the end of it."""
    try:
        outcome = await _outcome(task)
    except Exception:
        log.exception("a summary broke down", key=task.row.key)
        outcome = Trouble("permanent", "The text could not be summarised.")
    written = _read(task, outcome)
    async with runtime.db.write() as tx:
        told = await _note(tx, runtime, task, outcome, written)
    for entry_id, feed_id in told:
        data = {"id": str(entry_id), "ids": [str(entry_id)], "summary": True}
        await runtime.bus.publish(Hint("entry_updated", feed_id=feed_id, data=data))


async def give_back(runtime: Runtime, task: Task) -> None:
    """The process stops: another takes it. What was reserved stays counted, the answer may be under way."""
    async with runtime.db.write() as tx:
        await summary_queue.release(tx, task.row, runtime.name)


async def _take(tx: Tx, runtime: Runtime, now: Instant) -> Task | Nap | Gone:
    door = await find_door(tx, runtime, now)
    models = [EXTRACT]
    if isinstance(door, Door) and runtime.ai.model is not None:
        models.append(runtime.ai.model.name)
    row = await summary_queue.claim(tx, models, runtime.name, now, now - LEASE)
    if row is None:
        return Nap(min(door.until, now + 5 * SECOND) if isinstance(door, Closed) else now + 5 * SECOND)
    source = await summaries.source_of(tx, row.key)
    if source is None or await summaries.exists(tx, row.key):
        await summary_queue.done(tx, row, runtime.name)
        return Gone()
    if row.attempts >= MOST_ATTEMPTS:
        setback = after_failure("temporary", row.attempts, row.empties, now)
        await summary_queue.set_back(tx, row, runtime.name, setback, WORKER_DIED)
        return Gone()
    if row.model == EXTRACT:
        return Task(row, source)
    assert isinstance(door, Door)
    return await _permitted(tx, runtime, door, row, source, now)


async def _permitted(
    tx: Tx, runtime: Runtime, door: Door, row: Queued, source: Source, now: Instant
) -> Task | Gone:
    user = None if row.user_id is None else await users.by_id(tx, row.user_id)
    if user is None or not may_send(runtime, preferences_of(user)):
        # Who asked has left or changed their mind since: nothing is sent for them.
        await summary_queue.done(tx, row, runtime.name)
        return Gone()
    prompt = summary_prompt(source.title, source.source, _text(source), row.language)
    permit = await enter(tx, runtime, door, prompt, user.id, now)
    if isinstance(permit, Closed):
        await summary_queue.put_off(tx, row, runtime.name, permit.until, permit.why)
        return Gone()
    return Task(row, source, prompt, permit)


async def _outcome(task: Task) -> Answer | Trouble | Summary:
    if task.permit is None or task.prompt is None:
        return await asyncio.to_thread(_extracted, task.source)
    return await task.permit.model.ask(task.prompt)


def _extracted(source: Source) -> Summary | Trouble:
    from reedbed.ai.extractive import extract  # three megabytes of words and patterns, once they are needed

    text = _text(source)
    found = extract(source.title, text)
    if not found.text:
        return Trouble("permanent", "There is nothing in this entry to summarise.")
    language = source.language or detect_language(text) or ""
    return Summary(found.text, found.one_line, EXTRACT, language)


def _text(source: Source) -> str:
    return clean_text(source.content[:MOST_HTML])


def _read(task: Task, outcome: Answer | Trouble | Summary) -> Summary | Trouble:
    if not isinstance(outcome, Answer):
        return outcome
    found = read_summary(outcome.text)
    if found is None:
        return Trouble("permanent", UNREADABLE)
    assert task.permit is not None
    return Summary(found.text, found.one_line, task.permit.model.name, task.row.language)


async def _note(
    tx: Tx,
    runtime: Runtime,
    task: Task,
    outcome: Answer | Trouble | Summary,
    written: Summary | Trouble,
) -> list[tuple[int, int]]:
    """The entries whose readers should look again."""
    now, row = runtime.now(), task.row
    used = Usage()
    if task.permit is not None and not isinstance(outcome, Summary):
        used = await settle(tx, runtime, task.permit, outcome, now)
    if isinstance(written, Summary):
        await summaries.save(tx, Made(row.key, row.content_hash, row.variant, written, used), now)
        await summary_queue.done(tx, row, runtime.name)
        return await summaries.entries_of(tx, row.key)
    setback = after_failure(written.kind, row.attempts, row.empties, now)
    if not await summary_queue.set_back(tx, row, runtime.name, setback, written.message):
        return []  # the lease ran out, and whoever has it now decides
    log.warning("a summary failed", key=row.key, kind=written.kind, error=written.message)
    if setback.given_up:
        await summary_queue.drop(tx, row.key)
        await summaries.note_failure(tx, row.key, row.content_hash, written.message, now)
    if setback.given_up or setback.cooldown_until is not None:
        return await summaries.entries_of(tx, row.key)
    return []
