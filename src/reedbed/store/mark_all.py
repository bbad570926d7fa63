"""Mark everything read in a feed, a folder or all: a mark moves, no row is touched.

Rows at or below `read_to` are dead from then on, and swept when the act can no longer be undone. Only rows
marked unread by hand (`kept`) live below a mark; those go with the step and come back with it.
"""

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, bindparam, delete, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store import undo
from reedbed.store.alive import alive, follows
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import among, larger, smaller, unindexed
from reedbed.store.keyset import HIGHEST
from reedbed.store.sql import func, select
from reedbed.store.statements import Shapes, Statement
from reedbed.store.tables import subscriptions, undo_rows, unread
from reedbed.store.undo import MovedMark

FEW = 8


@record
class _Move:
    """One subscription before and after."""

    id: int
    feed_id: int
    before: int
    after: int
    unread_before: int
    unread_after: int


async def mark_all(
    tx: Tx, user_id: int, feed_ids: list[int] | None, up_to: int | None, *, token_hash: str, now: Instant
) -> int:
    """How many became read. `feed_ids` None means all; `up_to` is the newest entry the reader has seen."""
    top = HIGHEST if up_to is None else up_to
    rows = await tx.all(_TOUCHED(feed_ids is not None), {"user_id": user_id, "feed_ids": feed_ids})
    left = await _left_above(tx, user_id, [row["feed_id"] for row in rows if row["newest_id"] > top], top)
    moves = [_move(row, top, left.get(row["feed_id"], 0)) for row in rows]
    marks = [MovedMark(move.feed_id, move.before, move.after) for move in moves if move.before < move.after]
    step_id = await undo.add(tx, user_id, token_hash, "mark", now, marks)
    if moves:
        kept = {"user_id": user_id, "feed_ids": [move.feed_id for move in moves], "top": top}
        await tx.run(_KEEP_WITH_STEP, {**kept, "step_id": step_id})
        await tx.run(_REMOVE_KEPT, kept)
        await _apply(tx, moves, top)
    return sum(move.unread_before - move.unread_after for move in moves)


def _move(row: Row, top: int, left: int) -> _Move:
    # No higher than the newest row: an entry that commits late, with a smaller id, must not arrive read.
    after = max(row["read_to"], min(top, row["newest_id"]))
    return _Move(row["id"], row["feed_id"], row["read_to"], after, row["unread"], left)


async def _left_above(tx: Tx, user_id: int, feed_ids: list[int], top: int) -> dict[int, int]:
    if not feed_ids:
        return {}
    way = "feeds" if len(feed_ids) <= FEW else "news"
    rows = await tx.all(_LEFT_ABOVE(way), {"user_id": user_id, "feed_ids": feed_ids, "top": top})
    return {row["feed_id"]: row["rows"] for row in rows}


async def _apply(tx: Tx, moves: list[_Move], top: int) -> None:
    emptied = [move.id for move in moves if move.unread_after == 0]
    partly = [
        {"id": move.id, "top": top, "left": move.unread_after} for move in moves if move.unread_after > 0
    ]
    if emptied:
        await tx.run(_EMPTY, {"ids": emptied, "top": top})
    await tx.run_each(_LOWER, partly)


def _touched(by_feed: bool) -> ClauseElement:
    query = select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.read_to,
        subscriptions.c.newest_id,
        subscriptions.c.unread,
    ).where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.unread > 0,
    )
    if by_feed:
        query = query.where(among(subscriptions.c.feed_id, "feed_ids"))
    return query.order_by(subscriptions.c.id).with_for_update()


def _left(way: str) -> ClauseElement:
    """Few feeds are counted through their own rows, many through what is newer than the mark."""
    entry_id, feed_id = unread.c.entry_id, unread.c.feed_id
    if way == "feeds":
        entry_id = unindexed(entry_id)
    else:
        feed_id = unindexed(feed_id)
    return (
        select(feed_id.label("feed_id"), func.count().label("rows"))
        .join_from(unread, subscriptions, follows(unread, subscriptions))
        .where(
            unread.c.user_id == bindparam("user_id"),
            among(feed_id, "feed_ids"),
            entry_id > bindparam("top"),
            alive(unread, subscriptions),
        )
        .group_by(feed_id)
    )


_TOUCHED = Shapes(_touched)
_LEFT_ABOVE = Shapes(_left)
_KEPT: list[ColumnElement[bool]] = [
    unread.c.user_id == bindparam("user_id"),
    unread.c.entry_id <= bindparam("top"),
    unread.c.kept,
    among(unread.c.feed_id, "feed_ids"),
]
_STEP_ID: ColumnElement[int] = bindparam("step_id", type_=BigInteger)
_KEEP_WITH_STEP = Statement(
    insert(undo_rows).from_select(
        ["undo_id", "entry_id", "feed_id", "sort_at", "kept"],
        select(_STEP_ID, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at, unread.c.kept).where(*_KEPT),
    )
)
_REMOVE_KEPT = Statement(delete(unread).where(*_KEPT))
_MOVED = larger(
    subscriptions.c.read_to, smaller(subscriptions.c.newest_id, bindparam("top", type_=BigInteger))
)
_EMPTY = Statement(
    update(subscriptions).where(among(subscriptions.c.id, "ids")).values(read_to=_MOVED, unread=0)
)
_LOWER = Statement(
    update(subscriptions)
    .where(subscriptions.c.id == bindparam("id"))
    .values(read_to=_MOVED, unread=bindparam("left"))
)
