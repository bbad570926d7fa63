"""Check feeds: fetch, record the outcome, reschedule; claim and release due feeds; throttle hosts."""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from time import perf_counter

import structlog
from structlog.contextvars import bound_contextvars

from reedbed.domain.errors import Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, Gone, NotModified, Outcome, Throttled
from reedbed.domain.refresh.schedule import Bounds
from reedbed.domain.refresh.state import DueFeed, Terms, after_failure, after_unchanged, is_move, rescheduled
from reedbed.domain.times import SECOND, Instant, Millis
from reedbed.events.limits import MAX_WAIT, HostTurn
from reedbed.services.refresh import write as refresh_progress
from reedbed.services.refresh.diff import Check, body_hash, read_document
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Metrics, Runtime
from reedbed.store import refresh
from reedbed.store.engine.database import Database, Tx
from reedbed.store.feeds import feeds
from reedbed.store.feeds.feeds import FetchStats, hour_of
from reedbed.store.refresh import CheckResult

log = structlog.get_logger()

_SECRETS_LOST = Failed("unauthorized", Failure(FailureCode.SECRETS_LOST))
_NOT_STORED = Failed("temporary_error", Failure(FailureCode.FEED_NOT_STORED))


@record
class RefreshReport:
    feed_id: int
    status: str
    """success, temporary_error, permanent_error or unauthorized."""
    new: int = 0
    changed: int = 0
    error: str | None = None


async def refresh_feed(
    runtime: Runtime, due: DueFeed, writer: OutcomeWriter, outcome: Outcome | None = None
) -> RefreshReport:
    """Check a feed that is leased to this process. Results without new entries are written later, in batches.

    With an `outcome`, the feed was fetched just now and is not fetched again.
    """
    started, began = runtime.now(), perf_counter()
    with bound_contextvars(feed=due.id), runtime.tracer.span("check", feed=due.id) as span:
        if outcome is None:
            outcome = _SECRETS_LOST if due.secrets_lost else await runtime.fetcher.fetch(due.request())
        report = await _record_outcome(runtime, writer, start_check(runtime, due, started), outcome)
        span.note(status=report.status, new=report.new, changed=report.changed)
        took = perf_counter() - began
        _log_report(report, took)
    _count_fetch(runtime.metrics, outcome, report, took)
    return report


async def request_refresh(runtime: Runtime, feed_ids: Sequence[int], *, user_id: int | None = None) -> list[int]:
    """Make these feeds due now, except during a Retry-After; return the accepted ones.

    Stopped feeds are started again, disabled ones are not. With a `user_id`, events report the progress.
    """
    now = runtime.now()
    async with runtime.db.write() as tx:
        accepted = await refresh.request_check(tx, feed_ids, now)
        if user_id is not None and accepted:
            await refresh_progress.follow(tx, accepted, user_id, now)
    if accepted:
        await wake_worker(runtime)
    return accepted


async def wake_worker(runtime: Runtime) -> None:
    """Wake a sleeping worker, because something is due now."""
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "feeds"}))


async def reschedule(tx: Tx, runtime: Runtime, feed_id: int) -> None:
    """Recompute the next check from the last one, after the requested interval of a feed has changed."""
    now = runtime.now()
    due = await refresh.scheduled(tx, feed_id, now)
    if due is None:
        return
    if await refresh.is_leased(tx, feed_id, now):
        # The check under way schedules the next one by the old interval, so request another check.
        await refresh.request_check(tx, [feed_id], now)
    else:
        await refresh.reschedule(tx, feed_id, rescheduled(due.state, start_check(runtime, due, now).terms))


def record_crash(runtime: Runtime, due: DueFeed, writer: OutcomeWriter) -> RefreshReport:
    """Record that a check failed because of a bug in Reedbed: back off as after any other failure."""
    return _record_failure(writer, start_check(runtime, due, runtime.now()), _NOT_STORED)


async def _record_outcome(runtime: Runtime, writer: OutcomeWriter, check: Check, outcome: Outcome) -> RefreshReport:
    match outcome:
        case NotModified():
            return _record_unchanged(writer, check, outcome)
        case Fetched():
            return await _record_fetched(runtime, writer, check, outcome)
        case Gone() | Throttled() | Failed():
            return _record_failure(writer, check, outcome)


def _log_report(report: RefreshReport, seconds: float) -> None:
    """Most checks find nothing new, so those are only logged at debug level."""
    fields = {"status": report.status, "took_ms": round(seconds * 1000)}
    if report.error is not None:
        log.info("feed failed", **fields, error=report.error)
    elif report.new or report.changed:
        log.info("feed checked", **fields, new=report.new, changed=report.changed)
    else:
        log.debug("feed checked", **fields)


def _count_fetch(metrics: Metrics, outcome: Outcome, report: RefreshReport, seconds: float) -> None:
    unchanged = isinstance(outcome, NotModified)
    label = "not_modified" if unchanged else "success" if report.status == "success" else "error"
    metrics.fetches.add(label)
    metrics.fetch_seconds.add(seconds)
    if label == "success":
        metrics.fetch_entries.add(report.new)
        metrics.entries.add(by=report.new)


async def _record_fetched(runtime: Runtime, writer: OutcomeWriter, check: Check, fetched: Fetched) -> RefreshReport:
    digest = body_hash(fetched.body)
    if digest == check.due.state.body_hash:
        return _record_unchanged(writer, check, fetched)
    result = await read_document(runtime, check, fetched, digest)
    if isinstance(result, Failed):
        return _record_failure(writer, check, result, size=len(fetched.body))
    result = _with_redirect(result)
    if result.quiet:
        writer.note(result)
        return RefreshReport(check.due.id, "success")
    try:
        stored = await writer.store(result)
    except Unavailable:
        raise
    except Exception:
        log.exception("a feed could not be stored", feed=check.due.id)
        return _record_failure(writer, check, _NOT_STORED)
    if result.about is not None and result.about.hub_url != check.due.about.hub_url:
        await runtime.bus.publish(ChangeEvent("hub_found"))
    return RefreshReport(check.due.id, "success", len(stored.new), len(stored.changed))


def _record_unchanged(writer: OutcomeWriter, check: Check, outcome: NotModified | Fetched) -> RefreshReport:
    due = check.due
    state = after_unchanged(due.state, outcome.hints, outcome.redirected, outcome.status, check.terms)
    size = len(outcome.body) if isinstance(outcome, Fetched) else 0
    writer.note(_with_redirect(CheckResult(due, state, replace(check.stats, unchanged=1, bytes=size))))
    return RefreshReport(due.id, "success")


def _record_failure(
    writer: OutcomeWriter, check: Check, outcome: Gone | Throttled | Failed, *, size: int = 0
) -> RefreshReport:
    state = after_failure(check.due.state, outcome, check.terms)
    writer.note(CheckResult(check.due, state, replace(check.stats, failures=1, bytes=size)))
    return RefreshReport(check.due.id, state.status, error=outcome.message)


def _with_redirect(result: CheckResult) -> CheckResult:
    return replace(result, moved_to=result.state.redirect_url) if is_move(result.state.redirect_count) else result


def start_check(runtime: Runtime, due: DueFeed, started: int) -> Check:
    now, policy = runtime.now(), runtime.fetching
    terms = Terms(
        now=now,
        jitter=random.random(),  # noqa: S311  spreads checks over time, no secret
        bounds=Bounds(base=policy.interval, cap=policy.max_backoff),
        max_failures=due.max_failures or policy.max_failures,
        operator=due.interval,
        subscriber_interval=due.subscriber_interval,
        pushed=due.relies_on_push,
    )
    return Check(due, terms, FetchStats(due.id, hour_of(now), took_ms=now - started))


# --- Host throttling

_MIN_PAUSE = 0.05
_MAX_PAUSE = 1.0


@asynccontextmanager
async def host_slot(runtime: Runtime, host: str) -> AsyncGenerator[None]:
    """Wait for a slot for one request to this host. Slots are shared by all processes.

    With a `host_delay` of 0 there is no waiting.
    """
    if not runtime.fetching.host_delay:
        yield
        return
    turn = await _wait_for_slot(runtime, host)
    try:
        await asyncio.sleep(turn.wait / SECOND)
        yield
    finally:
        await runtime.host_throttle.leave(host, turn.token)


async def _wait_for_slot(runtime: Runtime, host: str) -> HostTurn:
    policy, pause = runtime.fetching, _MIN_PAUSE
    while True:
        turn = await runtime.host_throttle.enter(
            host, policy.host_concurrency, lease=policy.in_flight, delay=policy.host_delay
        )
        if turn is not None:
            return turn
        await asyncio.sleep(pause)
        pause = min(2 * pause, _MAX_PAUSE)


class DatabaseHostThrottle:
    """Host throttling in a PostgreSQL database, for processes without a Redis: one statement to enter, one to leave."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def reserve(self, host: str, delay: Millis) -> Millis:
        async with self._db.write() as tx:
            return await feeds.reserve_turn(tx, host, delay, longest_wait=MAX_WAIT)

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        token = secrets.token_hex(8)
        async with self._db.write() as tx:
            wait = await feeds.enter_host(tx, host, token, limit=limit, lease=lease, delay=delay, longest_wait=MAX_WAIT)
        return None if wait is None else HostTurn(token, wait)

    async def leave(self, host: str, token: str) -> None:
        # If the database is away, the lease ends the turn.
        with suppress(Unavailable):
            async with self._db.write() as tx:
                await feeds.leave_host(tx, host, token)


# --- Claiming due feeds


async def claim(runtime: Runtime, *, limit: int, per_host: int) -> list[DueFeed]:
    async with runtime.db.write() as tx:
        return await refresh.claim_due(
            tx, runtime.name, runtime.now(), limit=limit, lease=runtime.fetching.lease, per_host=per_host
        )


async def give_back(runtime: Runtime, turns: Sequence[tuple[int, Instant]]) -> None:
    """Return unchecked feeds; each is due again at the given time."""
    async with runtime.db.write() as tx:
        await refresh.give_back(tx, runtime.name, turns)


async def release(runtime: Runtime, feed_ids: Sequence[int]) -> None:
    """Return unchecked feeds, which are due as before."""
    async with runtime.db.write() as tx:
        await refresh.release(tx, runtime.name, feed_ids)


async def next_due(runtime: Runtime) -> Instant | None:
    async with runtime.db.read() as tx:
        return await refresh.next_due(tx, runtime.now())
