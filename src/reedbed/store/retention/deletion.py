"""Which entries, articles, feeds and blobs may be deleted, and their deletion."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, NamedTuple

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    or_,
    tuple_,
    update,
)

from reedbed.domain.records import record
from reedbed.domain.retention import RetentionOverride, removed_keys
from reedbed.domain.search.indexing import SearchWords
from reedbed.domain.times import Instant
from reedbed.store import search, tables
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    LOWEST,
    Command,
    Query,
    QueryFamily,
    among,
    delete_some,
    func,
    keyed,
    optional,
    row_of,
    select,
)
from reedbed.store.entries import write as entry_writes
from reedbed.store.read_state.unread import delete_rows_of
from reedbed.store.visibility import alive, lock_subscribers_of_entries

entries, subscriptions, unread, feeds = tables.entries, tables.subscriptions, tables.unread, tables.feeds

State = Literal["read", "unread", "any"]
Position = tuple[Instant, int]
"""Arrival time and id of an entry; the next batch of candidates begins after it."""
START: Position = (LOWEST, 0)


@record
class Removed:
    entries: int = 0
    unread: int = 0
    """Entries that at least one user had not read."""
    lost: Mapping[int, int] = field(default_factory=dict[int, int])
    """By user: how many of their unread entries were deleted."""


# --- Which entries may be deleted

_MARK_TABLES = (
    tables.starred,
    tables.later,
    tables.entry_tags,
    tables.highlights,
    tables.bookmarks,
    tables.playback_queue,
)


def _is_marked() -> ColumnElement[bool]:
    """At least one user starred, saved, tagged, highlighted or bookmarked the entry, or wants to play it."""
    return or_(*(exists().where(table.c.entry_id == entries.c.id).correlate(entries) for table in _MARK_TABLES))


def _is_unread() -> ColumnElement[bool]:
    """At least one subscriber has not read the entry."""
    row = and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id)
    return (
        exists()
        .select_from(subscriptions.join(unread, row))
        .where(
            subscriptions.c.feed_id == entries.c.feed_id,
            subscriptions.c.unsubscribed_at.is_(None),
            alive(unread, subscriptions),
        )
        .correlate(entries)
    )


def deletable_conditions(state: State) -> list[ColumnElement[bool]]:
    """Conditions for entries that retention may delete."""
    saved_feeds = select(feeds.c.id).where(feeds.c.kind == "saved")
    unmarked = [entries.c.feed_id.not_in(saved_feeds), ~_is_marked()]
    if state == "any":
        return unmarked
    return [*unmarked, _is_unread() if state == "unread" else ~_is_unread()]


def _select_aged(scope: Literal["all", "one"], state: State) -> ClauseElement:
    feed_filter = entries.c.feed_id == bindparam("feed_id") if scope == "one" else ~among(entries.c.feed_id, "but")
    position = tuple_(entries.c.fetched_at, entries.c.id)
    beyond = tuple_(bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger))
    return (
        select(entries.c.fetched_at, entries.c.id)
        .where(entries.c.fetched_at < bindparam("before"), position > beyond, feed_filter, *deletable_conditions(state))
        .order_by(entries.c.fetched_at, entries.c.id)
        .limit(bindparam("limit", type_=BigInteger))
    )


def _select_below(state: State) -> ClauseElement:
    return (
        select(entries.c.id)
        .where(
            entries.c.feed_id == bindparam("feed_id"),
            entries.c.id > bindparam("beyond"),
            entries.c.id <= bindparam("top"),
            *deletable_conditions(state),
        )
        .order_by(entries.c.id)
        .limit(bindparam("limit", type_=BigInteger))
    )


_AGED = QueryFamily(_select_aged, into=row_of(int, int))
_BELOW = QueryFamily(_select_below, into=int)
_CROWDED = Query(
    select(entries.c.feed_id, func.count())
    .where(entries.c.audience_id.is_(None))
    .group_by(entries.c.feed_id)
    .having(func.count() > bindparam("least", type_=BigInteger)),
    into=row_of(int, int),
)
_SURPLUS_TOP = Query(
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(entries.c.id.desc())
    .offset(bindparam("kept", type_=BigInteger))
    .limit(1),
    into=int,
)
_active = subscriptions.c.unsubscribed_at.is_(None)
_OVERRIDES = Query(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.keep_entries,
        subscriptions.c.keep_days,
        subscriptions.c.keep_unread_days,
    ).where(
        _active,
        subscriptions.c.feed_id.in_(
            select(subscriptions.c.feed_id).where(
                _active,
                func.coalesce(
                    subscriptions.c.keep_entries, subscriptions.c.keep_days, subscriptions.c.keep_unread_days
                ).is_not(None),
            )
        ),
    ),
    into=keyed(int, RetentionOverride),
)
_OLDEST_ARRIVAL = Query(select(func.min(entries.c.fetched_at)), into=optional(int))
_COUNT_ENTRIES = Query(select(func.count()).select_from(entries), into=int)


async def overrides(tx: Tx) -> dict[int, list[RetentionOverride]]:
    """Return all subscribers' overrides, for each feed on which at least one subscriber set one."""
    by_feed: dict[int, list[RetentionOverride]] = {}
    for feed_id, limits in await tx.all(_OVERRIDES):
        by_feed.setdefault(feed_id, []).append(limits)
    return by_feed


async def aged(
    tx: Tx, state: State, before: Instant, beyond: Position, *, limit: int, but: Sequence[int] = ()
) -> list[Position]:
    """Return entries that arrived before `before`, oldest first, in all feeds except `but`."""
    return await tx.all(_AGED("all", state), _aged_params(before, beyond, limit) | {"but": list(but)})


async def aged_in(
    tx: Tx, feed_id: int, state: State, before: Instant, beyond: Position, *, limit: int
) -> list[Position]:
    return await tx.all(_AGED("one", state), _aged_params(before, beyond, limit) | {"feed_id": feed_id})


async def crowded(tx: Tx, least: int) -> dict[int, int]:
    """Return the feeds with more than `least` entries, and their number of entries."""
    return dict(await tx.all(_CROWDED, {"least": least}))


async def newest_surplus_entry(tx: Tx, feed_id: int, keep_count: int) -> int | None:
    """Return the newest entry that is not among the `keep_count` newest ones."""
    return await tx.one(_SURPLUS_TOP, {"feed_id": feed_id, "kept": keep_count})


async def below(tx: Tx, feed_id: int, state: State, top: int, *, beyond: int, limit: int) -> list[int]:
    params = {"feed_id": feed_id, "beyond": beyond, "top": top, "limit": limit}
    return await tx.all(_BELOW(state), params)


async def oldest_arrival(tx: Tx) -> Instant | None:
    return await tx.one(_OLDEST_ARRIVAL)


async def count_entries(tx: Tx) -> int:
    return await tx.get(_COUNT_ENTRIES)


def _aged_params(before: Instant, beyond: Position, limit: int) -> dict[str, int]:
    return {"before": before, "at": beyond[0], "id": beyond[1], "limit": limit}


# --- Deleting entries

_LOCK_ENTRIES = Query(
    select(entries.c.id).where(among(entries.c.id, "ids")).order_by(entries.c.id).with_for_update(skip_locked=True),
    into=int,
)


class _Deletable(NamedTuple):
    id: int
    feed_id: int
    guid: str | None
    normalized_url: str | None
    change_hash: str
    audience_id: int | None


def _select_deletable(state: State) -> ClauseElement:
    columns = (
        entries.c.id,
        entries.c.feed_id,
        entries.c.guid,
        entries.c.normalized_url,
        entries.c.change_hash,
        entries.c.audience_id,
    )
    return select(*columns).where(among(entries.c.id, "ids"), *deletable_conditions(state))


_DELETABLE = QueryFamily(_select_deletable, into=_Deletable)
_UNREAD_BY_USER = Query(
    select(subscriptions.c.user_id, entries.c.id)
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .join(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id))
    .where(among(entries.c.id, "ids"), _active, alive(unread, subscriptions)),
    into=row_of(int, int),
)
_DELETE_ENTRIES = Command(delete(entries).where(among(entries.c.id, "ids")))


async def delete_entries(
    tx: Tx, entry_ids: Sequence[int], state: State, words: Sequence[tuple[int, Sequence[SearchWords]]] = ()
) -> Removed:
    """Delete those of these entries that still may be deleted.

    `words` is the text that the search index may contain for them, see `search.forget`.
    """
    await lock_subscribers_of_entries(tx, list(entry_ids))
    deletable = await tx.all(_DELETABLE(state), {"ids": await _lock_entries(tx, list(entry_ids))})
    if not deletable:
        return Removed()
    ids = [entry.id for entry in deletable]
    lost = await tx.all(_UNREAD_BY_USER, {"ids": ids}) if state != "read" else []
    await delete_rows_of(tx, ids)
    await entry_writes.remember(
        tx,
        [
            (entry.feed_id, key)
            for entry in deletable
            # Entries with an audience come from a merged feed; this feed may still publish the same key.
            if entry.audience_id is None
            for key in removed_keys(entry.guid, entry.normalized_url, entry.change_hash)
        ],
    )
    await search.forget(tx, [(id_, texts) for id_, texts in words if id_ in set(ids)])
    await tx.run(_DELETE_ENTRIES, {"ids": ids})
    return Removed(len(ids), len({row[1] for row in lost}), Counter(user_id for user_id, _ in lost))


async def _lock_entries(tx: Tx, entry_ids: list[int]) -> list[int]:
    """Lock the rows, and skip those that another transaction holds, for example to star the entry.

    The next statement then sees every mark that was set before.
    """
    if tx.engine == "sqlite":  # SQLite has a single writer
        return entry_ids
    return await tx.all(_LOCK_ENTRIES, {"ids": entry_ids})


# --- Full articles

_bodies = tables.entry_bodies
_READ_ARTICLES = Query(
    select(entries.c.id)
    .join_from(_bodies, entries, entries.c.id == _bodies.c.entry_id)
    .where(
        _bodies.c.full_content.is_not(None),
        _bodies.c.entry_id > bindparam("beyond"),
        entries.c.fetched_at < bindparam("before"),
        *deletable_conditions("read"),
    )
    .order_by(_bodies.c.entry_id)
    .limit(bindparam("limit", type_=BigInteger)),
    into=int,
)
_CLEAR_ARTICLES = Query(
    update(_bodies)
    .where(
        _bodies.c.full_content.is_not(None),
        _bodies.c.entry_id.in_(select(entries.c.id).where(among(entries.c.id, "ids"), *deletable_conditions("read"))),
    )
    .values(full_content=None, full_attempted_at=None)
    .returning(_bodies.c.entry_id),
    into=int,
)


async def articles(tx: Tx, before: Instant, *, beyond: int, limit: int) -> list[int]:
    """Return read entries that arrived before `before` and still have their full article."""
    return await tx.all(_READ_ARTICLES, {"before": before, "beyond": beyond, "limit": limit})


async def clear_articles(tx: Tx, entry_ids: Sequence[int]) -> set[int]:
    """Return the entries whose article was cleared. Entries that were marked meanwhile keep theirs."""
    return set(await tx.all(_CLEAR_ARTICLES, {"ids": list(entry_ids)}))


# --- Feeds without subscribers

_other = subscriptions.alias("other")


def _has_no_subscribers() -> list[ColumnElement[bool]]:
    subscribed_recently = or_(_other.c.unsubscribed_at.is_(None), _other.c.unsubscribed_at > bindparam("left_since"))
    return [
        ~feeds.c.operator_added,
        feeds.c.kind != "saved",
        feeds.c.created_at <= bindparam("left_since"),
        ~exists().where(_other.c.feed_id == feeds.c.id, subscribed_recently).correlate(feeds),
    ]


def _is_deletable_feed() -> list[ColumnElement[bool]]:
    return [*_has_no_subscribers(), ~exists().where(entries.c.feed_id == feeds.c.id).correlate(feeds)]


_FEEDS_WITHOUT_SUBSCRIBERS = Query(select(feeds.c.id).where(*_has_no_subscribers()).order_by(feeds.c.id), into=int)
_LOCK_FEED = Query(select(feeds.c.id).where(feeds.c.id == bindparam("id")).with_for_update(), into=int)
_DELETE_KEYS = Command(
    delete_some(
        tables.removed_keys,
        tables.removed_keys.c.feed_id == bindparam("id"),
        exists().where(feeds.c.id == bindparam("id"), *_is_deletable_feed()),
    )
)
_DELETE_FEED = Command(delete(feeds).where(feeds.c.id == bindparam("id"), *_is_deletable_feed()))


async def unfollowed(tx: Tx, left_since: Instant) -> list[int]:
    """Return feeds that the last subscriber left before `left_since`, or that never had one."""
    return await tx.all(_FEEDS_WITHOUT_SUBSCRIBERS, {"left_since": left_since})


async def delete_removed_keys(tx: Tx, feed_id: int, left_since: Instant, *, limit: int) -> int:
    """Delete some of the feed's removed keys, so that deleting the feed does not delete them all at once."""
    return await tx.run(_DELETE_KEYS, {"id": feed_id, "left_since": left_since, "limit": limit})


async def remove_feed(tx: Tx, feed_id: int, left_since: Instant) -> bool:
    """Delete the feed if it is empty and still has no subscribers."""
    await tx.all(_LOCK_FEED, {"id": feed_id})
    return await tx.run(_DELETE_FEED, {"id": feed_id, "left_since": left_since}) > 0


# --- Orphaned blobs and old failures


def _references(to: Table) -> list[ColumnElement[int]]:
    """Return every column that has a foreign key to this table."""
    return [
        column
        for table in tables.metadata.tables.values()
        for column in table.columns
        if any(key.column.table is to for key in column.foreign_keys)
    ]


_blobs = tables.blobs
_DELETE_ORPHAN_BLOBS = Command(
    delete(_blobs).where(
        _blobs.c.id.in_(
            select(_blobs.c.id)
            .where(
                _blobs.c.created_at < bindparam("before"),
                # Subqueries are read once as a set, since not all of these columns have an index.
                *(_blobs.c.id.not_in(select(column).where(column.is_not(None))) for column in _references(_blobs)),
            )
            .limit(bindparam("limit", type_=BigInteger))
        )
    )
)
_DELETE_FAILURES = Command(
    delete(tables.summary_failures).where(tables.summary_failures.c.failed_at < bindparam("before"))
)


async def delete_orphan_blobs(tx: Tx, before: Instant, *, limit: int = 10) -> int:
    return await tx.run(_DELETE_ORPHAN_BLOBS, {"before": before, "limit": limit})


async def delete_summary_failures(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_FAILURES, {"before": before})
