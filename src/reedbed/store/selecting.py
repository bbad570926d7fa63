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
    insert,
    literal,
    or_,
    tuple_,
)

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store import reading, undo
from reedbed.store.alive import alive, follows, lock_user, shows
from reedbed.store.database import Tx
from reedbed.store.dialect import among, in_order, unindexed
from reedbed.store.entry_columns import tag_id
from reedbed.store.reading import rows_of_entries
from reedbed.store.sql import select
from reedbed.store.statements import Shapes
from reedbed.store.tables import entries, entry_tags, later, muted, starred, subscriptions, undo_rows, unread

MOST_UNREAD_AT_ONCE = 20_000
"""Marking unread writes a row for each entry; so many at most, the newest of them."""

_MARKS: dict[str, FromClause] = {"starred": starred, "later": later, "muted": muted}


@record
class Chosen:
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
class _Shape:
    change: Literal["read", "unread"]
    view: str
    parts: frozenset[str]


async def mark(
    tx: Tx, user_id: int, chosen: Chosen, *, read: bool, token_hash: str, now: Instant
) -> tuple[int, int]:
    """Mark what was chosen read or unread; how many changed, and the step that holds them."""
    change = "read" if read else "unread"
    await lock_user(tx, user_id)
    step_id = await undo.add(tx, user_id, token_hash, change, now)
    params = {**_params(chosen), "user_id": user_id, "step_id": step_id, "most": MOST_UNREAD_AT_ONCE}
    changed = await tx.run(_STAGE(_Shape(change, chosen.view, _parts(chosen))), params)
    if changed and read:
        await reading.read_rows_of(tx, user_id, step_id)
    elif changed:
        await reading.unread_rows_of(tx, user_id, step_id)
    return changed, step_id


def _parts(chosen: Chosen) -> frozenset[str]:
    names = ("ids", "feed_ids", "tag", "up_to", "older_than", "arrived_by", "newer_than", "before")
    return frozenset(name for name in names if getattr(chosen, name) is not None)


def _params(chosen: Chosen) -> dict[str, Any]:
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


def _stage(shape: _Shape) -> ClauseElement:
    chosen = _rows_to_read(shape) if shape.change == "read" else _entries_to_unread(shape)
    return insert(undo_rows).from_select(["undo_id", "entry_id", "feed_id", "sort_at", "kept"], chosen)


_STAGE = Shapes(_stage)
_STEP_ID: ColumnElement[int] = bindparam("step_id", type_=BigInteger)
_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)


def _rows_to_read(shape: _Shape) -> Any:
    small = _small(shape)
    rows = rows_of_entries() if small else unread
    return (
        select(_STEP_ID, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at, unread.c.kept)
        .select_from(rows.join(subscriptions, follows(unread, subscriptions)))
        .where(
            unread.c.user_id == _USER,
            alive(unread, subscriptions),
            *small,
            *_chosen(shape, unread.c.entry_id, unread.c.feed_id, unread.c.sort_at),
        )
    )


def _entries_to_unread(shape: _Shape) -> Any:
    small = _small(shape)
    join = in_order if small else Join
    row = and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id)
    followed = join(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    return (
        select(_STEP_ID, entries.c.id, entries.c.feed_id, entries.c.sort_at, literal(False))
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


def _small(shape: _Shape) -> list[ColumnElement[bool]]:
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
    shape: _Shape, entry_id: ColumnElement[Any], feed_id: ColumnElement[Any], sort_at: ColumnElement[Any]
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
