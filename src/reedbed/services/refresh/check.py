"""The crawl's book: taking feeds in hand and putting them back, and whose turn it is at a host."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from time import perf_counter

import structlog
from structlog.contextvars import bound_contextvars

from reedbed.domain.errors import Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, Gone, NotModified, Outcome, Throttled
from reedbed.domain.refresh.schedule import Bounds
from reedbed.domain.refresh.state import (
    SIGHTINGS_TO_MOVE,
    DueFeed,
    Terms,
    after_failure,
    after_unchanged,
    rescheduled,
)
from reedbed.domain.text import ENTER_AGAIN
from reedbed.domain.times import SECOND, Instant
from reedbed.services.refresh import write as refresh_progress
from reedbed.services.refresh.diff import Check, body_hash, read_document
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Metrics, Runtime
from reedbed.store import refresh
from reedbed.store.engine.database import Tx
from reedbed.store.feeds.feeds import FetchStats, hour_of
from reedbed.store.refresh import CheckResult

log = structlog.get_logger()

_SECRETS_LOST = Failed("unauthorized", ENTER_AGAIN)
_NOT_STORED = Failed("temporary_error", "The feed could not be stored because of an error in Reedbed.")


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
    """Check a feed that is leased to this process. Quiet outcomes are written a moment later, in batches.

    With an `outcome` the server has been asked just now, and is not asked again.
    """
    started, began = runtime.now(), perf_counter()
    with bound_contextvars(feed=due.id), runtime.tracer.span("check", feed=due.id) as span:
        if outcome is None:
            outcome = _SECRETS_LOST if due.secrets_lost else await runtime.fetcher.fetch(due.request())
        report = await _note(runtime, writer, check_of(runtime, due, started), outcome)
        span.note(status=report.status, new=report.new, changed=report.changed)
        took = perf_counter() - began
        _tell(report, took)
    _meter(runtime.meters, outcome, report, took)
    return report


async def request_refresh(
    runtime: Runtime, feed_ids: Sequence[int], *, user_id: int | None = None
) -> list[int]:
    """Put these feeds before the schedule, though never before a running Retry-After; which ones were.

    Stopped feeds come back, disabled ones do not. When a user asks, hints tell the progress.
    """
    now = runtime.now()
    async with runtime.db.write() as tx:
        asked = await refresh.request_check(tx, feed_ids, now)
        if user_id is not None and asked:
            await refresh_progress.follow(tx, asked, user_id, now)
    if asked:
        await wake_worker(runtime)
    return asked


async def wake_worker(runtime: Runtime) -> None:
    """Something is due now: a worker need not sleep until it looks by itself."""
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "feeds"}))


async def reschedule(tx: Tx, runtime: Runtime, feed_id: int) -> None:
    """What people want of a feed has changed: its next check moves, counted from its last one."""
    now = runtime.now()
    due = await refresh.scheduled(tx, feed_id, now)
    if due is None:
        return
    if await refresh.is_leased(tx, feed_id, now):
        # The check under way knows the old wishes, and its outcome sets the next one by them.
        await refresh.request_check(tx, [feed_id], now)
    else:
        await refresh.reschedule(tx, feed_id, rescheduled(due.state, check_of(runtime, due, now).terms))


def note_breakdown(runtime: Runtime, due: DueFeed, writer: OutcomeWriter) -> RefreshReport:
    """The check of this feed failed by a fault of ours: back off like from any other failure."""
    return _note_trouble(writer, check_of(runtime, due, runtime.now()), _NOT_STORED)


async def _note(runtime: Runtime, writer: OutcomeWriter, check: Check, outcome: Outcome) -> RefreshReport:
    match outcome:
        case NotModified():
            return _note_unchanged(writer, check, outcome)
        case Fetched():
            return await _read(runtime, writer, check, outcome)
        case Gone() | Throttled() | Failed():
            return _note_trouble(writer, check, outcome)


def _tell(report: RefreshReport, seconds: float) -> None:
    """Most checks bring nothing: only who asks for more than the ordinary log hears of them."""
    said = {"status": report.status, "took_ms": round(seconds * 1000)}
    if report.error is not None:
        log.info("feed failed", **said, error=report.error)
    elif report.new or report.changed:
        log.info("feed checked", **said, new=report.new, changed=report.changed)
    else:
        log.debug("feed checked", **said)


def _meter(meters: Metrics, outcome: Outcome, report: RefreshReport, seconds: float) -> None:
    unchanged = isinstance(outcome, NotModified)
    ended = "not_modified" if unchanged else "success" if report.status == "success" else "error"
    meters.fetches.add(ended)
    meters.fetch_seconds.add(seconds)
    if ended == "success":
        meters.fetch_entries.add(report.new)
        meters.entries.add(by=report.new)


async def _read(runtime: Runtime, writer: OutcomeWriter, check: Check, fetched: Fetched) -> RefreshReport:
    digest = body_hash(fetched.body)
    if digest == check.due.state.body_hash:
        return _note_unchanged(writer, check, fetched)
    finding = await read_document(runtime, check, fetched, digest)
    if isinstance(finding, Failed):
        return _note_trouble(writer, check, finding, size=len(fetched.body))
    finding = _with_move(finding)
    if finding.quiet:
        writer.note(finding)
        return RefreshReport(check.due.id, "success")
    try:
        stored = await writer.store(finding)
    except Unavailable:
        raise
    except Exception:
        log.exception("a feed could not be stored", feed=check.due.id)
        return _note_trouble(writer, check, _NOT_STORED)
    if finding.about is not None and finding.about.hub_url != check.due.about.hub_url:
        await runtime.bus.publish(ChangeEvent("hub_found"))
    return RefreshReport(check.due.id, "success", len(stored.new), len(stored.changed))


def _note_unchanged(writer: OutcomeWriter, check: Check, outcome: NotModified | Fetched) -> RefreshReport:
    due = check.due
    state = after_unchanged(due.state, outcome.hints, outcome.redirected, outcome.status, check.terms)
    size = len(outcome.body) if isinstance(outcome, Fetched) else 0
    writer.note(_with_move(CheckResult(due, state, replace(check.tally, unchanged=1, bytes=size))))
    return RefreshReport(due.id, "success")


def _note_trouble(
    writer: OutcomeWriter, check: Check, outcome: Gone | Throttled | Failed, *, size: int = 0
) -> RefreshReport:
    state = after_failure(check.due.state, outcome, check.terms)
    writer.note(CheckResult(check.due, state, replace(check.tally, failures=1, bytes=size)))
    return RefreshReport(check.due.id, state.status, error=outcome.message)


def _with_move(finding: CheckResult) -> CheckResult:
    if finding.state.redirect_count < SIGHTINGS_TO_MOVE:
        return finding
    return replace(finding, moved_to=finding.state.redirect_url)


def check_of(runtime: Runtime, due: DueFeed, started: int) -> Check:
    now, policy = runtime.now(), runtime.fetching
    terms = Terms(
        now=now,
        jitter=random.random(),  # noqa: S311  spreads checks over time, no secret
        bounds=Bounds(base=policy.interval, cap=policy.max_backoff),
        max_failures=due.max_failures or policy.max_failures,
        operator=due.interval,
        wish=due.wish,
        pushed=due.relies_on_push,
    )
    return Check(due, terms, FetchStats(due.id, hour_of(now), took_ms=now - started))


_FIRST_LOOK_AGAIN = 0.05
_LAST_LOOK_AGAIN = 1.0


@asynccontextmanager
async def turn_at(runtime: Runtime, host: str) -> AsyncGenerator[None]:
    """One of the few requests in flight at this host, of all processes, when it is its turn.

    With a `host_delay` of 0 every request goes at once.
    """
    if not runtime.fetching.host_delay:
        yield
        return
    token = await _enter(runtime, host)
    try:
        wait = await runtime.pacer.reserve(host, runtime.fetching.host_delay)
        await asyncio.sleep(wait / SECOND)
        yield
    finally:
        await runtime.pacer.leave(host, token)


async def _enter(runtime: Runtime, host: str) -> str:
    policy, pause = runtime.fetching, _FIRST_LOOK_AGAIN
    while (token := await runtime.pacer.enter(host, policy.host_concurrency, policy.in_flight)) is None:
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LAST_LOOK_AGAIN)
    return token


async def claim(runtime: Runtime, *, limit: int, per_host: int) -> list[DueFeed]:
    async with runtime.db.write() as tx:
        return await refresh.claim_due(
            tx,
            runtime.name,
            runtime.now(),
            limit=limit,
            lease=runtime.fetching.lease,
            per_host=per_host,
        )


async def give_back(runtime: Runtime, turns: Sequence[tuple[int, Instant]]) -> None:
    """These were not checked; each is due again at its moment."""
    async with runtime.db.write() as tx:
        await refresh.give_back(tx, runtime.name, turns)


async def release(runtime: Runtime, feed_ids: Sequence[int]) -> None:
    """These were not checked and are due as before."""
    async with runtime.db.write() as tx:
        await refresh.release(tx, runtime.name, feed_ids)


async def next_due(runtime: Runtime) -> Instant | None:
    async with runtime.db.read() as tx:
        return await refresh.next_due(tx, runtime.now())
