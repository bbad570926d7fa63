"""Does the database answer, and what does it know about the instance's health?"""

from sqlalchemy import bindparam, literal

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state, feed_history, jobs, processes, summary_queue

_ONE = Statement(select(literal(1)))
_recent = feed_history.c.hour >= bindparam("hour")
_running = jobs.alias("running")
_some_run = select(literal(1)).where(_running.c.kind == jobs.c.kind, _running.c.state == "running").exists()
_KNOWN = Statement(
    select(
        select(func.count()).select_from(processes).where(processes.c.role != "web").scalar_subquery(),
        select(func.min(summary_queue.c.locked_at)).scalar_subquery(),
        select(func.min(jobs.c.run_at)).where(jobs.c.state == "pending", ~_some_run).scalar_subquery(),
        select(func.min(feed_fetch_state.c.next_check_at))
        .where(feed_fetch_state.c.next_check_at.is_not(None))
        .scalar_subquery(),
        select(func.coalesce(func.sum(feed_history.c.checks), 0)).where(_recent).scalar_subquery(),
        select(func.coalesce(func.sum(feed_history.c.failures), 0)).where(_recent).scalar_subquery(),
    )
)
_LAST_CHECK = Statement(select(func.max(feed_fetch_state.c.last_checked_at)))


@record
class Known:
    workers: int
    oldest_lock: Instant | None
    oldest_job: Instant | None
    first_due: Instant | None
    checks: int
    failures: int
    """Since the hour that was asked for."""


async def answers(tx: Tx) -> bool:
    return await tx.value(_ONE) == 1


async def known(tx: Tx, hour: Instant) -> Known:
    row = await tx.one(_KNOWN, {"hour": hour})
    assert row is not None
    workers, lock, job, due, checks, failures = row
    return Known(workers, lock, job, due, int(checks), int(failures))


async def last_check(tx: Tx) -> Instant | None:
    """Walks all feeds: asked for only when it looks as if nothing were checked."""
    return await tx.value(_LAST_CHECK)
