"""The log of cleanups, and the word to those whose unread entries went."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    or_,
    tuple_,
    update,
)
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.retention import RetentionOverride, removed_keys
from reedbed.domain.search import SearchWords
from reedbed.domain.times import LEEWAY, Instant
from reedbed.store import search, tables
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    LOWEST,
    Shapes,
    Statement,
    among,
    delete_some,
    func,
    select,
)
from reedbed.store.entries import write as removed
from reedbed.store.read_state.unread import delete_rows_of
from reedbed.store.tables import cleanup_notices, cleanups
from reedbed.store.visibility import alive, lock_followers_of_entries

entries, subscriptions, unread, feeds = tables.entries, tables.subscriptions, tables.unread, tables.feeds

State = Literal["read", "unread", "any"]
ReadingList = tuple[Instant, int]
"""When an entry arrived, and its id: candidates are walked in this order."""
START: ReadingList = (LOWEST, 0)


@record
class Removed:
    entries: int = 0
    unread: int = 0
    """Those that somebody had not read."""
    lost: Mapping[int, int] = field(default_factory=dict[int, int])
    """By user: how many of their unread entries went."""


# ---- who may go ------------------------------------------------------------------------------------

_KEEPSAKES = (tables.starred, tables.later, tables.entry_tags, tables.highlights, tables.bookmarks)


def _kept_by_somebody() -> ColumnElement[bool]:
    return or_(*(exists().where(kept.c.entry_id == entries.c.id).correlate(entries) for kept in _KEEPSAKES))


def _unread_by_somebody() -> ColumnElement[bool]:
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


def may_go(state: State) -> list[ColumnElement[bool]]:
    saved_by_hand = select(feeds.c.id).where(feeds.c.kind == "saved")
    free = [entries.c.feed_id.not_in(saved_by_hand), ~_kept_by_somebody()]
    if state == "any":
        return free
    return [*free, _unread_by_somebody() if state == "unread" else ~_unread_by_somebody()]


def _aged(scope: Literal["most", "one"], state: State) -> ClauseElement:
    whose = entries.c.feed_id == bindparam("feed_id") if scope == "one" else ~among(entries.c.feed_id, "but")
    place = tuple_(entries.c.fetched_at, entries.c.id)
    beyond = tuple_(bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger))
    return (
        select(entries.c.fetched_at, entries.c.id)
        .where(entries.c.fetched_at < bindparam("before"), place > beyond, whose, *may_go(state))
        .order_by(entries.c.fetched_at, entries.c.id)
        .limit(bindparam("most", type_=BigInteger))
    )


def _below(state: State) -> ClauseElement:
    return (
        select(entries.c.id)
        .where(
            entries.c.feed_id == bindparam("feed_id"),
            entries.c.id > bindparam("beyond"),
            entries.c.id <= bindparam("top"),
            *may_go(state),
        )
        .order_by(entries.c.id)
        .limit(bindparam("most", type_=BigInteger))
    )


_AGED = Shapes(_aged)
_BELOW = Shapes(_below)
_CROWDED = Statement(
    select(entries.c.feed_id, func.count())
    .where(entries.c.audience_id.is_(None))
    .group_by(entries.c.feed_id)
    .having(func.count() > bindparam("least", type_=BigInteger))
)
_SURPLUS_TOP = Statement(
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(entries.c.id.desc())
    .offset(bindparam("kept", type_=BigInteger))
    .limit(1)
)
_active = subscriptions.c.unsubscribed_at.is_(None)
_WISHES = Statement(
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
    )
)
_OLDEST = Statement(select(func.min(entries.c.fetched_at)))
_HOW_MANY = Statement(select(func.count()).select_from(entries))


async def wishes(tx: Tx) -> dict[int, list[RetentionOverride]]:
    """Of all who follow a feed of which somebody wants more or less kept."""
    found: dict[int, list[RetentionOverride]] = {}
    for feed_id, *wanted in await tx.all(_WISHES):
        found.setdefault(feed_id, []).append(RetentionOverride(*wanted))
    return found


async def aged(
    tx: Tx, state: State, before: Instant, beyond: ReadingList, *, most: int, but: Sequence[int] = ()
) -> list[ReadingList]:
    """What arrived before this moment, oldest first, in all feeds but these."""
    return _places(
        await tx.all(_AGED("most", state), _aged_params(before, beyond, most) | {"but": list(but)})
    )


async def aged_in(
    tx: Tx, feed_id: int, state: State, before: Instant, beyond: ReadingList, *, most: int
) -> list[ReadingList]:
    return _places(
        await tx.all(_AGED("one", state), _aged_params(before, beyond, most) | {"feed_id": feed_id})
    )


async def crowded(tx: Tx, least: int) -> dict[int, int]:
    """Feeds with more entries than this, and how many."""
    return {row[0]: row[1] for row in await tx.all(_CROWDED, {"least": least})}


async def surplus_top(tx: Tx, feed_id: int, kept: int) -> int | None:
    """The newest entry beyond those that stay."""
    return await tx.value(_SURPLUS_TOP, {"feed_id": feed_id, "kept": kept})


async def below(tx: Tx, feed_id: int, state: State, top: int, *, beyond: int, most: int) -> list[int]:
    params = {"feed_id": feed_id, "beyond": beyond, "top": top, "most": most}
    return [row[0] for row in await tx.all(_BELOW(state), params)]


async def oldest_arrival(tx: Tx) -> Instant | None:
    return await tx.value(_OLDEST)


async def count_entries(tx: Tx) -> int:
    return await tx.value(_HOW_MANY)


def _aged_params(before: Instant, beyond: ReadingList, most: int) -> dict[str, int]:
    return {"before": before, "at": beyond[0], "id": beyond[1], "most": most}


def _places(rows: Sequence[Row]) -> list[ReadingList]:
    return [(row[0], row[1]) for row in rows]


# ---- going -----------------------------------------------------------------------------------------

_HOLD = Statement(
    select(entries.c.id)
    .where(among(entries.c.id, "ids"))
    .order_by(entries.c.id)
    .with_for_update(skip_locked=True)
)


def _going(state: State) -> ClauseElement:
    columns = (
        entries.c.id,
        entries.c.feed_id,
        entries.c.guid,
        entries.c.normalized_url,
        entries.c.change_hash,
        entries.c.audience_id,
    )
    return select(*columns).where(among(entries.c.id, "ids"), *may_go(state))


_GOING = Shapes(_going)
_LOST = Statement(
    select(subscriptions.c.user_id, entries.c.id)
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .join(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id))
    .where(among(entries.c.id, "ids"), _active, alive(unread, subscriptions))
)
_DELETE = Statement(delete(entries).where(among(entries.c.id, "ids")))


async def delete_entries(
    tx: Tx,
    entry_ids: Sequence[int],
    state: State,
    words: Sequence[tuple[int, Sequence[SearchWords]]] = (),
) -> Removed:
    """Remove those of these entries that still may go.

    `words` are what the search index may hold of them, see `search.forget`.
    """
    await lock_followers_of_entries(tx, list(entry_ids))
    going = await tx.all(_GOING(state), {"ids": await _hold(tx, list(entry_ids))})
    if not going:
        return Removed()
    ids = [row[0] for row in going]
    lost: Sequence[Row] = await tx.all(_LOST, {"ids": ids}) if state != "read" else ()
    await delete_rows_of(tx, ids)
    await removed.remember(
        tx,
        [
            (feed_id, key)
            for _, feed_id, *named, audience_id in going
            # What the feed never published must not keep it from publishing the same key.
            if audience_id is None
            for key in removed_keys(*named)
        ],
    )
    await search.forget(tx, [(id_, said) for id_, said in words if id_ in set(ids)])
    await tx.run(_DELETE, {"ids": ids})
    return Removed(len(ids), len({row[1] for row in lost}), _by_user(lost))


async def _hold(tx: Tx, entry_ids: list[int]) -> list[int]:
    """A star put on an entry at this moment holds it. The next statement sees what was put before."""
    if tx.engine == "sqlite":  # where nobody else writes
        return entry_ids
    return [row[0] for row in await tx.all(_HOLD, {"ids": entry_ids})]


def _by_user(lost: Sequence[Row]) -> dict[int, int]:
    counted: dict[int, int] = {}
    for user_id, _ in lost:
        counted[user_id] = counted.get(user_id, 0) + 1
    return counted


entry_rows, subscription_rows, feed_rows = tables.entries, tables.subscriptions, tables.feeds

# ---- whole articles --------------------------------------------------------------------------------

_bodies = tables.entry_bodies
_ARTICLES = Statement(
    select(entry_rows.c.id)
    .join_from(_bodies, entry_rows, entry_rows.c.id == _bodies.c.entry_id)
    .where(
        _bodies.c.full_content.is_not(None),
        _bodies.c.entry_id > bindparam("beyond"),
        entry_rows.c.fetched_at < bindparam("before"),
        *may_go("read"),
    )
    .order_by(_bodies.c.entry_id)
    .limit(bindparam("most", type_=BigInteger))
)
_CLEAR = Statement(
    update(_bodies)
    .where(
        _bodies.c.full_content.is_not(None),
        _bodies.c.entry_id.in_(select(entry_rows.c.id).where(among(entry_rows.c.id, "ids"), *may_go("read"))),
    )
    .values(full_content=None, full_attempted_at=None)
    .returning(_bodies.c.entry_id)
)


async def articles(tx: Tx, before: Instant, *, beyond: int, most: int) -> list[int]:
    """Read entries that arrived before this moment and still hold their whole article."""
    return [row[0] for row in await tx.all(_ARTICLES, {"before": before, "beyond": beyond, "most": most})]


async def clear_articles(tx: Tx, entry_ids: Sequence[int]) -> set[int]:
    """Those that did lose their article: what somebody marked meanwhile keeps it."""
    return {row[0] for row in await tx.all(_CLEAR, {"ids": list(entry_ids)})}


# ---- feeds that nobody follows ---------------------------------------------------------------------

_other = subscription_rows.alias("other")


def _nobody_follows() -> list[ColumnElement[bool]]:
    recently = or_(_other.c.unsubscribed_at.is_(None), _other.c.unsubscribed_at > bindparam("left_since"))
    return [
        ~feed_rows.c.operator_added,
        feed_rows.c.kind != "saved",
        feed_rows.c.created_at <= bindparam("left_since"),
        ~exists().where(_other.c.feed_id == feed_rows.c.id, recently).correlate(feed_rows),
    ]


def _may_be_removed() -> list[ColumnElement[bool]]:
    return [
        *_nobody_follows(),
        ~exists().where(entry_rows.c.feed_id == feed_rows.c.id).correlate(feed_rows),
    ]


_UNFOLLOWED = Statement(select(feed_rows.c.id).where(*_nobody_follows()).order_by(feed_rows.c.id))
_HOLD_FEED = Statement(select(feed_rows.c.id).where(feed_rows.c.id == bindparam("id")).with_for_update())
_DROP_KEYS = Statement(
    delete_some(
        tables.removed_keys,
        tables.removed_keys.c.feed_id == bindparam("id"),
        exists().where(feed_rows.c.id == bindparam("id"), *_may_be_removed()),
    )
)
_DELETE_FEED = Statement(
    delete(feed_rows).where(
        feed_rows.c.id == bindparam("id"),
        *_may_be_removed(),
    )
)


async def unfollowed(tx: Tx, left_since: Instant) -> list[int]:
    """Feeds that everybody left before this moment, or nobody ever followed."""
    return [row[0] for row in await tx.all(_UNFOLLOWED, {"left_since": left_since})]


async def drop_keys(tx: Tx, feed_id: int, left_since: Instant, *, most: int) -> int:
    """Some of what such a feed does not tell as new; they would go with it, all at once."""
    return await tx.run(_DROP_KEYS, {"id": feed_id, "left_since": left_since, "most": most})


async def remove_feed(tx: Tx, feed_id: int, left_since: Instant) -> bool:
    """Only an empty one that still nobody follows."""
    await tx.all(_HOLD_FEED, {"id": feed_id})
    return await tx.run(_DELETE_FEED, {"id": feed_id, "left_since": left_since}) > 0


# ---- what belongs to nobody ------------------------------------------------------------------------


def _references(to: Table) -> list[ColumnElement[int]]:
    """Every column of every table that names a row of this one."""
    return [
        column
        for table in tables.metadata.tables.values()
        for column in table.columns
        if any(key.column.table is to for key in column.foreign_keys)
    ]


_blobs = tables.blobs
_ORPHANS = Statement(
    delete(_blobs).where(
        _blobs.c.id.in_(
            select(_blobs.c.id)
            .where(
                _blobs.c.created_at < bindparam("before"),
                # Read once as a set: not every one of these columns has an index.
                *(_blobs.c.id.not_in(select(one).where(one.is_not(None))) for one in _references(_blobs)),
            )
            .limit(bindparam("most", type_=BigInteger))
        )
    )
)
_FAILURES = Statement(
    delete(tables.summary_failures).where(tables.summary_failures.c.failed_at < bindparam("before"))
)


async def drop_orphan_blobs(tx: Tx, before: Instant, *, most: int = 10) -> int:
    return await tx.run(_ORPHANS, {"before": before, "most": most})


async def drop_failures(tx: Tx, before: Instant) -> int:
    return await tx.run(_FAILURES, {"before": before})


@record
class Cleanup:
    id: int
    started_at: Instant
    finished_at: Instant | None = None
    entries_removed: int = 0
    unread_removed: int = 0
    articles_cleared: int = 0
    failures_removed: int = 0
    feeds_removed: int = 0
    bytes_freed: int = 0
    age_days: int | None = None
    """How far the size of the database made it go; None: no further than set."""
    notes: str = ""


@record
class CleanupNotice:
    unread_removed: int
    removed_at: Instant


_COUNTED = (
    "entries_removed",
    "unread_removed",
    "articles_cleared",
    "failures_removed",
    "feeds_removed",
    "bytes_freed",
)
_COLUMNS = (
    cleanups.c.id,
    cleanups.c.started_at,
    cleanups.c.finished_at,
    *(cleanups.c[name] for name in _COUNTED),
    cleanups.c.age_days,
    cleanups.c.notes,
)
_BEGIN = Statement(plain_insert(cleanups).returning(cleanups.c.id), columns=["started_at"])
_UNFINISHED = Statement(
    select(*_COLUMNS).where(cleanups.c.finished_at.is_(None)).order_by(cleanups.c.id.desc()).limit(1)
)
_LATEST = Statement(
    select(func.max(cleanups.c.started_at)).where(
        cleanups.c.finished_at.is_not(None), cleanups.c.started_at <= bindparam("limit")
    )
)
_ADD = Statement(
    update(cleanups)
    .where(cleanups.c.id == bindparam("cleanup"))
    .values({name: cleanups.c[name] + bindparam(f"more_{name}", type_=BigInteger) for name in _COUNTED})
)
_FINISH = Statement(
    update(cleanups)
    .where(cleanups.c.id == bindparam("cleanup"))
    .values(
        finished_at=bindparam("now"),
        age_days=bindparam("days", type_=BigInteger),
        notes=bindparam("said", type_=Text()),
    )
)
_NEWEST = Statement(
    select(*_COLUMNS)
    .where(cleanups.c.id < bindparam("before"))
    .order_by(cleanups.c.id.desc())
    .limit(bindparam("most"))
)
_GET = Statement(select(*_COLUMNS).where(cleanups.c.id == bindparam("id")))
_FORGET = Statement(delete(cleanups).where(cleanups.c.started_at < bindparam("before")))

_notice = insert(cleanup_notices).values(
    {name: bindparam(name) for name in ("user_id", "unread_removed", "removed_at")}
)
_TELL = Statement(
    _notice.on_conflict_do_update(
        index_elements=["user_id"],
        set_={
            "unread_removed": cleanup_notices.c.unread_removed + _notice.excluded.unread_removed,
            "removed_at": _notice.excluded.removed_at,
        },
    )
)
_NOTICE = Statement(
    select(cleanup_notices.c.unread_removed, cleanup_notices.c.removed_at).where(
        cleanup_notices.c.user_id == bindparam("user_id")
    )
)
_DISMISS = Statement(delete(cleanup_notices).where(cleanup_notices.c.user_id == bindparam("user_id")))


async def begin_cleanup(tx: Tx, now: Instant) -> Cleanup:
    """A new cleanup, or the one that was broken off."""
    row = await tx.one(_UNFINISHED)
    return Cleanup(*row) if row else Cleanup(await tx.value(_BEGIN, {"started_at": now}), now)


async def latest_cleanup(tx: Tx, now: Instant) -> Instant | None:
    """When the last one that came to its end began; what only a wrong clock has written does not count."""
    return await tx.value(_LATEST, {"limit": now + LEEWAY})


async def is_cleanup_unfinished(tx: Tx) -> bool:
    return await tx.one(_UNFINISHED) is not None


async def add_to_cleanup(tx: Tx, cleanup_id: int, **more: int) -> None:
    """Count what was done, in the transaction that does it."""
    counted = {f"more_{name}": more.get(name, 0) for name in _COUNTED}
    await tx.run(_ADD, {"cleanup": cleanup_id, **counted})


async def finish_cleanup(
    tx: Tx, cleanup_id: int, now: Instant, *, age_days: int | None, notes: str
) -> Cleanup:
    await tx.run(_FINISH, {"cleanup": cleanup_id, "now": now, "days": age_days, "said": notes})
    row = await tx.one(_GET, {"id": cleanup_id})
    assert row is not None
    return Cleanup(*row)


async def list_cleanups(tx: Tx, *, limit: int, before: int | None = None) -> list[Cleanup]:
    params = {"before": HIGHEST if before is None else before, "most": limit}
    return [Cleanup(*row) for row in await tx.all(_NEWEST, params)]


async def delete_old_cleanups(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


async def add_notice(tx: Tx, lost: Mapping[int, int], now: Instant) -> None:
    """Note for each user how many of their unread entries went."""
    await tx.run_many(
        _TELL,
        [
            {"user_id": user_id, "unread_removed": count, "removed_at": now}
            for user_id, count in sorted(lost.items())
        ],
    )


async def get_notice(tx: Tx, user_id: int) -> CleanupNotice | None:
    row = await tx.one(_NOTICE, {"user_id": user_id})
    return CleanupNotice(*row) if row else None


async def dismiss_notice(tx: Tx, user_id: int) -> bool:
    return await tx.run(_DISMISS, {"user_id": user_id}) > 0
