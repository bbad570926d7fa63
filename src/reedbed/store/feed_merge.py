"""One feed becomes part of another: its followers, their marks and its entries move over, nothing is lost.

An entry that the other feed has too (same guid or same address: a twin) gives its marks to its twin and goes;
all others move as they are. What was unread stays unread: the rows are `kept`, since marks are counted in the
ids of a feed and these come from two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, Table, bindparam, delete, exists, true, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.store import article_selectors, former_addresses, framing, removed
from reedbed.store.alive import alive, follows, lock_feed, lock_followers
from reedbed.store.database import Tx
from reedbed.store.dialect import among, larger, smaller
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import (
    bookmarks,
    entries,
    entry_tags,
    feed_fetch_state,
    feeds,
    highlights,
    later,
    parked_unread,
    read_history,
    starred,
    story_entries,
    subscriptions,
    unread,
)

_old, _new = bindparam("old", type_=BigInteger), bindparam("new", type_=BigInteger)
_here, _there = entries.alias("here"), entries.alias("there")


def _twins(key: str) -> Statement:
    return Statement(
        select(_here.c.id, _there.c.id, _there.c.sort_at)
        .join_from(_here, _there, _here.c[key] == _there.c[key])
        .where(_here.c.feed_id == _old, _there.c.feed_id == _new, _there.c[key].is_not(None))
        .order_by(_there.c.id)
    )


_TWINS = (_twins("normalized_url"), _twins("guid"))


def _copy_marks(marks: Table, *more: str) -> Statement:
    """The same mark on the twin, unless it is there already."""
    copied = ["user_id", *more]
    return Statement(
        insert(marks)
        .from_select(
            [*copied, "entry_id", "sort_at"],
            select(
                *(marks.c[name] for name in copied),
                bindparam("twin", type_=BigInteger),
                bindparam("twin_sort_at", type_=BigInteger),
            ).where(marks.c.entry_id == bindparam("id")),
        )
        .on_conflict_do_nothing()
    )


def _point_to_twin(table: Table) -> Statement:
    return Statement(
        update(table).where(table.c.entry_id == bindparam("id")).values(entry_id=bindparam("twin"))
    )


_COPY_HISTORY = Statement(
    insert(read_history)
    .from_select(
        ["user_id", "entry_id", "read_at"],
        select(read_history.c.user_id, bindparam("twin", type_=BigInteger), read_history.c.read_at).where(
            read_history.c.entry_id == bindparam("id")
        ),
    )
    .on_conflict_do_nothing()
)
_KEEPSAKES = (
    _copy_marks(starred, "marked_at"),
    _copy_marks(later, "marked_at"),
    _copy_marks(entry_tags, "tag_id"),
    _COPY_HISTORY,
    _point_to_twin(bookmarks),
    _point_to_twin(highlights),
)

_both = subscriptions.alias("both")


def _also_follows(user: ColumnElement[int]) -> ColumnElement[bool]:
    return exists().where(_both.c.user_id == user, _both.c.feed_id == _new)


_of_old_followers = subscriptions.c.feed_id == _old
_DROP_DEAD = Statement(
    delete(unread).where(
        exists().where(_of_old_followers, follows(unread, subscriptions), ~alive(unread, subscriptions)),
        unread.c.feed_id == _old,
    )
)


def _rows_of(table: Table, entry: ColumnElement[int]) -> Select[Any]:
    """A follower's row on an entry; the user's id leads to it, as every index begins with one."""
    return select(table.c.user_id).join_from(
        subscriptions, table, (table.c.user_id == subscriptions.c.user_id) & (table.c.entry_id == entry)
    )


_UNREAD_ON_TWIN = Statement(
    insert(unread)
    .from_select(
        ["user_id", "sort_at", "entry_id", "feed_id", "kept"],
        _rows_of(unread, bindparam("id", type_=BigInteger))
        .add_columns(
            bindparam("twin_sort_at", type_=BigInteger), bindparam("twin", type_=BigInteger), _new, true()
        )
        # Who follows both has read it, or not, at its twin.
        .where(_of_old_followers, ~_also_follows(subscriptions.c.user_id)),
    )
    .on_conflict_do_nothing()
)


def _drop_twins(table: Table) -> Statement:
    return Statement(
        delete(table).where(
            table.c.user_id.in_(select(subscriptions.c.user_id).where(_of_old_followers)),
            among(table.c.entry_id, "ids"),
        )
    )


def _move_rows(table: Table, **more: Any) -> Statement:
    followers = select(subscriptions.c.user_id).where(_of_old_followers)
    return Statement(
        update(table)
        .where(table.c.user_id.in_(followers), table.c.feed_id == _old)
        .values(feed_id=_new, **more)
    )


_MOVE_ENTRIES = Statement(
    update(entries).where(entries.c.feed_id == _old, ~among(entries.c.id, "ids")).values(feed_id=_new)
)
_MOVE_STORY_ENTRIES = Statement(
    update(story_entries).where(story_entries.c.feed_id == _old).values(feed_id=_new)
)
_FOLLOWERS = Statement(
    select(subscriptions.c.user_id, subscriptions.c.since_id, subscriptions.c.unsubscribed_at).where(
        subscriptions.c.feed_id == bindparam("feed_id")
    )
)
_of_pair: tuple[ColumnElement[bool], ...] = (
    subscriptions.c.user_id == bindparam("user_id"),
    subscriptions.c.feed_id == bindparam("feed_id"),
)
_LEAVE = Statement(delete(subscriptions).where(*_of_pair))
_SEE_MORE = Statement(
    update(subscriptions)
    .where(*_of_pair)
    .values(since_id=smaller(subscriptions.c.since_id, bindparam("floor", type_=BigInteger)))
)
_FOLLOW = Statement(update(subscriptions).where(*_of_pair).values(feed_id=bindparam("new_feed_id")))
_newest = select(func.coalesce(func.max(entries.c.id), 0)).where(entries.c.feed_id == _new)
_RECOUNT = Statement(
    update(subscriptions)
    .where(subscriptions.c.feed_id == _new, subscriptions.c.unsubscribed_at.is_(None))
    .values(
        unread=select(func.count())
        .where(follows(unread, subscriptions), alive(unread, subscriptions))
        .correlate(subscriptions)
        .scalar_subquery(),
        newest_id=larger(subscriptions.c.newest_id, _newest.scalar_subquery()),
    )
)
_REMEMBER = Statement(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == _new)
    .values(newest_entry_id=larger(feed_fetch_state.c.newest_entry_id, _newest.scalar_subquery()))
)
_REMOVE = Statement(delete(feeds).where(feeds.c.id == _old))


@dataclass(frozen=True, slots=True)
class _Twin:
    id: int
    twin: int
    sort_at: int


async def merge(tx: Tx, old: int, new: int) -> list[int]:
    """Make `old` a part of `new`; the users who followed it."""
    for feed_id in sorted((old, new)):
        await lock_feed(tx, feed_id)
        await lock_followers(tx, feed_id)
    pair = {"old": old, "new": new}
    twins = await _find_twins(tx, pair)
    users = await _move_followers_rows(tx, pair, twins)
    await tx.run(_MOVE_ENTRIES, {**pair, "ids": [twin.id for twin in twins]})
    await tx.run(_MOVE_STORY_ENTRIES, pair)
    await _move_followers(tx, old, new, twins)
    await framing.carry_over(tx, old, new)
    await article_selectors.carry_over(tx, old, new)
    await former_addresses.carry_over(tx, old, new)
    await tx.run(_RECOUNT, pair)
    await tx.run(_REMEMBER, pair)
    await removed.move(tx, old, new)
    await tx.run(_REMOVE, pair)
    return users


async def _find_twins(tx: Tx, pair: Mapping[str, int]) -> list[_Twin]:
    """By guid where it can be, else by address."""
    found: dict[int, _Twin] = {}
    for statement in _TWINS:
        found |= {row[0]: _Twin(*row) for row in await tx.all(statement, pair)}
    return list(found.values())


async def _move_followers_rows(tx: Tx, pair: Mapping[str, int], twins: Sequence[_Twin]) -> list[int]:
    await tx.run(_DROP_DEAD, pair)
    params = [{**pair, "id": each.id, "twin": each.twin, "twin_sort_at": each.sort_at} for each in twins]
    for statement in (*_KEEPSAKES, _UNREAD_ON_TWIN):
        await tx.run_each(statement, params)
    gone = {**pair, "ids": [each.id for each in twins]}
    for statement in _DROP_TWINS:
        await tx.run(statement, gone)
    for statement in _MOVE_ROWS:
        await tx.run(statement, pair)
    return [row["user_id"] for row in await tx.all(_FOLLOWERS, {"feed_id": pair["old"]})]


_DROP_TWINS = (_drop_twins(unread), _drop_twins(parked_unread))
_MOVE_ROWS = (_move_rows(unread, kept=true()), _move_rows(parked_unread))


async def _move_followers(tx: Tx, old: int, new: int, twins: Sequence[_Twin]) -> None:
    there = {row["user_id"]: row for row in await tx.all(_FOLLOWERS, {"feed_id": new})}
    for row in await tx.all(_FOLLOWERS, {"feed_id": old}):
        user_id, since_id, left = row
        floor = min([since_id, *(each.twin - 1 for each in twins if each.id > since_id)])
        other = there.get(user_id)
        if other is not None and (left is not None or other["unsubscribed_at"] is None):
            await tx.run(_LEAVE, {"user_id": user_id, "feed_id": old})
        else:
            await tx.run(_LEAVE, {"user_id": user_id, "feed_id": new})
            await tx.run(_FOLLOW, {"user_id": user_id, "feed_id": old, "new_feed_id": new})
        await tx.run(_SEE_MORE, {"user_id": user_id, "feed_id": new, "floor": floor})
