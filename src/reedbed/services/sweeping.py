"""Sweeping: small chores that keep the database small, done by one process for all."""

from collections.abc import Awaitable, Callable, Mapping

from reedbed.domain.times import DAY
from reedbed.services.runtime import Runtime
from reedbed.store import feed_history, jobs, sweeping

HISTORY_KEPT = 90 * DAY
JOBS_KEPT = 30 * DAY


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


CHORES: Mapping[str, Callable[[Runtime], Awaitable[int]]] = {
    "sessions": sweep_sessions,
    "history": sweep_history,
    "jobs": sweep_jobs,
}
"""Each says how many rows it removed; none fails because another did."""
