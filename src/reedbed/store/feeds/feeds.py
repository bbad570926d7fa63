"""Feeds: adding, describing and moving them, their credentials, former URLs, fetch statistics; turns at hosts."""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

from sqlalchemy import BigInteger, bindparam, delete, null, or_, text, update

from reedbed.domain.records import record
from reedbed.domain.refresh.state import FeedMetadata
from reedbed.domain.times import HOUR, Instant, Millis
from reedbed.domain.urls import host_of
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Param, Query, database_now, func, insert, optional, row_of, select
from reedbed.store.tables import feed_fetch_state, feed_history, feeds, former_addresses, host_turns

_METADATA_COLUMNS = tuple(field.name for field in fields(FeedMetadata))
_metadata_values = attrgetter(*_METADATA_COLUMNS)
_same_owner = or_(
    feeds.c.owner_id == bindparam("owner_id"),
    feeds.c.owner_id.is_(None) & bindparam("owner_id", type_=feeds.c.owner_id.type).is_(None),
)

_ADD = Query(
    insert(feeds).on_conflict_do_nothing().returning(feeds.c.id),
    columns=["url", "owner_id", "kind", "title", "created_at", "enabled", "polling", "operator_added"],
    into=int,
)
_ADD_STATE = Command(insert(feed_fetch_state), columns=["feed_id", "host", "next_check_at", "urgent"])
_BY_URL = Query(select(feeds.c.id).where(feeds.c.url == bindparam("url"), _same_owner), into=int)
_SET_METADATA = Command(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(**{name: bindparam(name) for name in _METADATA_COLUMNS})
)
_MOVE = Command(update(feeds).where(feeds.c.id == bindparam("feed_id")).values(url=bindparam("new_url")))
_MOVE_STATE = Command(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == bindparam("id"))
    .values(host=bindparam("new_host"), redirect_url=null(), redirect_count=0)
)
_SET_CREDENTIALS = Command(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(username=bindparam("name"), password=bindparam("secret"))
)
_CREDENTIALS = Query(
    select(feeds.c.id, feeds.c.username, feeds.c.password).where(
        feeds.c.owner_id == bindparam("owner_id"), feeds.c.username.is_not(None)
    ),
    into=row_of(int, str, optional(str)),
)


async def find_or_add(
    tx: Tx,
    url: str,
    now: Instant,
    *,
    owner_id: int | None = None,
    kind: str = "web",
    title: str = "",
    by_operator: bool = False,
) -> tuple[int, bool]:
    """The id of the feed at this URL, and whether it was created by this call.

    A new web feed is fetched at once; one added by the operator waits until it is enabled.
    """
    existing = await get_by_url(tx, url, owner_id)
    if existing is not None:
        return existing, False
    feed_id = await tx.one(
        _ADD,
        {
            "url": url,
            "owner_id": owner_id,
            "kind": kind,
            "title": title,
            "created_at": now,
            "enabled": not by_operator,
            "polling": not by_operator,
            "operator_added": by_operator,
        },
    )
    if feed_id is None:  # another process added it meanwhile
        return (await get_by_url(tx, url, owner_id) or 0), False
    fetched = kind == "web" and not by_operator
    await tx.run(
        _ADD_STATE,
        {"feed_id": feed_id, "host": host_of(url) or "", "next_check_at": now if fetched else None, "urgent": fetched},
    )
    return feed_id, True


async def get_by_url(tx: Tx, url: str, owner_id: int | None = None) -> int | None:
    """Shared feeds and the private feeds of each user are separate, even at the same URL."""
    return await tx.one(_BY_URL, {"url": url, "owner_id": owner_id})


async def describe(tx: Tx, descriptions: Sequence[tuple[int, FeedMetadata]]) -> None:
    """Store the current metadata of these feeds."""
    await tx.run_many(_SET_METADATA, [_metadata_params(feed_id, metadata) for feed_id, metadata in descriptions])


async def move(tx: Tx, feed_id: int, url: str) -> None:
    await tx.run(_MOVE, {"feed_id": feed_id, "new_url": url})
    await tx.run(_MOVE_STATE, {"id": feed_id, "new_host": host_of(url) or ""})


async def set_credentials(tx: Tx, feed_id: int, username: str | None, password: str | None) -> None:
    secret = tx.vault.encrypt_optional("feeds.password", password)
    await tx.run(_SET_CREDENTIALS, {"feed_id": feed_id, "name": username, "secret": secret})


async def credentials(tx: Tx, owner_id: int) -> dict[int, tuple[str, str | None]]:
    """Username and password of this user's private feeds that have them, by feed.

    The password is None if it was encrypted with a key we do not have.
    """
    rows = await tx.all(_CREDENTIALS, {"owner_id": owner_id})
    return {id_: (name, secret and tx.vault.decrypt("feeds.password", secret)) for id_, name, secret in rows}


def _metadata_params(feed_id: int, metadata: FeedMetadata) -> dict[str, Param]:
    return dict(zip(_METADATA_COLUMNS, _metadata_values(metadata), strict=True)) | {"feed_id": feed_id}


# --- Former URLs

_former_url = insert(former_addresses).values(url=bindparam("url"), feed_id=bindparam("feed_id"))
_REMEMBER_URL = Command(
    _former_url.on_conflict_do_update(index_elements=["url"], set_={"feed_id": _former_url.excluded.feed_id})
)
_COPY_URLS = Command(
    update(former_addresses).where(former_addresses.c.feed_id == bindparam("old")).values(feed_id=bindparam("new"))
)


async def add_former_url(tx: Tx, url: str, feed_id: int) -> None:
    """Record that the feed at this former URL is now this feed."""
    await tx.run(_REMEMBER_URL, {"url": url, "feed_id": feed_id})


async def copy_urls(tx: Tx, old: int, new: int) -> None:
    """When a feed is merged into another, its former URLs lead to the other, too."""
    await tx.run(_COPY_URLS, {"old": old, "new": new})


# --- Fetch statistics

_TOTALS = ("checks", "unchanged", "failures", "new_entries", "bytes", "took_ms")


@record
class FetchStats:
    """One fetch, or the sum of all fetches in an hour."""

    feed_id: int
    hour: Instant
    checks: int = 1
    unchanged: int = 0
    failures: int = 0
    new_entries: int = 0
    bytes: int = 0
    took_ms: Millis = 0


_new_stats = insert(feed_history).values({name: bindparam(name) for name in ("feed_id", "hour", *_TOTALS)})
_ADD_STATS = Command(
    _new_stats.on_conflict_do_update(
        index_elements=["feed_id", "hour"],
        set_={name: feed_history.c[name] + _new_stats.excluded[name] for name in _TOTALS},
    )
)
_STATS_OF_FEED = Query(
    select(feed_history.c.feed_id, feed_history.c.hour, *(feed_history.c[name] for name in _TOTALS))
    .where(feed_history.c.feed_id == bindparam("feed_id"), feed_history.c.hour >= bindparam("since"))
    .order_by(feed_history.c.hour),
    into=FetchStats,
)
_DELETE_OLD_STATS = Command(delete(feed_history).where(feed_history.c.hour < bindparam("before")))


def hour_of(time: Instant) -> Instant:
    return time - time % HOUR


async def add_stats(tx: Tx, tallies: Sequence[FetchStats]) -> None:
    await tx.run_many(_ADD_STATS, [_stats_params(hour) for hour in tallies])


async def stats_of_feed(tx: Tx, feed_id: int, since: Instant) -> list[FetchStats]:
    """Oldest first; hours without a fetch are left out."""
    return await tx.all(_STATS_OF_FEED, {"feed_id": feed_id, "since": since})


async def delete_old_stats(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_STATS, {"before": before})


def _stats_params(stats: FetchStats) -> dict[str, int]:
    return {
        "feed_id": stats.feed_id,
        "hour": stats.hour,
        "checks": stats.checks,
        "unchanged": stats.unchanged,
        "failures": stats.failures,
        "new_entries": stats.new_entries,
        "bytes": stats.bytes,
        "took_ms": stats.took_ms,
    }


_COUNT_BY_STATUS = Query(
    select(feed_fetch_state.c.status, func.count()).group_by(feed_fetch_state.c.status), into=row_of(str, int)
)


async def list_statuses(tx: Tx) -> dict[str, int]:
    return dict(await tx.all(_COUNT_BY_STATUS))


# --- Turns at hosts, on PostgreSQL


_NOW = "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)"


_TURN = f"least(greatest(host_turns.next_at, {_NOW}), {_NOW} + CAST(:longest_wait AS bigint)) + CAST(:delay AS bigint)"


_RESERVE_TURN = Query(
    text(f"""
    INSERT INTO host_turns (host, next_at) VALUES (:host, {_NOW} + CAST(:delay AS bigint))
    ON CONFLICT (host) DO UPDATE SET next_at = {_TURN}
    RETURNING next_at - CAST(:delay AS bigint) - {_NOW}
    """),  # noqa: S608  constants of this module
    into=int,
)


_ENTER_HOST = Query(
    text(f"""
    INSERT INTO host_turns (host, next_at, in_flight) VALUES (
        :host,
        {_NOW} + CAST(:delay AS bigint),
        CAST(jsonb_build_object(CAST(:token AS text), {_NOW} + CAST(:lease AS bigint)) AS text)
    )
    ON CONFLICT (host) DO UPDATE SET
        next_at = {_TURN},
        in_flight = (
            SELECT CAST(jsonb_object_agg(turn.key, turn.value) AS text)
            FROM jsonb_each(CAST(host_turns.in_flight AS jsonb) || CAST(excluded.in_flight AS jsonb)) AS turn
            WHERE CAST(turn.value AS bigint) > {_NOW}
        )
    WHERE (
        SELECT count(*) FROM jsonb_each(CAST(host_turns.in_flight AS jsonb)) AS turn
        WHERE CAST(turn.value AS bigint) > {_NOW}
    ) < CAST(:limit AS bigint)
    RETURNING next_at - CAST(:delay AS bigint) - {_NOW}
    """),  # noqa: S608  constants of this module
    into=int,
)


_LEAVE_HOST = Command(
    text(
        "UPDATE host_turns SET in_flight = CAST(CAST(in_flight AS jsonb) - CAST(:token AS text) AS text)"
        " WHERE host = :host"
    )
)


_DELETE_OLD_TURNS = Command(
    delete(host_turns).where(host_turns.c.next_at < database_now() - bindparam("age", type_=BigInteger()))
)


async def reserve_turn(tx: Tx, host: str, delay: Millis, *, longest_wait: Millis) -> Millis:
    """How long to wait for a turn at this host; the next turn is `delay` later."""
    return await tx.get(_RESERVE_TURN, {"host": host, "delay": delay, "longest_wait": longest_wait})


async def enter_host(
    tx: Tx, host: str, token: str, *, limit: int, lease: Millis, delay: Millis, longest_wait: Millis
) -> Millis | None:
    """Take one of `limit` turns and return how long to wait for it; None if all are in use."""
    params = {"host": host, "token": token, "limit": limit, "lease": lease, "delay": delay}
    return await tx.one(_ENTER_HOST, {**params, "longest_wait": longest_wait})


async def leave_host(tx: Tx, host: str, token: str) -> None:
    await tx.run(_LEAVE_HOST, {"host": host, "token": token})


async def delete_old_turns(tx: Tx, age: Millis) -> int:
    """Delete hosts without a request for so long."""
    return await tx.run(_DELETE_OLD_TURNS, {"age": age})
