"""Jobs: asked for by a request, run by a worker, followed by hints.

A handler does its work in short transactions, may be run again after a crash, and answers `Done` or `Later`.
`job_kinds` is the table of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from time import perf_counter
from typing import Any

import structlog
from structlog.contextvars import bound_contextvars

from reedbed.domain.errors import ReedbedError, Unavailable
from reedbed.domain.hints import Hint
from reedbed.domain.limits import Allowance
from reedbed.domain.records import record
from reedbed.domain.retries import next_try
from reedbed.domain.times import MINUTE, SECOND, Instant, Millis
from reedbed.services.runtime import Runtime
from reedbed.store import jobs
from reedbed.store.jobs import Job

log = structlog.get_logger()

LEASE = 2 * MINUTE
MOST_ATTEMPTS = 5
MOST_DEATHS = 50
"""A machine may go down many times before it is the job's fault."""
_RETRY = 10 * SECOND
_AFTER_TROUBLE = 2 * SECOND
_GIVE_BACK_SECONDS = 2.0


@record
class Done:
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])


@record
class Later:
    """Not finished; call again at this moment."""

    at: Instant


Handler = Callable[[Runtime, Job], Awaitable[Done | Later]]


async def enqueue(
    runtime: Runtime, kind: str, payload: Mapping[str, Any], *, user_id: int | None = None
) -> int:
    async with runtime.db.write() as tx:
        job_id = await jobs.add(tx, kind, payload, now=runtime.now(), user_id=user_id)
    await wake_jobs(runtime)
    return job_id


async def wake_jobs(runtime: Runtime) -> None:
    """A job was added: a worker need not sleep until it looks by itself."""
    await runtime.bus.publish(Hint("wake", data={"for": "jobs"}))


async def claim(runtime: Runtime, kinds: Sequence[str]) -> Job | None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        claimed = await jobs.claim(tx, kinds, runtime.name, now, now + LEASE)
    return claimed[0] if claimed else None


async def run(runtime: Runtime, job: Job, handler: Handler) -> None:
    """Run a claimed job to its end and write down what became of it."""
    began = perf_counter()
    with (
        bound_contextvars(job=job.id, kind=job.kind),
        runtime.tracer.span(f"job {job.kind}", job=job.id) as span,
    ):
        ended = await _run(runtime, job, handler)
        span.note(status=ended or "goes on later")
    runtime.meters.job_seconds.add(perf_counter() - began, job.kind)
    if ended is not None:
        runtime.meters.jobs.add(job.kind, ended)


async def _run(runtime: Runtime, job: Job, handler: Handler) -> str | None:
    """How it ended; None when it goes on later."""
    if job.attempts > MOST_DEATHS:
        await _note_failure(runtime, job, RuntimeError("whoever ran it died"))
        return "failed"
    beating = asyncio.create_task(_beat(runtime, job))
    try:
        outcome = await handler(runtime, job)
    except (Unavailable, asyncio.CancelledError):
        await _give_back(runtime, job)
        raise
    except Exception as error:
        await _note_failure(runtime, job, error)
        return "failed"
    else:
        await _note_outcome(runtime, job, outcome)
        return "completed" if isinstance(outcome, Done) else None
    finally:
        beating.cancel()


async def note_progress(
    runtime: Runtime, job: Job, done: int, total: int, report: Mapping[str, Any] | None = None
) -> None:
    """Keep how far a job is and tell its user's pages."""
    share = done / total if total else 1.0
    async with runtime.db.write() as tx:
        await jobs.note(tx, job.id, runtime.name, share, {"done": done, "total": total, **(report or {})})
    await announce(runtime, job, done, total)


async def announce(runtime: Runtime, job: Job, done: int, total: int) -> None:
    data = {"job": str(job.id), "kind": job.kind, "done": done, "total": total}
    await runtime.bus.publish(Hint("progress", user_id=job.user_id, data=data))


def try_again(runtime: Runtime, job: Job, *, give_up_after: Millis, least: Millis = MINUTE) -> Later | None:
    """When to come back to a server that did not take it; None when it was tried long enough."""
    at = next_try(job.created_at, runtime.now(), give_up_after=give_up_after, least=least)
    return None if at is None else Later(at)


async def pace(runtime: Runtime, key: str, allowance: Allowance) -> Later | None:
    """When to come back if this was done too often already."""
    wait = await runtime.limiter.wait_for(key, allowance)
    return Later(runtime.now() + int(wait * SECOND) + SECOND) if wait > 0 else None


async def _beat(runtime: Runtime, job: Job) -> None:
    while True:
        await asyncio.sleep(LEASE / 3 / SECOND)
        try:
            async with runtime.db.write() as tx:
                await jobs.renew(tx, job.id, runtime.name, runtime.now() + LEASE)
        except Unavailable as error:
            log.warning("a job's lease could not be renewed", job=job.id, error=error.message)


async def _give_back(runtime: Runtime, job: Job) -> None:
    """It is no fault of the job. Where even this cannot be noted, it waits until its lease has run out."""
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(_GIVE_BACK_SECONDS):
            await _note_outcome(runtime, job, Later(runtime.now() + _AFTER_TROUBLE))


async def _note_outcome(runtime: Runtime, job: Job, outcome: Done | Later) -> None:
    async with runtime.db.write() as tx:
        if isinstance(outcome, Done):
            await jobs.finish(tx, job.id, runtime.name, runtime.now(), outcome.report)
        else:
            await jobs.forgive(tx, job.id, runtime.name, job.attempts - 1)
            await jobs.put_off(tx, job.id, runtime.name, outcome.at)


async def _note_failure(runtime: Runtime, job: Job, error: Exception) -> None:
    final = isinstance(error, ReedbedError) or job.attempts >= MOST_ATTEMPTS
    log.error("a job failed", job=job.id, kind=job.kind, attempt=job.attempts, exc_info=error)
    message = error.message if isinstance(error, ReedbedError) else "Something went wrong. Try again."
    now = runtime.now()
    async with runtime.db.write() as tx:
        if final:
            await jobs.finish(tx, job.id, runtime.name, now, {"error": message}, failed=True)
        else:
            await jobs.put_off(tx, job.id, runtime.name, now + _RETRY * job.attempts)
