"""Bulk marking: all entries of some feeds as read, or any selection as read or unread.

`mark_all` moves the read markers of subscriptions. `mark` handles selections: one INSERT … SELECT copies the
selected rows (by ids, tag, age, or the position in a list) into an undo step, then the step is applied.
"""

from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    FromClause,
    Join,
    Select,
    and_,
    bindparam,
    delete,
    literal,
    or_,
    tuple_,
    update,
)
from sqlalchemy import insert as insert_selecting

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    Command,
    CommandFamily,
    Param,
    QueryFamily,
    among,
    func,
    in_order,
    insert,
    larger,
    row_of,
    select,
    smaller,
    unindexed,
)
from reedbed.store.entries.columns import has_flag, tag_id
from reedbed.store.read_state import undo
from reedbed.store.read_state.rows import read_rows_of, rows_of_entries, unread_rows_of
from reedbed.store.read_state.undo import MovedMarker
from reedbed.store.tables import entries, entry_tags, later, muted, starred, subscriptions, undo_rows, unread
from reedbed.store.visibility import alive, follows, lock_user, shows

SMALL_SELECTION = 8


class _Marked(NamedTuple):
    """A subscription with unread entries."""

    id: int
    feed_id: int
    read_to: int
    newest_id: int
    unread: int


@record
class _Move:
    """The read marker and unread count of one subscription, before and after."""

    id: int
    feed_id: int
    before: int
    after: int
    unread_before: int
    unread_after: int


async def mark_all(
    tx: Tx, user_id: int, feed_ids: list[int] | None, up_to: int | None, *, token_hash: str, now: Instant
) -> int:
    """Returns how many became read. `feed_ids` None: all feeds; `up_to`: the newest entry the user saw."""
    top = HIGHEST if up_to is None else up_to
    rows = await tx.all(_AFFECTED(feed_ids is not None), {"user_id": user_id, "feed_ids": feed_ids})
    remaining = await _count_remaining(tx, user_id, [row.feed_id for row in rows if row.newest_id > top], top)
    moves = [_move(row, top, remaining.get(row.feed_id, 0)) for row in rows]
    marks = [MovedMarker(move.feed_id, move.before, move.after) for move in moves if move.before < move.after]
    step_id = await undo.add(tx, user_id, token_hash, "mark", now, marks)
    if moves:
        kept_params = {"user_id": user_id, "feed_ids": [move.feed_id for move in moves], "top": top}
        await tx.run(_KEEP_WITH_STEP, {**kept_params, "step_id": step_id})
        await tx.run(_REMOVE_KEPT, kept_params)
        await _apply_moves(tx, moves, top)
    return sum(move.unread_before - move.unread_after for move in moves)


def _move(row: _Marked, top: int, remaining: int) -> _Move:
    # Not above the newest row: an entry that commits late, with a smaller id, must not arrive as read.
    after = max(row.read_to, min(top, row.newest_id))
    return _Move(row.id, row.feed_id, row.read_to, after, row.unread, remaining)


async def _count_remaining(tx: Tx, user_id: int, feed_ids: list[int], top: int) -> dict[int, int]:
    if not feed_ids:
        return {}
    strategy = "feeds" if len(feed_ids) <= SMALL_SELECTION else "news"
    return dict(await tx.all(_LEFT_ABOVE(strategy), {"user_id": user_id, "feed_ids": feed_ids, "top": top}))


async def _apply_moves(tx: Tx, moves: list[_Move], top: int) -> None:
    emptied = [move.id for move in moves if move.unread_after == 0]
    partly = [{"id": move.id, "top": top, "left": move.unread_after} for move in moves if move.unread_after > 0]
    if emptied:
        await tx.run(_EMPTY, {"ids": emptied, "top": top})
    await tx.run_many(_SET_REMAINING, partly)


def _select_affected(by_feed: bool) -> ClauseElement:
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


def _select_remaining(strategy: str) -> ClauseElement:
    """Count a few feeds through their own rows, many feeds through the rows above the marker."""
    entry_id, feed_id = unread.c.entry_id, unread.c.feed_id
    if strategy == "feeds":
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


_AFFECTED = QueryFamily(_select_affected, into=_Marked)
_LEFT_ABOVE = QueryFamily(_select_remaining, into=row_of(int, int))
_KEPT: list[ColumnElement[bool]] = [
    unread.c.user_id == bindparam("user_id"),
    unread.c.entry_id <= bindparam("top"),
    unread.c.kept,
    among(unread.c.feed_id, "feed_ids"),
]
_STEP_ID: ColumnElement[int] = bindparam("step_id", type_=BigInteger)
_KEEP_WITH_STEP = Command(
    insert(undo_rows).from_select(
        ["undo_id", "entry_id", "feed_id", "sort_at", "kept"],
        select(_STEP_ID, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at, unread.c.kept).where(*_KEPT),
    )
)
_REMOVE_KEPT = Command(delete(unread).where(*_KEPT))
_MOVED = larger(subscriptions.c.read_to, smaller(subscriptions.c.newest_id, bindparam("top", type_=BigInteger)))
_EMPTY = Command(update(subscriptions).where(among(subscriptions.c.id, "ids")).values(read_to=_MOVED, unread=0))
_SET_REMAINING = Command(
    update(subscriptions).where(subscriptions.c.id == bindparam("id")).values(read_to=_MOVED, unread=bindparam("left"))
)


# --- Selections

MAX_MARKED_UNREAD = 20_000
"""Marking unread writes a row per entry, so only this many of the newest entries are marked."""

_MARKS: dict[str, FromClause] = {"starred": starred, "later": later, "muted": muted}


@record
class ResolvedSelection:
    """A selection whose feeds and reference entry were looked up."""

    view: str = "all"
    ids: list[int] | None = None
    feed_ids: list[int] | None = None
    tag: str | None = None
    up_to: int | None = None
    older_than: Instant | None = None
    arrived_by: Instant | None = None
    newer_than: tuple[Instant, int] | None = None
    """Only entries after this position in (sort_at, id)."""
    before: tuple[Instant, int] | None = None
    """Only entries before this position."""
    except_starred: Literal[True] | None = None


@record
class _MarkVariant:
    change: Literal["read", "unread"]
    view: str
    parts: frozenset[str]


async def mark(
    tx: Tx, user_id: int, selection: ResolvedSelection, *, read: bool, token_hash: str, now: Instant
) -> tuple[int, int]:
    """Mark a selection read or unread; returns how many changed, and the id of the undo step."""
    change = "read" if read else "unread"
    await lock_user(tx, user_id)
    step_id = await undo.add(tx, user_id, token_hash, change, now)
    params = {**_params(selection), "user_id": user_id, "step_id": step_id, "limit": MAX_MARKED_UNREAD}
    changed = await tx.run(_STAGE(_MarkVariant(change, selection.view, _parts(selection))), params)
    if changed and read:
        await read_rows_of(tx, user_id, step_id)
    elif changed:
        await unread_rows_of(tx, user_id, step_id)
    return changed, step_id


def _parts(selection: ResolvedSelection) -> frozenset[str]:
    names = ("ids", "feed_ids", "tag", "up_to", "older_than", "arrived_by", "newer_than", "before", "except_starred")
    return frozenset(name for name in names if getattr(selection, name) is not None)


def _params(selection: ResolvedSelection) -> dict[str, Param]:
    after, before = selection.newer_than or (0, 0), selection.before or (0, 0)
    return {
        "ids": selection.ids,
        "feed_ids": selection.feed_ids,
        "tag": selection.tag,
        "up_to": selection.up_to,
        "older_than": selection.older_than,
        "arrived_by": selection.arrived_by,
        "after_at": after[0],
        "after_id": after[1],
        "before_at": before[0],
        "before_id": before[1],
    }


def _stage(variant: _MarkVariant) -> ClauseElement:
    rows = _rows_to_read(variant) if variant.change == "read" else _entries_to_unread(variant)
    return insert_selecting(undo_rows).from_select(["undo_id", "entry_id", "feed_id", "sort_at", "kept"], rows)


_STAGE = CommandFamily(_stage)
_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)


def _rows_to_read(variant: _MarkVariant) -> Select[Any]:
    small = _small_sets(variant)
    rows = rows_of_entries() if small else unread
    return (
        select(_STEP_ID, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at, unread.c.kept)
        .select_from(rows.join(subscriptions, follows(unread, subscriptions)))
        .where(
            unread.c.user_id == _USER,
            alive(unread, subscriptions),
            *small,
            *_filter_conditions(variant, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at),
        )
    )


def _entries_to_unread(variant: _MarkVariant) -> Select[Any]:
    small = _small_sets(variant)
    join = in_order if small else Join
    row = and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id)
    subscribed = join(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    return (
        select(_STEP_ID, entries.c.id, entries.c.feed_id, entries.c.sort_at, literal(False))
        .select_from(subscribed.outerjoin(unread, row))
        .where(
            subscriptions.c.user_id == _USER,
            subscriptions.c.unsubscribed_at.is_(None),
            shows(subscriptions, entries),
            or_(unread.c.entry_id.is_(None), ~alive(unread, subscriptions)),
            *small,
            *_filter_conditions(variant, entries.c.id, entries.c.feed_id, entries.c.sort_at),
        )
        .order_by(unindexed(entries.c.sort_at).desc(), entries.c.id.desc())
        .limit(bindparam("limit", type_=BigInteger))
    )


def _small_sets(variant: _MarkVariant) -> list[ColumnElement[bool]]:
    """Conditions that name a small set of entries; the query starts from these, the others filter."""
    conditions: list[ColumnElement[bool]] = []
    if "ids" in variant.parts:
        conditions.append(among(entries.c.id, "ids"))
    if "tag" in variant.parts:
        tagged = select(entry_tags.c.entry_id).where(
            entry_tags.c.user_id == _USER, entry_tags.c.tag_id == tag_id("tag")
        )
        conditions.append(entries.c.id.in_(tagged))
    if variant.view in _MARKS:
        table = _MARKS[variant.view]
        conditions.append(entries.c.id.in_(select(table.c.entry_id).where(table.c.user_id == _USER)))
    return conditions


def _filter_conditions(
    variant: _MarkVariant, entry_id: ColumnElement[Any], feed_id: ColumnElement[Any], sort_at: ColumnElement[Any]
) -> list[ColumnElement[bool]]:
    position = tuple_(sort_at, entry_id)
    conditions: dict[str, ColumnElement[bool]] = {
        "feed_ids": among(feed_id, "feed_ids"),
        "up_to": entry_id <= bindparam("up_to"),
        "older_than": sort_at < bindparam("older_than"),
        "arrived_by": _arrived_by(entry_id),
        "newer_than": position > tuple_(bindparam("after_at"), bindparam("after_id")),
        "before": position < tuple_(bindparam("before_at"), bindparam("before_id")),
        "except_starred": ~has_flag(starred, entry_id),
    }
    return [condition for name, condition in conditions.items() if name in variant.parts]


def _arrived_by(entry_id: ColumnElement[Any]) -> ColumnElement[bool]:
    arrival = entries.alias("arrival")
    return (
        select(arrival.c.id)
        .where(arrival.c.id == entry_id, arrival.c.fetched_at <= bindparam("arrived_by"))
        .correlate_except(arrival)
        .exists()
    )
