"""The instance: health checks, status, metrics, backups, database moves, and heartbeats of processes."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import structlog

from reedbed import __version__
from reedbed.domain.ai import effective_state
from reedbed.domain.errors import CannotStart, ReedbedError, Unavailable
from reedbed.domain.failures import Failure, failure_message, load_failure
from reedbed.domain.instance import PROBLEMS, SILENT_AFTER, Gauge, Measured, Problem, exposition, problems
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.retention import is_due
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis
from reedbed.domain.users import User
from reedbed.services.jobs import awaited_since, run_exclusively
from reedbed.services.runtime import Runtime
from reedbed.services.search.upkeep import index_everything
from reedbed.store import ai, startup, users
from reedbed.store import instance as instance_store
from reedbed.store import jobs as processes
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Tx
from reedbed.store.feeds.feeds import hour_of
from reedbed.store.jobs import Process

if TYPE_CHECKING:
    from reedbed.store.copy import Moved, Tell

log = structlog.get_logger()

EVERY: Millis = 5 * MINUTE
RECHECK_EVERY: Millis = MINUTE
"""Checked more often, so that a repair shows soon."""
POLL_SECONDS = 20.0
REPORT, WARNING, OPEN_SINCE = "health_report", "health_warning", "breaker_open_since"
SIZE_WARNING, BACKUP_WARNING = "db_size_warning", "backup_warning"
"""Settings that hold a stored failure, or nothing."""


async def watch(runtime: Runtime) -> None:
    """Run until cancelled: check when a check is due, else read the results of other processes."""
    while True:
        await asyncio.sleep(POLL_SECONDS)
        try:
            await _check_if_due(runtime)
        except Unavailable:
            runtime.health.problems = (PROBLEMS["database"],)
        except ReedbedError as error:
            log.warning("health could not be checked", error=error.message)
        except Exception:
            log.exception("health could not be checked")


async def check(runtime: Runtime) -> tuple[Problem, ...]:
    """Check now; save and log the problems."""
    problems_now = await check_health(runtime)
    async with runtime.db.write() as tx:
        before = {problem.check for problem in await reported(tx)}
        await _save_report(tx, problems_now, runtime.now())
    _log_problems(problems_now, before)
    runtime.health.problems = problems_now
    return problems_now


async def check_health(runtime: Runtime) -> tuple[Problem, ...]:
    """Check without saving or logging."""
    return problems(await _measure(runtime))


async def reported(tx: Tx) -> tuple[Problem, ...]:
    """The problems found by the last check."""
    report = await instance_store.get_setting(tx, REPORT)
    checks = [problem["check"] for problem in orjson.loads(report)["problems"]] if report else []
    return tuple(PROBLEMS[check] for check in checks if check in PROBLEMS)


async def _check_if_due(runtime: Runtime) -> None:
    async with runtime.db.read() as tx:
        at, runtime.health.problems = await _checked_at(tx), await reported(tx)
    if not at <= runtime.now() < at + (RECHECK_EVERY if runtime.health.problems else EVERY):

        async def work() -> None:
            await check(runtime)

        await run_exclusively(runtime, "health", work)


async def _checked_at(tx: Tx) -> Instant:
    report = await instance_store.get_setting(tx, REPORT)
    return orjson.loads(report)["at"] if report else 0


async def _measure(runtime: Runtime) -> Measured:
    now = runtime.now()
    async with runtime.db.read() as tx:
        measures = await instance_store.list_problems(tx, hour_of(now) - HOUR)
        overdue = _since(measures.first_due, now)
        last = await instance_store.last_check(tx) if overdue > SILENT_AFTER else now
        too_large = await instance_store.get_setting(tx, SIZE_WARNING)
        backup_failed = await instance_store.get_setting(tx, BACKUP_WARNING)
    return Measured(
        free_bytes=await _free_bytes(runtime),
        too_large=bool(too_large),
        backup_failed=bool(backup_failed),
        workers=measures.workers,
        oldest_in_queue=_since(measures.oldest_lock, now),
        oldest_job=_since(measures.oldest_job, now),
        breaker_open_for=await _breaker_open_for(runtime, now),
        overdue=overdue,
        last_check=None if last is None else now - last,
        checks=measures.checks,
        failures=measures.failures,
    )


async def _breaker_open_for(runtime: Runtime, now: Instant) -> Millis:
    """The breaker opens and half-opens all the time; count from when it was last seen closed."""
    if runtime.ai.model is None:
        return 0
    async with runtime.db.write() as tx:
        breaker = await ai.get_breaker(tx, runtime.ai.model.name)
        since = int(await instance_store.get_setting(tx, OPEN_SINCE) or 0)
        if breaker.state == "CLOSED" or not since:
            since = 0 if breaker.state == "CLOSED" else now
            await instance_store.set_setting(tx, OPEN_SINCE, str(since), now)
    return now - since if since else 0


async def _free_bytes(runtime: Runtime) -> int | None:
    if not runtime.volume:
        return None
    with suppress(OSError):
        return (await asyncio.to_thread(shutil.disk_usage, os.fspath(runtime.volume))).free
    return None


async def _save_report(tx: Tx, problems_now: Sequence[Problem], now: Instant) -> None:
    report = orjson.dumps({"at": now, "problems": [{"check": problem.check} for problem in problems_now]}).decode()
    await instance_store.set_setting(tx, REPORT, report, now)
    await instance_store.set_setting(tx, WARNING, " ".join(problem.text for problem in problems_now), now)


def _log_problems(problems_now: Sequence[Problem], before: set[str]) -> None:
    for problem in problems_now:
        write = log.error if problem.alarm else log.warning
        write("health problem", check=problem.check, problem=problem.text, new=problem.check not in before)
    for check_name in sorted(before - {problem.check for problem in problems_now}):
        log.info("health problem is gone", check=check_name)


def _since(instant: Instant | None, now: Instant) -> Millis:
    return 0 if instant is None else max(0, now - instant)


# --- Status

MEGABYTE = 1_000_000


@record
class QueueState:
    """The length of the model's queue and the state of its breaker."""

    size: int = 0
    breaker: str = "CLOSED"


@record
class Status:
    feeds_count: int
    posts_count: int
    unread_count: int
    queue_size: int
    circuit_breaker: str
    health_warning: str | None
    db_size_mb: float | None
    """Only for operators."""
    problems: tuple[Problem, ...] | None
    """Only for operators."""
    version: str


async def current_status(runtime: Runtime, user: User) -> Status:
    queue = await queue_state(runtime)
    async with runtime.db.read() as tx:
        counts = await instance_store.count_all(tx, user.id)
        warning = await instance_store.get_setting(tx, WARNING) or failure_message(
            load_failure(await instance_store.get_setting(tx, SIZE_WARNING))
        )
        size = await instance_store.size_in_bytes(tx) if user.operates else None
        problems = await reported(tx) if user.operates else None
    return Status(
        feeds_count=counts.feeds,
        posts_count=counts.posts,
        unread_count=counts.unread,
        queue_size=queue.size,
        circuit_breaker=queue.breaker,
        health_warning=warning or None,
        db_size_mb=None if size is None else round(size / MEGABYTE, 1),
        problems=problems,
        version=__version__,
    )


async def queue_state(runtime: Runtime) -> QueueState:
    now = runtime.now()
    async with runtime.db.read() as tx:
        sizes = await ai.queue_sizes(tx, now, now - runtime.ai.lease)
        if runtime.ai.model is None:
            return QueueState(sizes.all)
        breaker = await ai.get_breaker(tx, runtime.ai.model.name)
    return QueueState(sizes.all, effective_state(breaker, runtime.ai.breaker, now))


# --- Metrics

AI_QUEUE, FEED_QUEUE = "ai", "feeds"


async def metrics_text(runtime: Runtime) -> str:
    """Without its database a process still reports its own counters."""
    try:
        async with runtime.db.read() as tx:
            instance = await _instance_gauges(tx, runtime)
    except Unavailable:
        instance = ()
    return exposition([*runtime.metrics.counted(), *_process_gauges(runtime), *instance])


def _process_gauges(runtime: Runtime) -> Sequence[Gauge]:
    pool = runtime.db.pool_use()
    return [
        Gauge("sse_connections_active", "Open live streams.", {(): runtime.metrics.open_streams}),
        Gauge(
            "health_problem",
            "1 for each check that is not well.",
            {(problem.check,): 1 for problem in runtime.health.problems},
            ("check",),
        ),
        Gauge("db_pool_in_use", "Database connections at work.", {(): pool.in_use}),
        Gauge("db_pool_size", "The most database connections of this process.", {(): pool.size}),
        Gauge("reedbed_info", "What runs.", {(__version__, runtime.db.engine): 1}, ("version", "engine")),
    ]


async def _instance_gauges(tx: Tx, runtime: Runtime) -> Sequence[Gauge]:
    now = runtime.now()
    due, oldest = await instance_store.count_due(tx, now)
    queue = await ai.queue_sizes(tx, now, now - runtime.ai.lease)
    jobs = {
        (queue_line.kind,): queue_line.waiting + queue_line.running
        for queue_line in await instance_store.list_queues(tx)
    }
    return [
        Gauge(
            "job_queue_depth",
            "What waits or runs, by type.",
            {**jobs, (AI_QUEUE,): queue.all, (FEED_QUEUE,): due},
            ("type",),
        ),
        Gauge(
            "feed_fetch_lag_seconds",
            "How long the longest waiting feed is overdue.",
            {(): max(0, now - oldest) / SECOND if oldest is not None else 0},
        ),
        Gauge("active_users_daily", "People seen within a day.", {(): await users.active_since(tx, now - DAY)}),
        Gauge("db_size_bytes", "The size of the database.", {(): await instance_store.size_in_bytes(tx)}),
    ]


# --- Backups and moves


async def back_up_when_due(runtime: Runtime) -> Path | None:
    """Back up once a day at the hour of the cleanup, before it; return the copy, if one was made."""
    policy, now = runtime.backups, runtime.now()
    if policy is None:
        return None
    last = await asyncio.to_thread(startup.latest_copy, policy, now)
    if last is None:
        last = await awaited_since(runtime, "backup")
    local = datetime.fromtimestamp(now / SECOND).astimezone()
    if not is_due(last, now, local, runtime.keeping.hour):
        return None
    try:
        copy = await asyncio.to_thread(startup.make_daily_copy, policy, now)
    except ReedbedError as error:
        log.error("the nightly copy failed", error=error.message)
        await _warn(runtime, error.failure)
        return None
    await _warn(runtime, None)
    log.info("copied the database", file=str(copy))
    return copy


async def _warn(runtime: Runtime, warning: Failure | None) -> None:
    async with runtime.db.write() as tx:
        await instance_store.set_setting(tx, BACKUP_WARNING, warning.dump() if warning else "", runtime.now())


async def move_collection(
    source_url: str, target_url: str, tell: "Tell", tell_indexed: Callable[[int], None]
) -> "Moved":
    """Copy everything or nothing: the source is only read, and a failed target is left empty."""
    from reedbed.store.copy import copy_everything  # imports asyncpg, even for SQLite

    if source_url == target_url:
        raise CannotStart("This is the database that is in use already.")
    moved = await copy_everything(source_url, target_url, tell)
    db = await open_database(target_url, pool_size=2)
    try:
        await index_everything(db, tell_indexed)
        await db.vacuum()
    finally:
        await db.close()
    return moved


# --- Heartbeats. A worker frees the work of a dead process long before its leases expire.

HEARTBEAT_SECONDS = 5.0


async def live(runtime: Runtime, role: str) -> None:
    """Send heartbeats until cancelled, then remove this process from the list."""
    started_at, last_heartbeat = runtime.now(), time.monotonic()
    try:
        while True:
            if runtime.clock_guard.note(runtime.now()):
                log.warning("the clock jumped; nothing is deleted for its age within the next hour")
            # After this process or the database paused, the others look dead too: wait for their heartbeats.
            no_pause = time.monotonic() - last_heartbeat < processes.SILENT_FOR / SECOND / 2
            if await _send_heartbeat(runtime, role, started_at, may_remove_dead=role != "web" and no_pause):
                last_heartbeat = time.monotonic()
            await asyncio.sleep(HEARTBEAT_SECONDS)
    finally:
        with suppress(Unavailable):
            async with runtime.db.write() as tx:
                await processes.remove_process(tx, runtime.name)


async def everyone(runtime: Runtime) -> list[Process]:
    """The running processes and their current work."""
    async with runtime.db.read() as tx:
        return await processes.list_processes(tx)


async def _send_heartbeat(runtime: Runtime, role: str, started_at: Instant, *, may_remove_dead: bool) -> bool:
    try:
        async with runtime.db.write() as tx:
            await processes.record_heartbeat(tx, runtime.name, role=role, version=__version__, started_at=started_at)
            dead = await processes.remove_dead_processes(tx, processes.SILENT_FOR) if may_remove_dead else []
    except Unavailable as error:
        log.warning("the heartbeat could not be written", error=error.message)
        return False
    for name in dead:
        log.warning("a process fell silent, its work is free", process=name)
    if dead:
        await runtime.bus.publish(ChangeEvent("wake"))
    return True
