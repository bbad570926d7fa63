"""When chores last ran, kept in the database: a run that was missed is made up for by the next process."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from time import perf_counter
from typing import Any

import structlog
from structlog.contextvars import bound_contextvars

from reedbed.domain.errors import ReedbedError, Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import next_try
from reedbed.domain.times import MINUTE, SECOND, Instant, Millis, is_ahead
from reedbed.domain.users import Allowance
from reedbed.services.runtime import Runtime
from reedbed.store import instance, jobs
from reedbed.store.engine.database import Tx
from reedbed.store.framing import settings as framing
from reedbed.store.jobs import Job

log = structlog.get_logger()

LEASE = 2 * MINUTE
MAX_ATTEMPTS = 5
MAX_DEATHS = 50
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
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "jobs"}))


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
    if job.attempts > MAX_DEATHS:
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
        await jobs.record_progress(
            tx, job.id, runtime.name, share, {"done": done, "total": total, **(report or {})}
        )
    await publish_events(runtime, job, done, total)


async def publish_events(runtime: Runtime, job: Job, done: int, total: int) -> None:
    data = {"job": str(job.id), "kind": job.kind, "done": done, "total": total}
    await runtime.bus.publish(ChangeEvent("progress", user_id=job.user_id, data=data))


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
    final = isinstance(error, ReedbedError) or job.attempts >= MAX_ATTEMPTS
    log.error("a job failed", job=job.id, kind=job.kind, attempt=job.attempts, exc_info=error)
    message = error.message if isinstance(error, ReedbedError) else "Something went wrong. Try again."
    now = runtime.now()
    async with runtime.db.write() as tx:
        if final:
            await jobs.finish(tx, job.id, runtime.name, now, {"error": message}, failed=True)
        else:
            await jobs.put_off(tx, job.id, runtime.name, now + _RETRY * job.attempts)


TTL: Millis = 60 * SECOND


async def acquire(runtime: Runtime, name: str, *, ttl: Millis = TTL) -> bool:
    async with runtime.db.write() as tx:
        return await jobs.acquire_lease(tx, name, runtime.name, runtime.now(), ttl)


async def heartbeat(runtime: Runtime, name: str, *, ttl: Millis = TTL) -> bool:
    """False when another process holds it now."""
    async with runtime.db.write() as tx:
        return await jobs.renew_lease(tx, name, runtime.name, runtime.now(), ttl)


async def release(runtime: Runtime, name: str) -> None:
    async with runtime.db.write() as tx:
        await jobs.release_lease(tx, name, runtime.name)


async def run_exclusively(
    runtime: Runtime, name: str, work: Callable[[], Awaitable[None]], *, ttl: Millis = TTL
) -> bool:
    """Do this if no other process does it; False without doing it otherwise.

    The work is given up when the lease is lost, because then another process does it.
    """
    if not await acquire(runtime, name, ttl=ttl):
        return False
    working = asyncio.ensure_future(work())
    beating = asyncio.create_task(_renew_leases(runtime, name, ttl, working))
    try:
        await working
    finally:
        beating.cancel()
        with suppress(Unavailable):
            await release(runtime, name)
    return True


async def _renew_leases(runtime: Runtime, name: str, ttl: Millis, working: "asyncio.Future[None]") -> None:
    while True:
        await asyncio.sleep(ttl / 3 / SECOND)
        with suppress(Unavailable):
            if not await heartbeat(runtime, name, ttl=ttl):
                log.warning("another process took over", lease=name)
                working.cancel()
                return


FRAMING_JOB = "framing"


async def ask_feed_later(tx: Tx, feed_id: int, now: Instant) -> None:
    await jobs.add(tx, FRAMING_JOB, {"feed_id": feed_id}, now=now)


async def ask_if_wanted(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """Something has arrived or changed in these feeds."""
    for feed_id in await framing.wanted(tx, feed_ids):
        await ask_feed_later(tx, feed_id, now)


async def run_every(
    runtime: Runtime, name: str, every: Millis, chore: Callable[[Runtime], Awaitable[int]]
) -> int:
    """Run it unless it ran within `every`; what it did.

    One that is broken off is run again by the next call. One that fails waits for its next turn.
    """
    now, key = runtime.now(), f"chore_ran_at:{name}"
    last = await _moment(runtime, key)
    if last is not None and now < last + every:
        return 0
    try:
        done = await chore(runtime)
    except Unavailable:
        raise
    except Exception:
        await _note(runtime, key, now)
        raise
    await _note(runtime, key, now)
    return done


async def first_look(runtime: Runtime, name: str) -> Instant | None:
    """Since when the night of a chore that never ran is waited for; None at the first look."""
    key = f"chore_awaited_since:{name}"
    since = await _moment(runtime, key)
    if since is None:
        await _note(runtime, key, runtime.now())
    return since


async def _moment(runtime: Runtime, key: str) -> Instant | None:
    """None also for one that only a wrong clock can have written."""
    async with runtime.db.read() as tx:
        kept = await instance.get_setting(tx, key)
    return None if kept is None or is_ahead(int(kept), runtime.now()) else int(kept)


async def _note(runtime: Runtime, key: str, moment: Instant) -> None:
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, key, str(moment), runtime.now())
