"""Sweeping: small chores that keep the database small, done by one process for all."""

from collections.abc import Awaitable, Callable, Mapping

from reedbed.domain.times import DAY
from reedbed.services.runtime import Runtime
from reedbed.store import events, feed_history, jobs, mail_links, sweeping

HISTORY_KEPT = 90 * DAY
JOBS_KEPT = 30 * DAY
EVENTS_KEPT = 365 * DAY


async def sweep_sessions(runtime: Runtime) -> int:
    now = runtime.now()
    async with runtime.db.write() as tx:
        return await sweeping.drop_sessions(tx, now=now, idle_since=now - runtime.accounts.session_idle)


async def sweep_history(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await feed_history.forget(tx, runtime.now() - HISTORY_KEPT)


async def sweep_jobs(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await jobs.forget(tx, runtime.now() - JOBS_KEPT)


async def sweep_links(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await mail_links.sweep(tx, runtime.now())


async def sweep_events(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await events.forget(tx, runtime.now() - EVENTS_KEPT)


CHORES: Mapping[str, Callable[[Runtime], Awaitable[int]]] = {
    "sessions": sweep_sessions,
    "history": sweep_history,
    "jobs": sweep_jobs,
    "mail links": sweep_links,
    "events": sweep_events,
}
"""Each says how many rows it removed; none fails because another did."""
