"""The AI worker's steps: claim the next task, call the model, store the result or record the failure."""

import asyncio
from typing import Protocol

import structlog

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.domain.ai import Usage
from reedbed.domain.errors import Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.framing import is_framing
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT, MAX_ATTEMPTS, after_failure
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.domain.translations import is_translation
from reedbed.services import summaries as summary_work
from reedbed.services.ai import (
    AvailableModel,
    ModelUnavailable,
    Permit,
    SaveResult,
    Updated,
    choose_model,
    choose_translator,
    enter,
    settle,
)
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import enqueue_extracts
from reedbed.store import ai, summaries
from reedbed.store.ai import Queued
from reedbed.store.engine.database import Tx


class Work(Protocol):
    @property
    def name(self) -> str:
        """The name used in events."""
        ...

    @property
    def prompt(self) -> Prompt | None:
        """None if no model is needed."""
        ...

    @property
    def user_id(self) -> int | None:
        """The user whose budget is charged; None for the instance's budget."""
        ...

    def write(self) -> SaveResult | ModelError:
        """Write without a model, in a thread."""
        ...

    def read(self, answer: str, model: str) -> SaveResult | ModelError:
        """Parse the model's response."""
        ...

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        """Enqueue a substitute that needs no model, because the model failed."""
        ...

    async def readers(self, tx: Tx) -> Updated:
        """Who to notify that there will be no result."""
        ...


async def load_work(tx: Tx, runtime: Runtime, row: Queued) -> Work | None:
    """None if the result is no longer needed, or the user does not allow sending the text."""
    if is_translation(row.variant):
        from reedbed.services.translations import work as translation_work  # few use it

        return await translation_work.find(tx, runtime, row)
    if is_framing(row.variant):
        from reedbed.services.framing import analyse as framing_work

        return await framing_work.find(tx, runtime, row)
    return await summary_work.find(tx, runtime, row)


log = structlog.get_logger()

PAUSES = (0.1, 1.0, 5.0, 20.0)
"""Seconds between attempts to store a response."""
SHORT_WAIT = 30 * SECOND
"""For shorter waits, no substitutes are written."""


@record
class Task:
    row: Queued
    work: Work
    permit: Permit | None = None
    """None if no model is needed."""


@record
class NothingDue:
    """Nothing to do before this time."""

    until: Instant


@record
class Skipped:
    """The claimed row needed no work; try the next one."""


async def next_task(runtime: Runtime) -> Task | NothingDue | Skipped:
    now = runtime.now()
    async with runtime.db.read() as tx:
        at = await ai.next_at(tx, runtime.ai.lease)
    if at is None or at > now:
        return NothingDue(now + MINUTE if at is None else at)
    async with runtime.db.write() as tx:
        return await _claim_task(tx, runtime, now)


async def write_task(runtime: Runtime, task: Task) -> None:
    """Call the model outside any transaction, then store the result in one transaction.

    A response has cost time and money, so storing it is retried while the database is unavailable.
    """
    try:
        outcome = await _run(task)
    except Exception:
        log.exception("AI task failed unexpectedly", key=task.row.key)
        outcome = ModelError("permanent", Failure(FailureCode.TEXT_FAILED))
    updated = await _store_with_retries(runtime, task, outcome, _parse(task, outcome))
    for entry_id, feed_id in updated:
        data = {"id": str(entry_id), "ids": [str(entry_id)], task.work.name: True}
        await runtime.bus.publish(ChangeEvent("entry_updated", feed_id=feed_id, data=data))


async def give_back(runtime: Runtime, task: Task) -> None:
    """Release the task when the process stops. The reserved cost stays, as the model may still respond."""
    async with runtime.db.write() as tx:
        await ai.release(tx, task.row, runtime.name)


async def _claim_task(tx: Tx, runtime: Runtime, now: Instant) -> Task | NothingDue | Skipped:
    choice = await choose_model(tx, runtime, now)
    models = [EXTRACT]
    if runtime.ai.model is not None:
        if isinstance(choice, AvailableModel):
            models.append(runtime.ai.model.name)
        elif choice.away and choice.until > now + SHORT_WAIT:
            await enqueue_extracts(tx, runtime.ai.model.name, now)
    service = await _choose_service(tx, runtime, now)
    if isinstance(service, AvailableModel):
        models.append(service.model.name)
    row = await ai.claim(tx, models, runtime.name, now, now - runtime.ai.lease)
    if row is None:
        soon = now + 5 * SECOND
        return NothingDue(min(choice.until, soon) if isinstance(choice, ModelUnavailable) else soon)
    work = await load_work(tx, runtime, row)
    if work is None:
        await ai.complete(tx, row, runtime.name)
        return Skipped()
    if row.attempts >= MAX_ATTEMPTS:
        failure = after_failure("temporary", row.attempts, row.empties, now)
        await ai.record_failure(tx, row, runtime.name, failure, Failure(FailureCode.WORKER_STOPPED))
        return Skipped()
    if work.prompt is None:
        return Task(row, work)
    available = service if isinstance(service, AvailableModel) and row.model == service.model.name else choice
    assert isinstance(available, AvailableModel)
    permit = await enter(tx, runtime, available, work.prompt, work.user_id, now)
    if isinstance(permit, ModelUnavailable):
        await ai.postpone(tx, row, runtime.name, permit.until, permit.why)
        await work.stand_in(tx, now)
        return Skipped()
    return Task(row, work, permit)


async def _choose_service(tx: Tx, runtime: Runtime, now: Instant) -> AvailableModel | ModelUnavailable | None:
    """The translation service, if it is another one than the model."""
    translator = runtime.ai.translator
    if translator is None or translator is runtime.ai.model:
        return None
    return await choose_translator(tx, runtime, now)


async def _run(task: Task) -> Completion | SaveResult | ModelError:
    """The model's response, or the result written without a model."""
    if task.permit is None or task.work.prompt is None:
        return await asyncio.to_thread(task.work.write)
    return await task.permit.model.ask(task.work.prompt)


def _parse(task: Task, outcome: Completion | SaveResult | ModelError) -> SaveResult | ModelError:
    if not isinstance(outcome, Completion):
        return outcome
    assert task.permit is not None
    return task.work.read(outcome.text, task.permit.model.name)


async def _store_with_retries(
    runtime: Runtime, task: Task, outcome: Completion | SaveResult | ModelError, result: SaveResult | ModelError
) -> Updated:
    for pause in PAUSES:
        try:
            async with runtime.db.write() as tx:
                return await _store(tx, runtime, task, outcome, result)
        except Unavailable as error:
            log.warning("the database cannot take an answer yet", key=task.row.key, error=error.message)
            await asyncio.sleep(pause)
    async with runtime.db.write() as tx:
        return await _store(tx, runtime, task, outcome, result)


async def _store(
    tx: Tx, runtime: Runtime, task: Task, outcome: Completion | SaveResult | ModelError, result: SaveResult | ModelError
) -> Updated:
    """Store the result or failure; return the entries whose readers get an update event."""
    now, row = runtime.now(), task.row
    used = Usage()
    if task.permit is not None:
        assert isinstance(outcome, Completion | ModelError)
        unreadable = isinstance(result, ModelError) and result.kind == "unreadable"
        used = await settle(tx, runtime, task.permit, outcome, now, readable=not unreadable)
    if not isinstance(result, ModelError):
        updated = await result(tx, runtime, used, now)
        await ai.complete(tx, row, runtime.name)
        return updated
    failure = after_failure(result.kind, row.attempts, row.empties, now)
    if not await ai.record_failure(tx, row, runtime.name, failure, result.failure):
        return []  # the lease expired: its new holder decides
    if task.permit is not None:
        await task.work.stand_in(tx, now)
    log.warning("writing failed", what=task.work.name, key=row.key, kind=result.kind, error=result.failure.message)
    if failure.given_up:
        await ai.remove_queued(tx, row.key)
        await summaries.record_failure(tx, row.key, row.content_hash, result.failure, now)
    if failure.given_up or failure.cooldown_until is not None:
        return await task.work.readers(tx)
    return []
