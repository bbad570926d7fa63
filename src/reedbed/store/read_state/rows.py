"""Reading takes the row of an entry away, unreading brings it back; the count of its feed goes along.

The entries are given as `ids`, or as the rows kept with a step that can be undone.
"""

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ClauseElement,
    ColumnElement,
    FromClause,
    Join,
    and_,
    bindparam,
    delete,
    or_,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Shapes, among, func, in_order, larger, of_user, select, unindexed
from reedbed.store.tables import entries, subscriptions, undo_rows, unread
from reedbed.store.visibility import alive, follows, lock_user_entries, shows

_USER: BindParameter[int] = bindparam("user_id", type_=BigInteger)


async def read(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    await lock_user_entries(tx, user_id, entry_ids)
    await _take_away(tx, "ids", {"user_id": user_id, "ids": entry_ids})


async def unread_again(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    """What the user does not follow (any more) stays read."""
    await lock_user_entries(tx, user_id, entry_ids)
    await _bring_back(tx, "ids", {"user_id": user_id, "ids": entry_ids})


async def read_rows_of(tx: Tx, user_id: int, step_id: int) -> int:
    """Read what the step holds; its subscriptions are locked already."""
    return await _take_away(tx, "step", {"user_id": user_id, "step_id": step_id})


async def unread_rows_of(tx: Tx, user_id: int, step_id: int) -> None:
    """Unread again what the step holds; its subscriptions are locked already."""
    await _bring_back(tx, "step", {"user_id": user_id, "step_id": step_id})


async def _take_away(tx: Tx, given: str, params: dict[str, int | list[int]]) -> int:
    await tx.run(_COUNT_DOWN(given), params)
    return await tx.run(_DELETE(given), params)


async def _bring_back(tx: Tx, given: str, params: dict[str, int | list[int]]) -> None:
    await tx.run(_COUNT_UP(given), params)
    await tx.run(_INSERT(given), params)


def _given(given: str, entry_id: ColumnElement[int]) -> ColumnElement[bool]:
    if given == "ids":
        return among(entry_id, "ids")
    return entry_id.in_(select(undo_rows.c.entry_id).where(undo_rows.c.undo_id == bindparam("step_id")))


def _count_down(given: str) -> ClauseElement:
    mine = subscriptions.alias("mine")
    feed_id = unindexed(unread.c.feed_id)
    gone = (
        select(feed_id.label("feed_id"), func.count().label("rows"))
        .select_from(rows_of_entries().join(mine, follows(unread, mine)))
        .where(_given(given, entries.c.id), alive(unread, mine))
        .group_by(feed_id)
        .subquery("gone")
    )
    return (
        update(subscriptions)
        .where(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == gone.c.feed_id)
        .values(unread=subscriptions.c.unread - gone.c.rows)
    )


def _delete(given: str) -> ClauseElement:
    if given == "ids":
        return delete(unread).where(of_user(unread, "user_id", "ids"))
    # The user as part of the pair, for the reason given at `of_user`.
    rows = select(_USER, undo_rows.c.entry_id).where(undo_rows.c.undo_id == bindparam("step_id"))
    return delete(unread).where(tuple_(unread.c.user_id, unread.c.entry_id).in_(rows))


def _count_up(given: str) -> ClauseElement:
    mine = subscriptions.alias("mine")
    row = and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id)
    back = (
        select(entries.c.feed_id, func.count().label("rows"), func.max(entries.c.id).label("newest"))
        .select_from(_entries_then(mine).outerjoin(unread, row))
        .where(*_followed(given, mine), or_(unread.c.entry_id.is_(None), ~alive(unread, mine)))
        .group_by(entries.c.feed_id)
        .subquery("back")
    )
    return (
        update(subscriptions)
        .where(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == back.c.feed_id)
        .values(
            unread=subscriptions.c.unread + back.c.rows,
            # A mark goes no higher than the newest row, so a row above it must raise it.
            newest_id=larger(subscriptions.c.newest_id, back.c.newest),
        )
    )


def _insert(given: str) -> ClauseElement:
    mine = subscriptions.alias("mine")
    rows = (
        select(_USER, entries.c.sort_at, entries.c.id, entries.c.feed_id, entries.c.id <= mine.c.read_to)
        .select_from(_entries_then(mine))
        .where(*_followed(given, mine))
    )
    back = insert(unread).from_select(["user_id", "sort_at", "entry_id", "feed_id", "kept"], rows)
    return back.on_conflict_do_update(
        index_elements=["user_id", "entry_id"], set_={"kept": or_(unread.c.kept, back.excluded.kept)}
    )


def rows_of_entries() -> Join:
    """A user's rows found through the entries; SQLite would rather walk all of the user's rows."""
    return in_order(entries, unread, and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id))


def _entries_then(mine: FromClause) -> Join:
    return in_order(entries, mine, mine.c.feed_id == entries.c.feed_id)


def _followed(given: str, mine: FromClause) -> list[ColumnElement[bool]]:
    return [
        _given(given, entries.c.id),
        mine.c.user_id == _USER,
        mine.c.unsubscribed_at.is_(None),
        shows(mine, entries),
    ]


_COUNT_DOWN = Shapes(_count_down)
_DELETE = Shapes(_delete)
_COUNT_UP = Shapes(_count_up)
_INSERT = Shapes(_insert)
