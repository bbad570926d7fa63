"""Entries whose address an earlier entry in another feed of the user has: they arrive as read, and are listed once.

Only for users who chose it. An address that a feed has given to several of its entries, such as that of its site,
says nothing about them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, FromClause, Select, and_, bindparam, delete, union_all

from reedbed.domain.entries import SameAddress
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, QueryFamily, among, func, insert, row_of, select
from reedbed.store.tables import entries, feeds, repeated_entries, subscriptions, unread, users
from reedbed.store.visibility import shows

_USER = bindparam("user_id", type_=BigInteger)
_later, _first, _same = entries.alias("later_entry"), entries.alias("first_entry"), entries.alias("same_feed")
_of_later, _of_first = subscriptions.alias("of_later"), subscriptions.alias("of_first")


class RepeatedEntry(NamedTuple):
    user_id: int
    feed_id: int
    entry_id: int
    first_id: int


def _is_only_one(entry: FromClause) -> ColumnElement[bool]:
    """Its URL is unique in its feed."""
    others = select(_same.c.id).where(
        _same.c.normalized_url == entry.c.normalized_url, _same.c.feed_id == entry.c.feed_id, _same.c.id != entry.c.id
    )
    return ~others.correlate(entry).exists()


_PAIRS = Query(
    select(_later.c.id, func.min(_first.c.id))
    .join_from(
        _later,
        _first,
        and_(
            _first.c.normalized_url == _later.c.normalized_url,
            _first.c.feed_id != _later.c.feed_id,
            _first.c.id < _later.c.id,
        ),
    )
    .where(
        among(_later.c.id, "ids"),
        _later.c.audience_id.is_(None),
        _first.c.audience_id.is_(None),
        _is_only_one(_later),
        _is_only_one(_first),
    )
    .group_by(_later.c.id),
    into=row_of(int, int),
)


def _repeat_of_user(*columns: Any) -> tuple[RepeatedEntry, str]:
    *repeat, preferences = columns
    return RepeatedEntry(*repeat), preferences


def _select_followers(of_one: bool) -> ClauseElement:
    query = (
        select(_of_later.c.user_id, _later.c.feed_id, _later.c.id, _first.c.id, users.c.preferences)
        .select_from(_later)
        .join(_first, _first.c.normalized_url == _later.c.normalized_url)
        .join(_of_later, _of_later.c.feed_id == _later.c.feed_id)
        .join(_of_first, and_(_of_first.c.feed_id == _first.c.feed_id, _of_first.c.user_id == _of_later.c.user_id))
        .join(users, users.c.id == _of_later.c.user_id)
        .where(
            among(_later.c.id, "ids"),
            among(_first.c.id, "first_ids"),
            _first.c.feed_id != _later.c.feed_id,
            _first.c.id < _later.c.id,
            _of_later.c.unsubscribed_at.is_(None),
            _of_first.c.unsubscribed_at.is_(None),
            _of_first.c.muted_until.is_(None),
            _of_first.c.in_unread,
            shows(_of_first, _first),
        )
        .order_by(_first.c.id)
    )
    return query.where(_of_later.c.user_id == _USER) if of_one else query


_OF_FOLLOWERS = QueryFamily(_select_followers, into=_repeat_of_user)
_ADD = Command(insert(repeated_entries).on_conflict_do_nothing(), columns=["user_id", "entry_id", "first_id"])
_UNREAD_OF_FEED = Query(
    select(unread.c.entry_id).where(unread.c.user_id == _USER, unread.c.feed_id == bindparam("feed_id")), into=int
)
_FIRSTS = Query(
    select(repeated_entries.c.first_id).where(
        repeated_entries.c.user_id == _USER, among(repeated_entries.c.entry_id, "ids")
    ),
    into=int,
)
_DELETE = Command(
    delete(repeated_entries).where(repeated_entries.c.user_id == _USER, among(repeated_entries.c.entry_id, "ids"))
)
_CLEAR = Command(delete(repeated_entries).where(repeated_entries.c.user_id == _USER))
_of_feed = select(entries.c.id).where(entries.c.feed_id == bindparam("feed_id"))
_UNREAD_FIRSTS_OF_FEED = Query(
    select(repeated_entries.c.entry_id)
    .join_from(
        repeated_entries, unread, and_(unread.c.user_id == _USER, unread.c.entry_id == repeated_entries.c.first_id)
    )
    .where(repeated_entries.c.user_id == _USER, unread.c.feed_id == bindparam("feed_id")),
    into=int,
)
_CLEAR_FIRSTS_OF_FEED = Command(
    delete(repeated_entries).where(repeated_entries.c.user_id == _USER, repeated_entries.c.first_id.in_(_of_feed))
)
_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)


def _others(of: ColumnElement[int], other: ColumnElement[int]) -> Select[Any]:
    return select(of.label("id"), other.label("other_id")).where(repeated_entries.c.user_id == _USER, among(of, "ids"))


_pairs = union_all(
    _others(repeated_entries.c.first_id, repeated_entries.c.entry_id),
    _others(repeated_entries.c.entry_id, repeated_entries.c.first_id),
).subquery("pairs")


def _same_address(*columns: Any) -> tuple[int, SameAddress]:
    return columns[0], SameAddress(*columns[1:])


_ALSO_IN = Query(
    select(_pairs.c.id, entries.c.id, entries.c.feed_id, _title)
    .join_from(_pairs, entries, entries.c.id == _pairs.c.other_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(subscriptions, and_(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == entries.c.feed_id))
    .where(subscriptions.c.unsubscribed_at.is_(None))
    .order_by(entries.c.id),
    into=_same_address,
)


async def arriving(tx: Tx, entry_ids: Sequence[int], user_id: int | None = None) -> list[tuple[RepeatedEntry, str]]:
    """The repeats of earlier entries, for each follower of both feeds or for one, by their preferences."""
    pairs = await tx.all(_PAIRS, {"ids": list(entry_ids)})
    if not pairs:
        return []
    first_ids = sorted({first_id for _, first_id in pairs})
    params = {"ids": [id_ for id_, _ in pairs], "first_ids": first_ids, "user_id": user_id}
    return await tx.all(_OF_FOLLOWERS(user_id is not None), params)


async def add(tx: Tx, repeats: Iterable[RepeatedEntry]) -> None:
    rows = [{"user_id": one.user_id, "entry_id": one.entry_id, "first_id": one.first_id} for one in repeats]
    await tx.run_many(_ADD, rows)


async def unread_of_feed(tx: Tx, user_id: int, feed_id: int) -> list[int]:
    return await tx.all(_UNREAD_OF_FEED, {"user_id": user_id, "feed_id": feed_id})


async def firsts_of(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> list[int]:
    """The entries that these ones repeat: reading one reads the other."""
    return await tx.all(_FIRSTS, {"user_id": user_id, "ids": list(entry_ids)})


async def forget(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> None:
    """These entries no longer count as repeats, because the user marked them unread."""
    await tx.run(_DELETE, {"user_id": user_id, "ids": list(entry_ids)})


async def clear(tx: Tx, user_id: int) -> None:
    await tx.run(_CLEAR, {"user_id": user_id})


async def leave_feed(tx: Tx, user_id: int, feed_id: int) -> list[int]:
    """Before a user leaves a feed, delete its repeats; return those whose first entry is still unread."""
    params = {"user_id": user_id, "feed_id": feed_id}
    pending = await tx.all(_UNREAD_FIRSTS_OF_FEED, params)
    await tx.run(_CLEAR_FIRSTS_OF_FEED, params)
    return pending


async def also_in(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> Mapping[int, tuple[SameAddress, ...]]:
    """The entries with the same address in other feeds, by entry."""
    found: dict[int, tuple[SameAddress, ...]] = {}
    for id_, same in await tx.all(_ALSO_IN, {"user_id": user_id, "ids": list(entry_ids)}):
        found[id_] = (*found.get(id_, ()), same)
    return found
