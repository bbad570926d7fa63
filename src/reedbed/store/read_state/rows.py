"""Marks entries read or unread: deletes or inserts their `unread` rows and adjusts the subscriptions' counts.

The entries are given either as `ids` or by an undo step and its rows; each statement exists for both sources.
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

from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    CommandFamily,
    among,
    func,
    in_order,
    insert,
    larger,
    of_user,
    select,
    unindexed,
)
from reedbed.store.entries.repeats import firsts_of, forget
from reedbed.store.tables import entries, subscriptions, undo_rows, unread
from reedbed.store.visibility import alive, follows, lock_user_entries, shows

_USER: BindParameter[int] = bindparam("user_id", type_=BigInteger)


async def mark_read(tx: Tx, user_id: int, entry_ids: list[int]) -> list[int]:
    """Mark entries read, and what they repeat; return all of them."""
    together = [*entry_ids, *await firsts_of(tx, user_id, entry_ids)]
    await lock_user_entries(tx, user_id, together)
    await _delete_rows(tx, "ids", {"user_id": user_id, "ids": together})
    return together


async def mark_unread(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    """Entries of feeds the user does not subscribe to stay read."""
    await forget(tx, user_id, entry_ids)
    await lock_user_entries(tx, user_id, entry_ids)
    await _insert_rows(tx, "ids", {"user_id": user_id, "ids": entry_ids})


async def read_rows_of(tx: Tx, user_id: int, step_id: int) -> int:
    """Mark the entries of the undo step read; the caller has locked the subscriptions."""
    return await _delete_rows(tx, "step", {"user_id": user_id, "step_id": step_id})


async def unread_rows_of(tx: Tx, user_id: int, step_id: int) -> None:
    """Mark the entries of the undo step unread; the caller has locked the subscriptions."""
    await _insert_rows(tx, "step", {"user_id": user_id, "step_id": step_id})


async def _delete_rows(tx: Tx, source: str, params: dict[str, int | list[int]]) -> int:
    await tx.run(_COUNT_DOWN(source), params)
    return await tx.run(_DELETE(source), params)


async def _insert_rows(tx: Tx, source: str, params: dict[str, int | list[int]]) -> None:
    await tx.run(_COUNT_UP(source), params)
    await tx.run(_INSERT(source), params)


def _is_given(source: str, entry_id: ColumnElement[int]) -> ColumnElement[bool]:
    if source == "ids":
        return among(entry_id, "ids")
    return entry_id.in_(select(undo_rows.c.entry_id).where(undo_rows.c.undo_id == bindparam("step_id")))


def _count_down(source: str) -> ClauseElement:
    subscription = subscriptions.alias("mine")
    feed_id = unindexed(unread.c.feed_id)
    removed = (
        select(feed_id.label("feed_id"), func.count().label("rows"))
        .select_from(rows_of_entries().join(subscription, follows(unread, subscription)))
        .where(_is_given(source, entries.c.id), alive(unread, subscription))
        .group_by(feed_id)
        .subquery("gone")
    )
    return (
        update(subscriptions)
        .where(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == removed.c.feed_id)
        .values(unread=subscriptions.c.unread - removed.c.rows)
    )


def _delete(source: str) -> ClauseElement:
    if source == "ids":
        return delete(unread).where(of_user(unread, "user_id", "ids"))
    # The user is part of the pair for the reason given at `of_user`.
    rows = select(_USER, undo_rows.c.entry_id).where(undo_rows.c.undo_id == bindparam("step_id"))
    return delete(unread).where(tuple_(unread.c.user_id, unread.c.entry_id).in_(rows))


def _count_up(source: str) -> ClauseElement:
    subscription = subscriptions.alias("mine")
    row = and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id)
    restored = (
        select(entries.c.feed_id, func.count().label("rows"), func.max(entries.c.id).label("newest"))
        .select_from(_join_subscription(subscription).outerjoin(unread, row))
        .where(*_visible_to(source, subscription), or_(unread.c.entry_id.is_(None), ~alive(unread, subscription)))
        .group_by(entries.c.feed_id)
        .subquery("back")
    )
    return (
        update(subscriptions)
        .where(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == restored.c.feed_id)
        .values(
            unread=subscriptions.c.unread + restored.c.rows,
            # Read markers do not go above `newest_id`, so a newer row must raise it.
            newest_id=larger(subscriptions.c.newest_id, restored.c.newest),
        )
    )


def _insert(source: str) -> ClauseElement:
    subscription = subscriptions.alias("mine")
    rows = (
        select(_USER, entries.c.sort_at, entries.c.id, entries.c.feed_id, entries.c.id <= subscription.c.read_to)
        .select_from(_join_subscription(subscription))
        .where(*_visible_to(source, subscription))
    )
    inserted = insert(unread).from_select(["user_id", "sort_at", "entry_id", "feed_id", "kept"], rows)
    return inserted.on_conflict_do_update(
        index_elements=["user_id", "entry_id"], set_={"kept": or_(unread.c.kept, inserted.excluded.kept)}
    )


def rows_of_entries() -> Join:
    """A user's rows, starting from the entries; SQLite would otherwise scan all rows of the user."""
    return in_order(entries, unread, and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id))


def _join_subscription(subscription: FromClause) -> Join:
    return in_order(entries, subscription, subscription.c.feed_id == entries.c.feed_id)


def _visible_to(source: str, subscription: FromClause) -> list[ColumnElement[bool]]:
    return [
        _is_given(source, entries.c.id),
        subscription.c.user_id == _USER,
        subscription.c.unsubscribed_at.is_(None),
        shows(subscription, entries),
    ]


_COUNT_DOWN = CommandFamily(_count_down)
_DELETE = CommandFamily(_delete)
_COUNT_UP = CommandFamily(_count_up)
_INSERT = CommandFamily(_insert)
