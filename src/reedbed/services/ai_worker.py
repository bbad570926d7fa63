"""What an AI worker does: take the next thing that may be written now, write it, note what became of it."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.domain.ai import Usage
from reedbed.domain.errors import Unavailable
from reedbed.domain.framing import is_framing
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT, MAX_ATTEMPTS, after_failure
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.services import summaries as summary_work
from reedbed.services.ai import AvailableModel, ModelUnavailable, Permit, choose_model, enter, settle
from reedbed.services.framing import analyse as framing_work
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import stand_in_for_all
from reedbed.store import ai, summaries
from reedbed.store.ai import Queued
from reedbed.store.engine.database import Tx

Told = Sequence[tuple[int, int]]
"""Entries, each with its feed, whose readers should look again."""


class Work(Protocol):
    @property
    def name(self) -> str:
        """As events call it."""
        ...

    @property
    def prompt(self) -> Prompt | None:
        """None: it is written without a model."""
        ...

    @property
    def user_id(self) -> int | None:
        """Whose budget it is; None for the instance's own."""
        ...

    def write(self) -> Any:
        """Without a model, in a thread; a `Trouble` where that fails."""
        ...

    def read(self, answer: str, model: str) -> Any:
        """What the model wrote, or the `Trouble` with it."""
        ...

    async def keep(self, tx: Tx, runtime: Runtime, written: Any, used: Usage, now: Instant) -> Told: ...

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        """The model failed: have what can be written without one written meanwhile."""
        ...

    async def readers(self, tx: Tx) -> Told:
        """Whom to tell that nothing comes."""
        ...


async def find_work(tx: Tx, runtime: Runtime, row: Queued) -> Work | None:
    """None when it needs no writing any more, or whoever asked would not have it sent."""
    kind = framing_work if is_framing(row.variant) else summary_work
    return await kind.find(tx, runtime, row)


log = structlog.get_logger()

PAUSES = (0.1, 1.0, 5.0, 20.0)
"""Seconds before an answer is noted again."""
SHORT_WAIT = 30 * SECOND
"""A model that is asked again sooner needs nobody to stand in for it."""
WORKER_DIED = "The worker stopped in the middle of it."


@record
class Task:
    row: Queued
    work: Work
    permit: Permit | None = None
    """None: it is written without a model."""


@record
class NothingDue:
    """Nothing to do before this moment."""

    until: Instant


@record
class Skipped:
    """The row needed no writing; look again."""


async def next_task(runtime: Runtime) -> Task | NothingDue | Skipped:
    now = runtime.now()
    async with runtime.db.read() as tx:
        at = await ai.next_at(tx, runtime.ai.lease)
    if at is None or at > now:
        return NothingDue(now + MINUTE if at is None else at)
    async with runtime.db.write() as tx:
        return await _take(tx, runtime, now)


async def write_task(runtime: Runtime, task: Task) -> None:
    """The model is asked outside any transaction; one write notes the end of it.

    An answer has cost time and money, so a database that cannot take it now is asked a few times more.
    """
    try:
        outcome = await _outcome(task)
    except Exception:
        log.exception("writing broke down", key=task.row.key)
        outcome = ModelError("permanent", "This text could not be worked on.")
    told = await _noted(runtime, task, outcome, _read(task, outcome))
    for entry_id, feed_id in told:
        data = {"id": str(entry_id), "ids": [str(entry_id)], task.work.name: True}
        await runtime.bus.publish(ChangeEvent("entry_updated", feed_id=feed_id, data=data))


async def give_back(runtime: Runtime, task: Task) -> None:
    """The process stops: another takes it. What was reserved stays counted, the answer may be under way."""
    async with runtime.db.write() as tx:
        await ai.release(tx, task.row, runtime.name)


async def _take(tx: Tx, runtime: Runtime, now: Instant) -> Task | NothingDue | Skipped:
    door = await choose_model(tx, runtime, now)
    models = [EXTRACT]
    if runtime.ai.model is not None:
        if isinstance(door, AvailableModel):
            models.append(runtime.ai.model.name)
        elif door.away and door.until > now + SHORT_WAIT:
            await stand_in_for_all(tx, runtime.ai.model.name, now)
    row = await ai.claim(tx, models, runtime.name, now, now - runtime.ai.lease)
    if row is None:
        soon = now + 5 * SECOND
        return NothingDue(min(door.until, soon) if isinstance(door, ModelUnavailable) else soon)
    work = await find_work(tx, runtime, row)
    if work is None:
        await ai.complete(tx, row, runtime.name)
        return Skipped()
    if row.attempts >= MAX_ATTEMPTS:
        setback = after_failure("temporary", row.attempts, row.empties, now)
        await ai.record_failure(tx, row, runtime.name, setback, WORKER_DIED)
        return Skipped()
    if work.prompt is None:
        return Task(row, work)
    assert isinstance(door, AvailableModel)
    permit = await enter(tx, runtime, door, work.prompt, work.user_id, now)
    if isinstance(permit, ModelUnavailable):
        await ai.postpone(tx, row, runtime.name, permit.until, permit.why)
        await work.stand_in(tx, now)
        return Skipped()
    return Task(row, work, permit)


async def _outcome(task: Task) -> Any:
    """What the model answered, or what was written without one."""
    if task.permit is None or task.work.prompt is None:
        return await asyncio.to_thread(task.work.write)
    return await task.permit.model.ask(task.work.prompt)


def _read(task: Task, outcome: Any) -> Any:
    if not isinstance(outcome, Completion):
        return outcome
    assert task.permit is not None
    return task.work.read(outcome.text, task.permit.model.name)


async def _noted(runtime: Runtime, task: Task, outcome: Any, written: Any) -> Told:
    for pause in PAUSES:
        try:
            async with runtime.db.write() as tx:
                return await _note(tx, runtime, task, outcome, written)
        except Unavailable as error:
            log.warning("the database cannot take an answer yet", key=task.row.key, error=error.message)
            await asyncio.sleep(pause)
    async with runtime.db.write() as tx:
        return await _note(tx, runtime, task, outcome, written)


async def _note(tx: Tx, runtime: Runtime, task: Task, outcome: Any, written: Any) -> Told:
    """The entries whose readers should look again."""
    now, row = runtime.now(), task.row
    used = Usage()
    if task.permit is not None:
        unreadable = isinstance(written, ModelError) and written.kind == "unreadable"
        used = await settle(tx, runtime, task.permit, outcome, now, readable=not unreadable)
    if not isinstance(written, ModelError):
        told = await task.work.keep(tx, runtime, written, used, now)
        await ai.complete(tx, row, runtime.name)
        return told
    setback = after_failure(written.kind, row.attempts, row.empties, now)
    if not await ai.record_failure(tx, row, runtime.name, setback, written.message):
        return []  # the lease ran out, and whoever has it now decides
    if task.permit is not None:
        await task.work.stand_in(tx, now)
    log.warning("writing failed", what=task.work.name, key=row.key, kind=written.kind, error=written.message)
    if setback.given_up:
        await ai.remove_queued(tx, row.key)
        await summaries.record_failure(tx, row.key, row.content_hash, written.message, now)
    if setback.given_up or setback.cooldown_until is not None:
        return await task.work.readers(tx)
    return []
