"""Bulk acts on chosen entries: the rows they mean go into a step first, then all at once.

Which rows is one INSERT … SELECT, whatever was chosen: ids, a tag, what is older, what a list shows above or
below an entry. The rest is the same for all.
"""

from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    FromClause,
    Join,
    and_,
    bindparam,
    delete,
    literal,
    or_,
    tuple_,
    update,
)
from sqlalchemy import insert as insert_selecting
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    Shapes,
    Statement,
    among,
    func,
    in_order,
    larger,
    select,
    smaller,
    unindexed,
)
from reedbed.store.entries.columns import tag_id
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import undo
from reedbed.store.read_state.rows import rows_of_entries
from reedbed.store.read_state.undo import MovedMark
from reedbed.store.tables import entries, entry_tags, later, muted, starred, subscriptions, undo_rows, unread
from reedbed.store.visibility import alive, follows, lock_user, shows

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
    await tx.run_many(_LOWER, partly)


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


MAX_UNREAD_AT_ONCE = 20_000
"""Marking unread writes a row for each entry; so many at most, the newest of them."""

_MARKS: dict[str, FromClause] = {"starred": starred, "later": later, "muted": muted}


@record
class ResolvedSelection:
    """A selection with its feeds and its entry looked up."""

    view: str = "all"
    ids: list[int] | None = None
    feed_ids: list[int] | None = None
    tag: str | None = None
    up_to: int | None = None
    older_than: Instant | None = None
    arrived_by: Instant | None = None
    newer_than: tuple[Instant, int] | None = None
    """Only entries after this place in (sort_at, id)."""
    before: tuple[Instant, int] | None = None
    """Only entries before this place."""


@record
class _MarkVariant:
    change: Literal["read", "unread"]
    view: str
    parts: frozenset[str]


async def mark(
    tx: Tx, user_id: int, chosen: ResolvedSelection, *, read: bool, token_hash: str, now: Instant
) -> tuple[int, int]:
    """Mark what was chosen read or unread; how many changed, and the step that holds them."""
    change = "read" if read else "unread"
    await lock_user(tx, user_id)
    step_id = await undo.add(tx, user_id, token_hash, change, now)
    params = {**_params(chosen), "user_id": user_id, "step_id": step_id, "most": MAX_UNREAD_AT_ONCE}
    changed = await tx.run(_STAGE(_MarkVariant(change, chosen.view, _parts(chosen))), params)
    if changed and read:
        await reading.read_rows_of(tx, user_id, step_id)
    elif changed:
        await reading.unread_rows_of(tx, user_id, step_id)
    return changed, step_id


def _parts(chosen: ResolvedSelection) -> frozenset[str]:
    names = ("ids", "feed_ids", "tag", "up_to", "older_than", "arrived_by", "newer_than", "before")
    return frozenset(name for name in names if getattr(chosen, name) is not None)


def _params(chosen: ResolvedSelection) -> dict[str, Any]:
    after, before = chosen.newer_than or (0, 0), chosen.before or (0, 0)
    return {
        "ids": chosen.ids,
        "feed_ids": chosen.feed_ids,
        "tag": chosen.tag,
        "up_to": chosen.up_to,
        "older_than": chosen.older_than,
        "arrived_by": chosen.arrived_by,
        "after_at": after[0],
        "after_id": after[1],
        "before_at": before[0],
        "before_id": before[1],
    }


def _stage(shape: _MarkVariant) -> ClauseElement:
    chosen = _rows_to_read(shape) if shape.change == "read" else _entries_to_unread(shape)
    return insert_selecting(undo_rows).from_select(
        ["undo_id", "entry_id", "feed_id", "sort_at", "kept"], chosen
    )


_STAGE = Shapes(_stage)
_SELECTED_STEP_ID: ColumnElement[int] = bindparam("step_id", type_=BigInteger)
_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)


def _rows_to_read(shape: _MarkVariant) -> Any:
    small = _small(shape)
    rows = rows_of_entries() if small else unread
    return (
        select(_SELECTED_STEP_ID, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at, unread.c.kept)
        .select_from(rows.join(subscriptions, follows(unread, subscriptions)))
        .where(
            unread.c.user_id == _USER,
            alive(unread, subscriptions),
            *small,
            *_chosen(shape, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at),
        )
    )


def _entries_to_unread(shape: _MarkVariant) -> Any:
    small = _small(shape)
    join = in_order if small else Join
    row = and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id)
    followed = join(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    return (
        select(_SELECTED_STEP_ID, entries.c.id, entries.c.feed_id, entries.c.sort_at, literal(False))
        .select_from(followed.outerjoin(unread, row))
        .where(
            subscriptions.c.user_id == _USER,
            subscriptions.c.unsubscribed_at.is_(None),
            shows(subscriptions, entries),
            or_(unread.c.entry_id.is_(None), ~alive(unread, subscriptions)),
            *small,
            *_chosen(shape, entries.c.id, entries.c.feed_id, entries.c.sort_at),
        )
        .order_by(unindexed(entries.c.sort_at).desc(), entries.c.id.desc())
        .limit(bindparam("most", type_=BigInteger))
    )


def _small(shape: _MarkVariant) -> list[ColumnElement[bool]]:
    """What names its entries is begun with; the rest filters."""
    conditions: list[ColumnElement[bool]] = []
    if "ids" in shape.parts:
        conditions.append(among(entries.c.id, "ids"))
    if "tag" in shape.parts:
        tagged = select(entry_tags.c.entry_id).where(
            entry_tags.c.user_id == _USER, entry_tags.c.tag_id == tag_id("tag")
        )
        conditions.append(entries.c.id.in_(tagged))
    if shape.view in _MARKS:
        table = _MARKS[shape.view]
        conditions.append(entries.c.id.in_(select(table.c.entry_id).where(table.c.user_id == _USER)))
    return conditions


def _chosen(
    shape: _MarkVariant,
    entry_id: ColumnElement[Any],
    feed_id: ColumnElement[Any],
    sort_at: ColumnElement[Any],
) -> list[ColumnElement[bool]]:
    place = tuple_(sort_at, entry_id)
    conditions: dict[str, ColumnElement[bool]] = {
        "feed_ids": among(feed_id, "feed_ids"),
        "up_to": entry_id <= bindparam("up_to"),
        "older_than": sort_at < bindparam("older_than"),
        "arrived_by": _arrived_by(entry_id),
        "newer_than": place > tuple_(bindparam("after_at"), bindparam("after_id")),
        "before": place < tuple_(bindparam("before_at"), bindparam("before_id")),
    }
    return [condition for name, condition in conditions.items() if name in shape.parts]


def _arrived_by(entry_id: ColumnElement[Any]) -> ColumnElement[bool]:
    arrival = entries.alias("arrival")
    return (
        select(arrival.c.id)
        .where(arrival.c.id == entry_id, arrival.c.fetched_at <= bindparam("arrived_by"))
        .correlate_except(arrival)
        .exists()
    )
