"""Unread state: a row per user and unread entry, plus a read marker and a count on each subscription.

New entries fan out to the subscribers of their feed; reading an entry deletes the row. Every change of rows
updates `subscriptions.unread` in the same transaction, so counts only need a user's subscriptions.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field

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

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    Command,
    CommandFamily,
    Param,
    Query,
    QueryFamily,
    among,
    func,
    insert,
    larger,
    row_of,
    select,
    unindexed,
)
from reedbed.store.read_state import undo
from reedbed.store.tables import entries, feed_fetch_state, parked_unread, subscriptions, undo_steps, unread
from reedbed.store.visibility import alive, follows, lock_feed, lock_subscribers, lock_subscriptions

MAX_INITIAL_UNREAD = 50
"""A new subscriber of an existing feed sees the entries of its current document, at most this many."""

_ROW = ["user_id", "sort_at", "entry_id", "feed_id", "kept"]


@record
class Arrival:
    """New entries of one feed."""

    feed_id: int
    entry_ids: Sequence[int]
    silent: Mapping[int, Set[int]] = field(default_factory=dict[int, Set[int]])
    """By user, the entries that arrive as read: because of a rule, an import, a merge or an earlier copy."""


# --- New entries


def _receivers(receivers: str) -> ColumnElement[bool]:
    active = and_(
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        ~subscriptions.c.paused,
    )
    if receivers == "one":
        return active & (subscriptions.c.user_id == bindparam("user_id"))
    return active & ~among(subscriptions.c.user_id, "but")


def _is_new() -> ColumnElement[bool]:
    """The new entries that are visible to this subscription and have no row yet."""
    has_row = select(unread.c.entry_id).where(
        unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id
    )
    return and_(
        unindexed(entries.c.feed_id) == subscriptions.c.feed_id,
        among(entries.c.id, "ids"),
        entries.c.id > subscriptions.c.since_id,
        ~has_row.correlate(subscriptions, entries).exists(),
    )


def _count_new(receivers: str) -> ClauseElement:
    arrived = select(func.count()).where(_is_new()).correlate(subscriptions).scalar_subquery()
    return (
        update(subscriptions)
        .where(_receivers(receivers))
        .values(
            unread=subscriptions.c.unread + arrived,
            newest_id=larger(subscriptions.c.newest_id, bindparam("newest", type_=BigInteger)),
        )
        .returning(subscriptions.c.feed_id, subscriptions.c.user_id)
    )


def _insert_new(receivers: str) -> ClauseElement:
    # An entry that commits late may be below a read marker set meanwhile; `kept` makes it unread anyway.
    below_mark = entries.c.id <= subscriptions.c.read_to
    row = select(subscriptions.c.user_id, entries.c.sort_at, entries.c.id, entries.c.feed_id, below_mark)
    return insert(unread).from_select(_ROW, row.where(_receivers(receivers), _is_new()))


_COUNT_NEW = QueryFamily(_count_new, into=row_of(int, int))
_INSERT_NEW = CommandFamily(_insert_new)


async def fan_out(tx: Tx, arrivals: Sequence[Arrival]) -> dict[int, set[int]]:
    """Make new entries unread for the subscribers of their feed who have not paused it.

    Returns these users by feed.
    """
    for arrival in arrivals:
        await lock_feed(tx, arrival.feed_id)
        await lock_subscribers(tx, arrival.feed_id)
    for_most = [_arrival_params(arrival, but=list(arrival.silent)) for arrival in arrivals]
    for_single = [
        _arrival_params(arrival, silent, user_id=user_id)
        for arrival in arrivals
        for user_id, silent in arrival.silent.items()
    ]
    users = {arrival.feed_id: set[int]() for arrival in arrivals}
    for feed_id, user_id in (
        *await tx.each(_COUNT_NEW("most"), for_most),
        *await tx.each(_COUNT_NEW("one"), for_single),
    ):
        users[feed_id].add(user_id)
    followed = [params for arrival, params in zip(arrivals, for_most, strict=True) if users[arrival.feed_id]]
    await tx.run_many(_INSERT_NEW("most"), followed)
    await tx.run_many(_INSERT_NEW("one"), for_single)
    return users


_WITHOUT_SHORTS = Query(
    select(subscriptions.c.feed_id, subscriptions.c.user_id).where(
        among(subscriptions.c.feed_id, "feed_ids"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.without_shorts,
    ),
    into=row_of(int, int),
)
_OVER_LIMIT = Query(
    select(subscriptions.c.user_id, subscriptions.c.feed_id, subscriptions.c.unread_limit)
    .where(
        among(subscriptions.c.feed_id, "feed_ids"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.unread > subscriptions.c.unread_limit,
    )
    .order_by(subscriptions.c.id),
    into=row_of(int, int, int),
)
_BEYOND_LIMIT = Query(
    select(unread.c.entry_id)
    .join_from(unread, subscriptions, follows(unread, subscriptions))
    .where(
        unread.c.user_id == bindparam("user_id"), unread.c.feed_id == bindparam("feed_id"), alive(unread, subscriptions)
    )
    .order_by(unread.c.sort_at.desc(), unread.c.entry_id.desc())
    .limit(bindparam("most"))
    .offset(bindparam("skipped")),
    into=int,
)


async def without_shorts(tx: Tx, feed_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Feed and user of the subscriptions that leave out short videos."""
    return await tx.all(_WITHOUT_SHORTS, {"feed_ids": list(feed_ids)})


async def over_limit(tx: Tx, feed_ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """User, feed and limit of the subscriptions with more unread entries than they are to keep."""
    return await tx.all(_OVER_LIMIT, {"feed_ids": list(feed_ids)})


async def beyond_limit(tx: Tx, user_id: int, feed_id: int, limit: int) -> list[int]:
    """The unread entries of the feed but for the newest ones."""
    params = {"user_id": user_id, "feed_id": feed_id, "most": HIGHEST, "skipped": limit}
    return await tx.all(_BEYOND_LIMIT, params)


def _arrival_params(arrival: Arrival, silent: Set[int] = frozenset(), **receivers: Param) -> dict[str, Param]:
    ids = [id_ for id_ in arrival.entry_ids if id_ not in silent]
    return {"feed_id": arrival.feed_id, "ids": ids, "newest": max(arrival.entry_ids), **receivers}


# --- Subscribing, unsubscribing and resubscribing

_OLDEST_LISTED = select(feed_fetch_state.c.oldest_listed_id).where(feed_fetch_state.c.feed_id == bindparam("feed_id"))
# Without `unindexed` PostgreSQL may walk the ids of all feeds backwards.
_ENTRY_ID = unindexed(entries.c.id)
_FIRST_TOO_OLD = (
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(_ENTRY_ID.desc())
    .offset(MAX_INITIAL_UNREAD)
    .limit(1)
)
_NEWEST = select(func.max(_ENTRY_ID)).where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
_SINCE_ID_BOUNDS = Query(
    select(
        func.coalesce(_OLDEST_LISTED.scalar_subquery(), 0).label("oldest_listed"),
        func.coalesce(_FIRST_TOO_OLD.scalar_subquery(), 0).label("fifty_first"),
        func.coalesce(_NEWEST.scalar_subquery(), 0).label("newest"),
    ),
    into=row_of(int, int, int),
)
_USER_ID: BindParameter[int] = bindparam("user_id", type_=BigInteger)
_INSERT_INITIAL = Command(
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
_SET_INITIAL_MARKERS = Command(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(since_id=bindparam("floor"), read_to=0, newest_id=bindparam("newest"))
)
_RECOUNT = Command(
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
    """Set `since_id` and the unread entries of a subscription just inserted in this transaction."""
    await lock_feed(tx, feed_id)
    since_id, newest = await _initial_since_id(tx, feed_id)
    pair = {"user_id": user_id, "feed_id": feed_id}
    await tx.run(_SET_INITIAL_MARKERS, {**pair, "floor": since_id, "newest": newest})
    await tx.run(_INSERT_INITIAL, {**pair, "floor": since_id})
    await tx.run(_RECOUNT, pair)


async def initial_since_id(tx: Tx, feed_id: int) -> int:
    since_id, _ = await _initial_since_id(tx, feed_id)
    return since_id


async def _initial_since_id(tx: Tx, feed_id: int) -> tuple[int, int]:
    oldest_listed, fifty_first, newest = await tx.get(_SINCE_ID_BOUNDS, {"feed_id": feed_id})
    return max(oldest_listed - 1, fifty_first, 0), newest


_PARK = Command(
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
_CLEAR = Command(
    delete(unread).where(unread.c.user_id == bindparam("user_id"), unread.c.feed_id == bindparam("feed_id"))
)
_RESET_COUNT = Command(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(unread=0, newest_id=larger(subscriptions.c.newest_id, func.coalesce(_NEWEST.scalar_subquery(), 0)))
)


async def park(tx: Tx, user_id: int, feed_id: int) -> None:
    """On unsubscribing, move the unread rows to `parked_unread`; what was marked read stays read."""
    pair = {"user_id": user_id, "feed_id": feed_id}
    await lock_feed(tx, feed_id)
    await lock_subscriptions(tx, user_id, [feed_id])
    await tx.run(_PARK, pair)
    await tx.run(_CLEAR, pair)
    await tx.run(_RESET_COUNT, pair)


_RESTORE_UNREAD = Command(
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
_MISSED = Command(
    insert(unread)
    .from_select(
        _ROW,
        select(subscriptions.c.user_id, entries.c.sort_at, entries.c.id, entries.c.feed_id, literal(False)).where(
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
_DELETE_PARKED_FEED = Command(
    delete(parked_unread).where(
        parked_unread.c.user_id == bindparam("user_id"), parked_unread.c.feed_id == bindparam("feed_id")
    )
)
_RAISE_NEWEST = Command(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(newest_id=larger(subscriptions.c.newest_id, bindparam("newest", type_=BigInteger)))
)


async def restore_unread(tx: Tx, user_id: int, feed_id: int) -> None:
    """On resubscribing, restore the parked rows and add the newest entries that arrived meanwhile."""
    pair = {"user_id": user_id, "feed_id": feed_id}
    await lock_feed(tx, feed_id)
    await lock_subscriptions(tx, user_id, [feed_id])
    since_id, newest = await _initial_since_id(tx, feed_id)
    await tx.run(_RESTORE_UNREAD, pair)
    await tx.run(_MISSED, {**pair, "floor": since_id})
    await tx.run(_DELETE_PARKED_FEED, pair)
    await tx.run(_RAISE_NEWEST, {**pair, "newest": newest})
    await tx.run(_RECOUNT, pair)


# --- Before entries are deleted

_LOST_ROWS = (
    select(subscriptions.c.id, func.count().label("rows"))
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .join(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id))
    .where(among(entries.c.id, "ids"), alive(unread, subscriptions))
    .group_by(subscriptions.c.id)
    .subquery("lost")
)
_COUNT_LOST = Command(
    update(subscriptions)
    .where(subscriptions.c.id == _LOST_ROWS.c.id)
    .values(unread=subscriptions.c.unread - _LOST_ROWS.c.rows)
)
_SUBSCRIBED_ENTRIES = (
    select(subscriptions.c.user_id, entries.c.id)
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .where(among(entries.c.id, "ids"))
)
_DELETE = Command(delete(unread).where(tuple_(unread.c.user_id, unread.c.entry_id).in_(_SUBSCRIBED_ENTRIES)))
_DELETE_PARKED = Command(
    delete(parked_unread).where(
        tuple_(parked_unread.c.user_id, parked_unread.c.feed_id, parked_unread.c.entry_id).in_(
            _SUBSCRIBED_ENTRIES.with_only_columns(subscriptions.c.user_id, subscriptions.c.feed_id, entries.c.id)
        )
    )
)


async def delete_rows_of(tx: Tx, entry_ids: Sequence[int]) -> None:
    """Delete the unread rows of entries that will be deleted; the caller has locked their subscribers."""
    ids = {"ids": list(entry_ids)}
    await tx.run(_COUNT_LOST, ids)
    await tx.run(_DELETE, ids)
    await tx.run(_DELETE_PARKED, ids)


# --- Rows below a read marker

_MAX_FEEDS = 200

_EXPIRED = Query(
    select(undo_steps.c.id, undo_steps.c.user_id, undo_steps.c.marks)
    .where(undo_steps.c.expires_at <= bindparam("now"))
    .order_by(undo_steps.c.expires_at)
    .limit(1)
    .with_for_update(skip_locked=True),
    into=row_of(int, int, str),
)
_READ_ROWS = (
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
_DELETE_DEAD = Command(
    delete(unread).where(
        unread.c.user_id == bindparam("user_id"),
        unread.c.feed_id == bindparam("feed_id"),
        ~unread.c.kept,
        unread.c.entry_id.in_(_READ_ROWS),
    )
)


async def delete_expired(tx: Tx, now: Instant, *, limit: int = 5_000) -> int | None:
    """Delete a batch of rows below the read markers of an expired undo step, and return how many.

    None if there is no expired step.
    """
    row = await tx.one(_EXPIRED, {"now": now})
    if row is None:
        return None
    step = undo.parse_step(*row)
    await lock_subscriptions(tx, step.user_id, [mark.feed_id for mark in step.marks])
    deleted, done = 0, 0
    for mark in step.marks[:_MAX_FEEDS]:
        params = {"user_id": step.user_id, "feed_id": mark.feed_id, "mark": mark.after, "limit": limit - deleted}
        deleted += await tx.run(_DELETE_DEAD, params)
        if deleted >= limit:
            break
        done += 1
    await undo.retain_marks(tx, step, step.marks[done:])
    return deleted
