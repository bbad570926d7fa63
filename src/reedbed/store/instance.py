"""The instance as a whole: settings and secrets, health facts, admin statistics, table sizes and counts."""

from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, bindparam, cast, delete, literal, null, or_, text, update

from reedbed.domain.errors import Unavailable
from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, MINUTE, Instant, Millis
from reedbed.domain.websub import MAX_LEASE
from reedbed.store.engine.database import Tx
from reedbed.store.engine.encryption import PREFIX
from reedbed.store.engine.statements import (
    Command,
    Query,
    database_in_use,
    database_size,
    func,
    insert,
    optional,
    row_of,
    select,
    total,
)
from reedbed.store.tables import (
    app_settings,
    digest_schedules,
    entries,
    feed_fetch_state,
    feed_history,
    feeds,
    jobs,
    leases,
    mail_boxes,
    processes,
    subscriptions,
    summary_queue,
    websub_subscriptions,
)
from reedbed.store.visibility import shows

NO_KEY = (
    "Passwords in the database are encrypted with a key that this process does not have. Set the same "
    "REEDBED_SECRET_KEY for all processes, or give each the secret.key in its data directory. If the key is "
    "lost, run 'reedbed admin secrets rotate --lost-key' and enter passwords of feeds and mailboxes again."
)

# --- Settings and secrets

_GET = Query(select(app_settings.c.value).where(app_settings.c.key == bindparam("key")), into=str)
_ADD_IF_ABSENT = Command(
    insert(app_settings)
    .values(key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now"))
    .on_conflict_do_nothing(index_elements=["key"])
)
_upsert = insert(app_settings).values(key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now"))
_SET = Command(
    _upsert.on_conflict_do_update(
        index_elements=["key"], set_={"value": _upsert.excluded.value, "updated_at": _upsert.excluded.updated_at}
    )
)


_REPLACE = Command(
    update(app_settings)
    .where(app_settings.c.key == bindparam("this"), app_settings.c.value == bindparam("before"))
    .values(value=bindparam("value"), updated_at=bindparam("now"))
)


async def get_setting(tx: Tx, key: str) -> str | None:
    return await tx.one(_GET, {"key": key})


async def set_setting(tx: Tx, key: str, value: str, now: Instant) -> None:
    await tx.run(_SET, {"key": key, "value": value, "now": now})


async def get_secret(tx: Tx, key: str) -> str | None:
    """Return None also if it cannot be decrypted here."""
    stored = await get_setting(tx, key)
    return None if stored is None else tx.vault.decrypt(f"app_settings.{key}", stored)


async def add_secret(tx: Tx, key: str, value: str, now: Instant, *, replace_unreadable: bool = True) -> str:
    """Store `value` encrypted unless a readable one exists; return the stored one.

    Raises `Unavailable` in a process without a key, or with one just made, if others have another one: it must
    not replace their secret.
    """
    if (found := await get_secret(tx, key)) is not None:
        return found
    new = {"key": key, "value": tx.vault.encrypt(f"app_settings.{key}", value), "now": now}
    await tx.run(_ADD_IF_ABSENT, new)
    stored = await get_secret(tx, key)
    if stored is None and (tx.vault.current is None or not replace_unreadable):
        raise Unavailable(NO_KEY)
    if stored is None:
        await tx.run(_REPLACE, new | {"this": key, "before": await get_setting(tx, key)})
        stored = await get_secret(tx, key)
    assert stored is not None
    return stored


async def encrypt_secret(tx: Tx, key: str, now: Instant) -> bool:
    """Encrypt a secret that is in clear; False if another process was quicker."""
    before = await get_setting(tx, key)
    if before is None or before.startswith(PREFIX):
        return False
    changed = {"this": key, "before": before, "value": tx.vault.encrypt(f"app_settings.{key}", before), "now": now}
    return await tx.run(_REPLACE, changed) == 1


# --- Health

_PING = Query(select(literal(1)), into=int)
_recent = feed_history.c.hour >= bindparam("hour")
_running = jobs.alias("running")
_kind_is_running = select(literal(1)).where(_running.c.kind == jobs.c.kind, _running.c.state == "running").exists()


@record
class HealthFacts:
    workers: int
    oldest_lock: Instant | None
    oldest_job: Instant | None
    first_due: Instant | None
    checks: int
    failures: int
    """Since the given hour, like `checks`."""


def _health_facts(workers: int, lock: int | None, job: int | None, due: int | None, *sums: int) -> HealthFacts:
    checks, failures = map(int, sums)
    return HealthFacts(workers, lock, job, due, checks, failures)


_HEALTH = Query(
    select(
        select(func.count()).select_from(processes).where(processes.c.role != "web").scalar_subquery(),
        select(func.min(summary_queue.c.locked_at)).scalar_subquery(),
        select(func.min(jobs.c.run_at)).where(jobs.c.state == "pending", ~_kind_is_running).scalar_subquery(),
        select(func.min(feed_fetch_state.c.next_check_at))
        .where(feed_fetch_state.c.next_check_at.is_not(None))
        .scalar_subquery(),
        select(func.coalesce(total(feed_history.c.checks), 0)).where(_recent).scalar_subquery(),
        select(func.coalesce(total(feed_history.c.failures), 0)).where(_recent).scalar_subquery(),
    ),
    into=_health_facts,
)
_LAST_CHECK = Query(select(func.max(feed_fetch_state.c.last_checked_at)), into=optional(int))


async def answers_to_ping(tx: Tx) -> bool:
    return await tx.one(_PING) == 1


async def list_problems(tx: Tx, hour: Instant) -> HealthFacts:
    return await tx.get(_HEALTH, {"hour": hour})


async def last_check(tx: Tx) -> Instant | None:
    """Reads all feeds, so call it only if there seem to be no checks at all."""
    return await tx.one(_LAST_CHECK)


# --- Statistics for admins


@record
class FetchHour:
    """Fetch statistics of all feeds in one hour."""

    hour: Instant
    checks: int
    failures: int
    new_entries: int
    unchanged: int


@record
class FailingFeed:
    id: int
    title: str
    language: str | None
    status: str
    last_error: Failure | None
    stop_reason: Failure | None
    failures: int
    next_check_at: Instant | None
    readers: int


@record
class SlowFeed:
    title: str
    took: Millis
    """Average."""
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


_HOURS = Query(
    select(
        feed_history.c.hour,
        total(feed_history.c.checks),
        total(feed_history.c.failures),
        total(feed_history.c.new_entries),
        total(feed_history.c.unchanged),
    )
    .where(feed_history.c.hour >= bindparam("since"))
    .group_by(feed_history.c.hour)
    .order_by(feed_history.c.hour),
    into=row_of(int, int, int, int, int),
)
_readers = (
    select(func.count())
    .where(subscriptions.c.feed_id == feeds.c.id, subscriptions.c.unsubscribed_at.is_(None))
    .correlate(feeds)
    .scalar_subquery()
)


def _failing_feed(*columns: Any) -> FailingFeed:
    feed = FailingFeed(*columns)
    last_error, stop_reason = columns[4:6]
    return replace(feed, last_error=load_failure(last_error), stop_reason=load_failure(stop_reason))


_FAILING = Query(
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
    # Private feeds are only visible to their owner.
    .where(
        feeds.c.owner_id.is_(None),
        or_(feed_fetch_state.c.consecutive_failures > 0, feed_fetch_state.c.stopped_at.is_not(None)),
    )
    .order_by(feed_fetch_state.c.consecutive_failures.desc(), feeds.c.id)
    .limit(bindparam("limit")),
    into=_failing_feed,
)
_checks = total(feed_history.c.checks)
_took = cast(total(feed_history.c.took_ms) / _checks, BigInteger)
_SLOWEST = Query(
    select(func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url), _took, _checks)
    .join_from(feed_history, feeds, feeds.c.id == feed_history.c.feed_id)
    .where(feed_history.c.hour >= bindparam("since"), feeds.c.owner_id.is_(None))
    .group_by(feeds.c.id, feeds.c.title, feeds.c.url)
    .having(_checks > 0)
    .order_by(_took.desc(), feeds.c.id)
    .limit(bindparam("limit")),
    into=row_of(str, int, int),
)
_QUEUES = Query(
    select(
        jobs.c.kind,
        func.count().filter(jobs.c.state == "pending"),
        func.count().filter(jobs.c.state == "running"),
        func.min(jobs.c.run_at),
    )
    .where(or_(jobs.c.state == "pending", jobs.c.state == "running"))
    .group_by(jobs.c.kind)
    .order_by(jobs.c.kind),
    into=row_of(str, int, int, int),
)
_DUE = Query(
    select(func.count(), func.min(feed_fetch_state.c.next_check_at)).where(
        feed_fetch_state.c.next_check_at <= bindparam("now")
    ),
    into=row_of(int, optional(int)),
)
_LEASES = Query(
    select(leases.c.name, leases.c.holder, leases.c.heartbeat_at, leases.c.expires_at).order_by(leases.c.name),
    into=HeldLease,
)


async def list_hours(tx: Tx, since: Instant) -> list[FetchHour]:
    """Oldest first, without hours that had no check."""
    return [FetchHour(*row) for row in await tx.all(_HOURS, {"since": since})]


async def failing_feeds(tx: Tx, *, limit: int) -> list[FailingFeed]:
    """Sorted by number of failures, highest first."""
    return await tx.all(_FAILING, {"limit": limit})


async def slowest_feeds(tx: Tx, since: Instant, *, limit: int) -> list[SlowFeed]:
    return [SlowFeed(*row) for row in await tx.all(_SLOWEST, {"since": since, "limit": limit})]


async def list_queues(tx: Tx) -> list[Queue]:
    return [Queue(*row) for row in await tx.all(_QUEUES)]


async def count_due(tx: Tx, now: Instant) -> tuple[int, Instant | None]:
    """Return how many feeds are due, and since when the first one is."""
    return await tx.get(_DUE, {"now": now})


async def list_leases(tx: Tx) -> list[HeldLease]:
    return await tx.all(_LEASES)


# --- Repair after a wrong clock

_REPAIR_FEEDS = Command(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.next_check_at > bindparam("limit"))
    .values(next_check_at=bindparam("now"))
)
_DELETE_LEASES = Command(delete(leases).where(leases.c.expires_at > bindparam("limit")))
_REPAIR_RUNNING_JOBS = Command(
    update(jobs)
    .where(jobs.c.state == "running", jobs.c.leased_until > bindparam("limit"))
    .values(leased_until=bindparam("now"))
)
_REPAIR_PENDING_JOBS = Command(
    update(jobs).where(jobs.c.state == "pending", jobs.c.run_at > bindparam("limit")).values(run_at=bindparam("now"))
)
_REPAIR_SUMMARY_LOCKS = Command(
    update(summary_queue)
    .where(summary_queue.c.locked_at > bindparam("limit"))
    .values(locked_at=null(), lease_holder=null())
)
_REPAIR_COOLDOWNS = Command(
    update(summary_queue).where(summary_queue.c.cooldown_until > bindparam("limit")).values(cooldown_until=null())
)
_REPAIR_MAILBOXES = Command(
    update(mail_boxes).where(mail_boxes.c.next_check_at > bindparam("limit")).values(next_check_at=bindparam("now"))
)
_REPAIR_DIGESTS = Command(
    update(digest_schedules).where(digest_schedules.c.next_at > bindparam("limit")).values(next_at=bindparam("now"))
)
# Such a hub stopped sending long ago, so its feed must be polled again.
_REPAIR_HUBS = Command(
    update(websub_subscriptions)
    .where(
        or_(websub_subscriptions.c.due_at > bindparam("limit"), websub_subscriptions.c.expires_at > bindparam("limit"))
    )
    .values(due_at=bindparam("now"), expires_at=bindparam("now"))
)


async def repair_future_timestamps(tx: Tx, now: Instant, *, longest_rest: Millis) -> int:
    """Make rows due that would otherwise wait for years; return how many."""
    limits = (
        (_REPAIR_FEEDS, longest_rest + DAY),
        (_DELETE_LEASES, HOUR),
        (_REPAIR_RUNNING_JOBS, HOUR),
        (_REPAIR_PENDING_JOBS, 2 * DAY),
        (_REPAIR_SUMMARY_LOCKS, MINUTE),
        (_REPAIR_COOLDOWNS, 2 * DAY),
        (_REPAIR_MAILBOXES, 2 * DAY),
        (_REPAIR_DIGESTS, 2 * DAY),
        (_REPAIR_HUBS, MAX_LEASE + DAY),
    )
    return sum([await tx.run(statement, {"now": now, "limit": now + ahead}) for statement, ahead in limits])


# --- Sizes and counts

# Reads the header of every page: takes seconds on a file of gigabytes, in a separate reader thread.
_SQLITE_SIZES = Query(
    text(
        "SELECT s.name, s.tbl_name, SUM(d.pgsize) FROM dbstat AS d JOIN sqlite_schema AS s "
        "ON s.name = d.name WHERE d.aggregate = 1 GROUP BY s.name, s.tbl_name ORDER BY 3 DESC LIMIT 40"
    ),
    into=row_of(str, str, int),
)
_POSTGRESQL_SIZES = Query(
    text(
        "SELECT c.relname, COALESCE(t.relname, c.relname), "
        "CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END "
        "FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indexrelid = c.oid "
        "LEFT JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'i') AND n.nspname = current_schema() ORDER BY 3 DESC LIMIT 40"
    ),
    into=row_of(str, str, int),
)


@record
class Size:
    name: str
    table: str
    size: int
    """Bytes."""


async def largest_tables(tx: Tx) -> list[Size]:
    """Return the forty largest tables and indexes, largest first."""
    return [Size(*row) for row in await tx.all(_SQLITE_SIZES if tx.engine == "sqlite" else _POSTGRESQL_SIZES)]


_mine = (subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
_COUNTS = Query(
    select(
        select(func.count()).select_from(subscriptions).where(*_mine).scalar_subquery(),
        select(func.count())
        .select_from(subscriptions)
        .join(entries, entries.c.feed_id == subscriptions.c.feed_id)
        .where(*_mine, shows(subscriptions, entries))
        .scalar_subquery(),
        select(func.coalesce(total(subscriptions.c.unread), 0)).where(*_mine).scalar_subquery(),
    ),
    into=row_of(int, int, int),
)
_DATABASE_SIZE = Query(select(database_size()), into=int)
_BYTES_IN_USE = Query(select(database_in_use()), into=int)


@record
class InstanceCounts:
    feeds: int
    posts: int
    unread: int


async def count_all(tx: Tx, user_id: int) -> InstanceCounts:
    return InstanceCounts(*await tx.get(_COUNTS, {"user_id": user_id}))


async def size_in_bytes(tx: Tx) -> int:
    return await tx.get(_DATABASE_SIZE)


async def bytes_in_use(tx: Tx) -> int:
    return await tx.get(_BYTES_IN_USE)
