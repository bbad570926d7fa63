"""Background work: queued jobs, leases for work that one process does, and the times of periodic chores."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from time import perf_counter
from typing import Any

import structlog
from structlog.contextvars import bound_contextvars

from reedbed.domain.errors import ReedbedError, TooSlow, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.live import ChangeEvent
from reedbed.domain.push import PushNote
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
"""The process may die this often before the job itself is blamed."""
_RETRY = 10 * SECOND
_RETRY_WHEN_UNAVAILABLE = 2 * SECOND
_RELEASE_SECONDS = 2.0


@record
class Done:
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])


@record
class Later:
    """Not finished; call the handler again at this time."""

    at: Instant


Handler = Callable[[Runtime, Job], Awaitable[Done | Later]]


async def failure_of(work: Awaitable[None], otherwise: Failure, *, event: str, **fields: object) -> Failure | None:
    """Do work whose failure is shown to its user. If something is unavailable for a moment, the job runs again."""
    try:
        await work
    except TooSlow as error:
        return error.failure
    except Unavailable:
        raise
    except ReedbedError as error:
        return error.failure
    except Exception:
        log.exception(event, **fields)
        return otherwise
    return None


async def enqueue(runtime: Runtime, kind: str, payload: Mapping[str, object], *, user_id: int | None = None) -> int:
    async with runtime.db.write() as tx:
        job_id = await jobs.add(tx, kind, payload, now=runtime.now(), user_id=user_id)
    await wake_jobs(runtime)
    return job_id


async def wake_jobs(runtime: Runtime) -> None:
    """Wake a worker for a new job, instead of waiting for its next poll."""
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "jobs"}))


async def claim(runtime: Runtime, kinds: Sequence[str]) -> Job | None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        claimed = await jobs.claim(tx, kinds, runtime.name, now, now + LEASE)
    return claimed[0] if claimed else None


async def run(runtime: Runtime, job: Job, handler: Handler) -> None:
    """Run a claimed job and record its result."""
    began = perf_counter()
    with bound_contextvars(job=job.id, kind=job.kind), runtime.tracer.span(f"job {job.kind}", job=job.id) as span:
        status = await _run(runtime, job, handler)
        span.note(status=status or "goes on later")
    runtime.metrics.job_seconds.add(perf_counter() - began, job.kind)
    if status is not None:
        runtime.metrics.jobs.add(job.kind, status)


async def _run(runtime: Runtime, job: Job, handler: Handler) -> str | None:
    """The final status; None if the job continues later."""
    if job.attempts > MAX_DEATHS:
        await _record_failure(runtime, job, RuntimeError("whoever ran it died"))
        return "failed"
    heartbeat_task = asyncio.create_task(_renew_job_lease(runtime, job))
    try:
        outcome = await handler(runtime, job)
    except (Unavailable, asyncio.CancelledError):
        await _release_job(runtime, job)
        raise
    except Exception as error:
        await _record_failure(runtime, job, error)
        return "failed"
    else:
        await _record_result(runtime, job, outcome)
        return "completed" if isinstance(outcome, Done) else None
    finally:
        heartbeat_task.cancel()


async def report_job_progress(
    runtime: Runtime, job: Job, done: int, total: int, report: Mapping[str, object] | None = None
) -> None:
    """Record the progress of a job and publish it to its user's pages."""
    share = done / total if total else 1.0
    async with runtime.db.write() as tx:
        await jobs.record_progress(tx, job.id, runtime.name, share, {"done": done, "total": total, **(report or {})})
    await publish_events(runtime, job, done, total)


async def publish_events(runtime: Runtime, job: Job, done: int, total: int) -> None:
    data = {"job": str(job.id), "kind": job.kind, "done": done, "total": total}
    await runtime.bus.publish(ChangeEvent("progress", user_id=job.user_id, data=data))


def try_again(runtime: Runtime, job: Job, *, give_up_after: Millis, min_wait: Millis = MINUTE) -> Later | None:
    """When to retry a server that rejected the request; None to give up."""
    at = next_try(job.created_at, runtime.now(), give_up_after=give_up_after, min_wait=min_wait)
    return None if at is None else Later(at)


async def pace(runtime: Runtime, key: str, allowance: Allowance) -> Later | None:
    """When to continue, if the rate limit is exceeded."""
    wait = await runtime.limiter.wait_for(key, allowance)
    return Later(runtime.now() + int(wait * SECOND) + SECOND) if wait > 0 else None


async def _renew_job_lease(runtime: Runtime, job: Job) -> None:
    while True:
        await asyncio.sleep(LEASE / 3 / SECOND)
        try:
            async with runtime.db.write() as tx:
                await jobs.renew(tx, job.id, runtime.name, runtime.now() + LEASE)
        except Unavailable as error:
            log.warning("a job's lease could not be renewed", job=job.id, error=error.message)


async def _release_job(runtime: Runtime, job: Job) -> None:
    """Requeue a job that is not at fault. If that fails too, it waits until its lease expires."""
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(_RELEASE_SECONDS):
            await _record_result(runtime, job, Later(runtime.now() + _RETRY_WHEN_UNAVAILABLE))


async def _record_result(runtime: Runtime, job: Job, outcome: Done | Later) -> None:
    async with runtime.db.write() as tx:
        if isinstance(outcome, Done):
            await jobs.finish(tx, job.id, runtime.name, runtime.now(), outcome.report)
        else:
            await jobs.uncount_attempt(tx, job.id, runtime.name, job.attempts - 1)
            await jobs.put_off(tx, job.id, runtime.name, outcome.at)


async def _record_failure(runtime: Runtime, job: Job, error: Exception) -> None:
    final = isinstance(error, ReedbedError) or job.attempts >= MAX_ATTEMPTS
    log.error("a job failed", job=job.id, kind=job.kind, attempt=job.attempts, exc_info=error)
    failure = error.failure if isinstance(error, ReedbedError) else Failure(FailureCode.UNEXPECTED)
    now = runtime.now()
    async with runtime.db.write() as tx:
        if final:
            await jobs.finish(tx, job.id, runtime.name, now, {"error": failure.dump()}, failed=True)
        else:
            await jobs.put_off(tx, job.id, runtime.name, now + _RETRY * job.attempts)


# --- Leases

TTL: Millis = 60 * SECOND


async def acquire(runtime: Runtime, name: str, *, ttl: Millis = TTL) -> bool:
    async with runtime.db.write() as tx:
        return await jobs.acquire_lease(tx, name, runtime.name, runtime.now(), ttl)


async def heartbeat(runtime: Runtime, name: str, *, ttl: Millis = TTL) -> bool:
    """Renew the lease; False if another process holds it now."""
    async with runtime.db.write() as tx:
        return await jobs.renew_lease(tx, name, runtime.name, runtime.now(), ttl)


async def release(runtime: Runtime, name: str) -> None:
    async with runtime.db.write() as tx:
        await jobs.release_lease(tx, name, runtime.name)


async def run_exclusively(
    runtime: Runtime, name: str, work: Callable[[], Awaitable[None]], *, ttl: Millis = TTL
) -> bool:
    """Do the work unless another process is doing it; return whether it was done.

    The work is cancelled if the lease is lost, because another process then does it.
    """
    if not await acquire(runtime, name, ttl=ttl):
        return False
    task = asyncio.ensure_future(work())
    renewal = asyncio.create_task(_renew_until_lost(runtime, name, ttl, task))
    try:
        await task
    finally:
        renewal.cancel()
        with suppress(Unavailable):
            await release(runtime, name)
    return True


async def _renew_until_lost(runtime: Runtime, name: str, ttl: Millis, task: "asyncio.Future[None]") -> None:
    while True:
        await asyncio.sleep(ttl / 3 / SECOND)
        with suppress(Unavailable):
            if not await heartbeat(runtime, name, ttl=ttl):
                log.warning("another process took the lease", lease=name)
                task.cancel()
                return


# --- Framing jobs

FRAMING_JOB = "framing"


async def enqueue_framing(tx: Tx, feed_id: int, now: Instant) -> None:
    await jobs.add(tx, FRAMING_JOB, {"feed_id": feed_id}, now=now)


async def enqueue_framing_if_enabled(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """Enqueue framing for those of these feeds that use it, because their entries changed."""
    for feed_id in await framing.wanted(tx, feed_ids):
        await enqueue_framing(tx, feed_id, now)


BOOK_JOB = "book"
SHARE_JOB = "share"
MAX_SHARED_MATCHES = 200


async def enqueue_shared_matches(
    tx: Tx, user_id: int, target_id: int, rule_name: str, entry_ids: Sequence[int], now: Instant
) -> None:
    """Send the entries that a rule matched: one message to a service that shows messages, else one link each."""
    shared = {"target_id": target_id, "entry_ids": list(entry_ids[:MAX_SHARED_MATCHES]), "count": len(entry_ids)}
    await jobs.add(tx, SHARE_JOB, {**shared, "rule": rule_name}, now=now, user_id=user_id)


async def enqueue_shared_note(tx: Tx, user_id: int, target_ids: Sequence[int], note: PushNote, now: Instant) -> None:
    """Send a message of Reedbed's own to services."""
    message = {"title": note.title, "text": note.body, "path": note.url}
    for target_id in target_ids:
        await jobs.add(tx, SHARE_JOB, {"target_id": target_id, "message": message}, now=now, user_id=user_id)


# --- Periodic chores. The last runs of rare ones are stored, so that the next process catches up on a missed run.


async def run_every(runtime: Runtime, name: str, every: Millis, chore: Callable[[Runtime], Awaitable[int]]) -> int:
    """Run the chore unless it ran within `every`; return its count.

    The next call repeats an interrupted run. A run that failed waits for its next turn.
    """
    if every <= MINUTE:  # as often as the scheduler tries
        return await chore(runtime)
    now, key = runtime.now(), f"chore_ran_at:{name}"
    last = await _read_time(runtime, key)
    if last is not None and now < last + every:
        return 0
    try:
        done = await chore(runtime)
    except Unavailable:
        raise
    except Exception:
        await _save_time(runtime, key, now)
        raise
    await _save_time(runtime, key, now)
    return done


async def awaited_since(runtime: Runtime, name: str) -> Instant | None:
    """Since when a nightly chore that never ran has been waiting; None at the first call."""
    key = f"chore_awaited_since:{name}"
    since = await _read_time(runtime, key)
    if since is None:
        await _save_time(runtime, key, runtime.now())
    return since


async def _read_time(runtime: Runtime, key: str) -> Instant | None:
    """None also for a time in the future, which only a wrong clock can have written."""
    async with runtime.db.read() as tx:
        stored = await instance.get_setting(tx, key)
    return None if stored is None or is_ahead(int(stored), runtime.now()) else int(stored)


async def _save_time(runtime: Runtime, key: str, time: Instant) -> None:
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, key, str(time), runtime.now())
