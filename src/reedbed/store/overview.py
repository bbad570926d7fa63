"""How the whole server is doing, for its operators."""

from sqlalchemy import BigInteger, bindparam, cast, or_

from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state, feed_history, feeds, jobs, leases, subscriptions


@record
class HourOfAll:
    """What all feeds together did in one hour."""

    hour: Instant
    checks: int
    failures: int
    new_entries: int
    unchanged: int


@record
class TroubledFeed:
    id: int
    title: str
    language: str | None
    status: str
    last_error: str | None
    stop_reason: str | None
    failures: int
    next_check_at: Instant | None
    readers: int


@record
class SlowFeed:
    title: str
    took: Millis
    """On average."""
    checks: int


@record
class Queue:
    kind: str
    waiting: int
    running: int
    oldest_at: Instant


@record
class HeldLease:
    name: str
    holder: str
    heartbeat_at: Instant
    expires_at: Instant


_HOURS = Statement(
    select(
        feed_history.c.hour,
        func.sum(feed_history.c.checks),
        func.sum(feed_history.c.failures),
        func.sum(feed_history.c.new_entries),
        func.sum(feed_history.c.unchanged),
    )
    .where(feed_history.c.hour >= bindparam("since"))
    .group_by(feed_history.c.hour)
    .order_by(feed_history.c.hour)
)
_readers = (
    select(func.count())
    .where(subscriptions.c.feed_id == feeds.c.id, subscriptions.c.unsubscribed_at.is_(None))
    .correlate(feeds)
    .scalar_subquery()
)
_TROUBLED = Statement(
    select(
        feeds.c.id,
        func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url),
        feeds.c.language,
        feed_fetch_state.c.status,
        feed_fetch_state.c.last_error,
        feed_fetch_state.c.stop_reason,
        feed_fetch_state.c.consecutive_failures,
        feed_fetch_state.c.next_check_at,
        _readers,
    )
    .join_from(feed_fetch_state, feeds, feeds.c.id == feed_fetch_state.c.feed_id)
    # A private feed is nobody's business but its owner's.
    .where(
        feeds.c.owner_id.is_(None),
        or_(feed_fetch_state.c.consecutive_failures > 0, feed_fetch_state.c.stopped_at.is_not(None)),
    )
    .order_by(feed_fetch_state.c.consecutive_failures.desc(), feeds.c.id)
    .limit(bindparam("limit"))
)
_checks = func.sum(feed_history.c.checks)
_took = cast(func.sum(feed_history.c.took_ms) / _checks, BigInteger)
_SLOWEST = Statement(
    select(func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url), _took, _checks)
    .join_from(feed_history, feeds, feeds.c.id == feed_history.c.feed_id)
    .where(feed_history.c.hour >= bindparam("since"), feeds.c.owner_id.is_(None))
    .group_by(feeds.c.id, feeds.c.title, feeds.c.url)
    .having(_checks > 0)
    .order_by(_took.desc(), feeds.c.id)
    .limit(bindparam("limit"))
)
_QUEUES = Statement(
    select(
        jobs.c.kind,
        func.count().filter(jobs.c.state == "pending"),
        func.count().filter(jobs.c.state == "running"),
        func.min(jobs.c.run_at),
    )
    .where(or_(jobs.c.state == "pending", jobs.c.state == "running"))
    .group_by(jobs.c.kind)
    .order_by(jobs.c.kind)
)
_DUE = Statement(
    select(func.count(), func.min(feed_fetch_state.c.next_check_at)).where(
        feed_fetch_state.c.next_check_at <= bindparam("now")
    )
)
_LEASES = Statement(
    select(leases.c.name, leases.c.holder, leases.c.heartbeat_at, leases.c.expires_at).order_by(leases.c.name)
)


async def hours(tx: Tx, since: Instant) -> list[HourOfAll]:
    """Oldest first; hours without a check are left out."""
    return [HourOfAll(*(int(value) for value in row)) for row in await tx.all(_HOURS, {"since": since})]


async def troubled(tx: Tx, *, limit: int) -> list[TroubledFeed]:
    """The most often failed first."""
    return [TroubledFeed(*row) for row in await tx.all(_TROUBLED, {"limit": limit})]


async def slowest(tx: Tx, since: Instant, *, limit: int) -> list[SlowFeed]:
    rows = await tx.all(_SLOWEST, {"since": since, "limit": limit})
    return [SlowFeed(title, int(took), int(checks)) for title, took, checks in rows]


async def queues(tx: Tx) -> list[Queue]:
    return [
        Queue(kind, int(waiting), int(running), oldest)
        for kind, waiting, running, oldest in await tx.all(_QUEUES)
    ]


async def due(tx: Tx, now: Instant) -> tuple[int, Instant | None]:
    """How many feeds wait for a check, and since when the first of them."""
    row = await tx.one(_DUE, {"now": now})
    assert row is not None
    return row[0], row[1]


async def held_leases(tx: Tx) -> list[HeldLease]:
    return [HeldLease(*row) for row in await tx.all(_LEASES)]
