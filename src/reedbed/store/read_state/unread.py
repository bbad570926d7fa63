"""What is unread: a row for each unread entry of each user, a mark and a count on each subscription.

New entries fan out to the followers of their feed; reading deletes the row. Every change of rows corrects
`subscriptions.unread` in the same transaction, so that counts are one read of a user's subscriptions.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ClauseElement,
    ColumnElement,
    and_,
    bindparam,
    delete,
    literal,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Shapes, Statement, among, func, larger, select, unindexed
from reedbed.store.read_state import undo
from reedbed.store.tables import entries, feed_fetch_state, parked_unread, subscriptions, undo_steps, unread
from reedbed.store.visibility import alive, follows, lock_feed, lock_followers, lock_user_feeds

NEWEST_FOR_LATECOMERS = 50
"""Who follows a shared feed later sees the newest entries of its current document, at most so many."""

_ROW = ["user_id", "sort_at", "entry_id", "feed_id", "kept"]


@record
class Arrival:
    """New entries of one feed."""

    feed_id: int
    entry_ids: Sequence[int]
    silent: Mapping[int, Set[int]] = field(default_factory=dict[int, Set[int]])
    """By user, those that arrive as read because a rule said so."""


# ---- arrivals --------------------------------------------------------------------------------------


def _receivers(whom: str) -> ColumnElement[bool]:
    active = and_(
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        ~subscriptions.c.paused,
    )
    if whom == "one":
        return active & (subscriptions.c.user_id == bindparam("user_id"))
    return active & ~among(subscriptions.c.user_id, "but")


def _news() -> ColumnElement[bool]:
    """Those of the given entries that this subscription sees and has no row for."""
    has_row = select(unread.c.entry_id).where(
        unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id
    )
    return and_(
        unindexed(entries.c.feed_id) == subscriptions.c.feed_id,
        among(entries.c.id, "ids"),
        entries.c.id > subscriptions.c.since_id,
        ~has_row.correlate(subscriptions, entries).exists(),
    )


def _count_news(whom: str) -> ClauseElement:
    arrived = select(func.count()).where(_news()).correlate(subscriptions).scalar_subquery()
    return (
        update(subscriptions)
        .where(_receivers(whom))
        .values(
            unread=subscriptions.c.unread + arrived,
            newest_id=larger(subscriptions.c.newest_id, bindparam("newest", type_=BigInteger)),
        )
        .returning(subscriptions.c.feed_id, subscriptions.c.user_id)
    )


def _insert_news(whom: str) -> ClauseElement:
    # An entry whose transaction commits late may lie below a mark set meanwhile; `kept` lets it arrive alive.
    below_mark = entries.c.id <= subscriptions.c.read_to
    row = select(subscriptions.c.user_id, entries.c.sort_at, entries.c.id, entries.c.feed_id, below_mark)
    return insert(unread).from_select(_ROW, row.where(_receivers(whom), _news()))


_COUNT_NEWS = Shapes(_count_news)
_INSERT_NEWS = Shapes(_insert_news)


async def fan_out(tx: Tx, arrivals: Sequence[Arrival]) -> dict[int, set[int]]:
    """Make new entries unread for those who follow their feed and have not paused it; these, by feed."""
    for arrival in arrivals:
        await lock_feed(tx, arrival.feed_id)
        await lock_followers(tx, arrival.feed_id)
    most = [_arrived(each, but=list(each.silent)) for each in arrivals]
    some = [
        _arrived(each, hushed, user_id=user_id)
        for each in arrivals
        for user_id, hushed in each.silent.items()
    ]
    reached = {each.feed_id: set[int]() for each in arrivals}
    for feed_id, user_id in (
        *await tx.each(_COUNT_NEWS("most"), most),
        *await tx.each(_COUNT_NEWS("one"), some),
    ):
        reached[feed_id].add(user_id)
    await tx.run_many(_INSERT_NEWS("most"), [each for each in most if reached[each["feed_id"]]])
    await tx.run_many(_INSERT_NEWS("one"), some)
    return reached


def _arrived(arrival: Arrival, hushed: Set[int] = frozenset(), **whom: Any) -> dict[str, Any]:
    ids = [id_ for id_ in arrival.entry_ids if id_ not in hushed]
    return {"feed_id": arrival.feed_id, "ids": ids, "newest": max(arrival.entry_ids), **whom}


# ---- subscribing, unsubscribing and coming back ----------------------------------------------------

_OLDEST_LISTED = select(feed_fetch_state.c.oldest_listed_id).where(
    feed_fetch_state.c.feed_id == bindparam("feed_id")
)
# Else PostgreSQL may walk the ids of all feeds backwards.
_ENTRY_ID = unindexed(entries.c.id)
_FIFTY_FIRST = (
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(_ENTRY_ID.desc())
    .offset(NEWEST_FOR_LATECOMERS)
    .limit(1)
)
_NEWEST = select(func.max(_ENTRY_ID)).where(
    entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None)
)
_FLOOR = Statement(
    select(
        func.coalesce(_OLDEST_LISTED.scalar_subquery(), 0).label("oldest_listed"),
        func.coalesce(_FIFTY_FIRST.scalar_subquery(), 0).label("fifty_first"),
        func.coalesce(_NEWEST.scalar_subquery(), 0).label("newest"),
    )
)
_USER_ID: BindParameter[int] = bindparam("user_id", type_=BigInteger)
_OPEN = Statement(
    insert(unread)
    .from_select(
        _ROW,
        select(_USER_ID, entries.c.sort_at, entries.c.id, entries.c.feed_id, literal(False)).where(
            entries.c.feed_id == bindparam("feed_id"),
            entries.c.audience_id.is_(None),
            entries.c.id > bindparam("floor"),
        ),
    )
    .on_conflict_do_nothing()
)
_BEGIN = Statement(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(since_id=bindparam("floor"), read_to=0, newest_id=bindparam("newest"))
)
_RECOUNT = Statement(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(
        unread=select(func.count())
        .where(follows(unread, subscriptions), alive(unread, subscriptions))
        .correlate(subscriptions)
        .scalar_subquery()
    )
)


async def init_unread(tx: Tx, user_id: int, feed_id: int) -> None:
    """Give a new subscription (inserted already, in this transaction) its floor and its unread entries."""
    await lock_feed(tx, feed_id)
    floor, newest = await _floor(tx, feed_id)
    whose = {"user_id": user_id, "feed_id": feed_id}
    await tx.run(_BEGIN, {**whose, "floor": floor, "newest": newest})
    await tx.run(_OPEN, {**whose, "floor": floor})
    await tx.run(_RECOUNT, whose)


async def floor_for_latecomers(tx: Tx, feed_id: int) -> int:
    floor, _ = await _floor(tx, feed_id)
    return floor


async def _floor(tx: Tx, feed_id: int) -> tuple[int, int]:
    row = await tx.one(_FLOOR, {"feed_id": feed_id})
    assert row is not None
    return max(row["oldest_listed"] - 1, row["fifty_first"], 0), row["newest"]


_PARK = Statement(
    insert(parked_unread)
    .from_select(
        ["user_id", "feed_id", "entry_id", "sort_at", "kept"],
        select(unread.c.user_id, unread.c.feed_id, unread.c.entry_id, unread.c.sort_at, unread.c.kept).where(
            unread.c.user_id == bindparam("user_id"),
            unread.c.feed_id == bindparam("feed_id"),
            follows(unread, subscriptions),
            alive(unread, subscriptions),
        ),
    )
    .on_conflict_do_nothing()
)
_CLEAR = Statement(
    delete(unread).where(unread.c.user_id == bindparam("user_id"), unread.c.feed_id == bindparam("feed_id"))
)
_LEAVE = Statement(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(
        unread=0,
        newest_id=larger(
            subscriptions.c.newest_id,
            func.coalesce(_NEWEST.scalar_subquery(), 0),
        ),
    )
)


async def park(tx: Tx, user_id: int, feed_id: int) -> None:
    """Put a subscription's unread entries aside when its user leaves; what was marked read stays read."""
    whose = {"user_id": user_id, "feed_id": feed_id}
    await lock_feed(tx, feed_id)
    await lock_user_feeds(tx, user_id, [feed_id])
    await tx.run(_PARK, whose)
    await tx.run(_CLEAR, whose)
    await tx.run(_LEAVE, whose)


_UNPARK = Statement(
    insert(unread)
    .from_select(
        _ROW,
        select(
            parked_unread.c.user_id,
            entries.c.sort_at,
            parked_unread.c.entry_id,
            parked_unread.c.feed_id,
            parked_unread.c.kept,
        ).where(
            parked_unread.c.user_id == bindparam("user_id"),
            parked_unread.c.feed_id == bindparam("feed_id"),
            entries.c.id == parked_unread.c.entry_id,
        ),
    )
    .on_conflict_do_nothing()
)
_MISSED = Statement(
    insert(unread)
    .from_select(
        _ROW,
        select(
            subscriptions.c.user_id, entries.c.sort_at, entries.c.id, entries.c.feed_id, literal(False)
        ).where(
            subscriptions.c.user_id == bindparam("user_id"),
            subscriptions.c.feed_id == bindparam("feed_id"),
            entries.c.feed_id == subscriptions.c.feed_id,
            entries.c.audience_id.is_(None),
            entries.c.id > larger(subscriptions.c.newest_id, subscriptions.c.since_id),
            entries.c.id > bindparam("floor"),
        ),
    )
    .on_conflict_do_nothing()
)
_EMPTY_PARK = Statement(
    delete(parked_unread).where(
        parked_unread.c.user_id == bindparam("user_id"), parked_unread.c.feed_id == bindparam("feed_id")
    )
)
_COME_BACK = Statement(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(newest_id=larger(subscriptions.c.newest_id, bindparam("newest", type_=BigInteger)))
)


async def restore_unread(tx: Tx, user_id: int, feed_id: int) -> None:
    """Bring back what was unread when the user left, and the newest entries that arrived meanwhile."""
    whose = {"user_id": user_id, "feed_id": feed_id}
    await lock_feed(tx, feed_id)
    await lock_user_feeds(tx, user_id, [feed_id])
    floor, newest = await _floor(tx, feed_id)
    await tx.run(_UNPARK, whose)
    await tx.run(_MISSED, {**whose, "floor": floor})
    await tx.run(_EMPTY_PARK, whose)
    await tx.run(_COME_BACK, {**whose, "newest": newest})
    await tx.run(_RECOUNT, whose)


# ---- retention and repair --------------------------------------------------------------------------

_LOST = (
    select(subscriptions.c.id, func.count().label("rows"))
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .join(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id))
    .where(among(entries.c.id, "ids"), alive(unread, subscriptions))
    .group_by(subscriptions.c.id)
    .subquery("lost")
)
_COUNT_LOST = Statement(
    update(subscriptions)
    .where(subscriptions.c.id == _LOST.c.id)
    .values(unread=subscriptions.c.unread - _LOST.c.rows)
)
_FOLLOWED = (
    select(subscriptions.c.user_id, entries.c.id)
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .where(among(entries.c.id, "ids"))
)
_FORGET = Statement(delete(unread).where(tuple_(unread.c.user_id, unread.c.entry_id).in_(_FOLLOWED)))
_FORGET_PARKED = Statement(
    delete(parked_unread).where(
        tuple_(parked_unread.c.user_id, parked_unread.c.feed_id, parked_unread.c.entry_id).in_(
            _FOLLOWED.with_only_columns(subscriptions.c.user_id, subscriptions.c.feed_id, entries.c.id)
        )
    )
)


async def delete_rows_of(tx: Tx, entry_ids: Sequence[int]) -> None:
    """Take entries out of every count, before they are deleted; their followers are locked already."""
    ids = {"ids": list(entry_ids)}
    await tx.run(_COUNT_LOST, ids)
    await tx.run(_FORGET, ids)
    await tx.run(_FORGET_PARKED, ids)


# ---- sweeping --------------------------------------------------------------------------------------

_FEEDS_AT_ONCE = 200

_EXPIRED = Statement(
    select(undo_steps.c.id, undo_steps.c.user_id, undo_steps.c.marks)
    .where(undo_steps.c.expires_at <= bindparam("now"))
    .order_by(undo_steps.c.expires_at)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_DEAD = (
    select(unread.c.entry_id)
    .join_from(unread, subscriptions, follows(unread, subscriptions))
    .where(
        unread.c.user_id == bindparam("user_id"),
        unread.c.feed_id == bindparam("feed_id"),
        unindexed(unread.c.entry_id) <= bindparam("mark"),
        ~alive(unread, subscriptions),
    )
    .limit(bindparam("limit", type_=BigInteger))
)
_SWEEP = Statement(
    delete(unread).where(
        unread.c.user_id == bindparam("user_id"),
        unread.c.feed_id == bindparam("feed_id"),
        ~unread.c.kept,
        unread.c.entry_id.in_(_DEAD),
    )
)


async def delete_expired(tx: Tx, now: Instant, *, limit: int = 5_000) -> int | None:
    """Delete some dead rows of an act that can no longer be undone; None when there is no such act."""
    row = await tx.one(_EXPIRED, {"now": now})
    if row is None:
        return None
    step = undo.step_of(*row)
    await lock_user_feeds(tx, step.user_id, [mark.feed_id for mark in step.marks])
    swept, done = 0, 0
    for mark in step.marks[:_FEEDS_AT_ONCE]:
        dead = {"user_id": step.user_id, "feed_id": mark.feed_id, "mark": mark.after, "limit": limit - swept}
        swept += await tx.run(_SWEEP, dead)
        if swept >= limit:
            break
        done += 1
    await undo.keep_only(tx, step, step.marks[done:])
    return swept
