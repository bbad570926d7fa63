"""Entries in the order of their ids, which is the order of arrival: how reader apps synchronise.

Apps request thousands of ids with few columns, so these lists read no titles.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    CompoundSelect,
    FromClause,
    Select,
    bindparam,
    or_,
    union,
)

from reedbed.domain.entries import StreamItem, StreamQuery
from reedbed.domain.pagination import Order
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Param, Query, QueryFamily, among, func, optional, row_of, select
from reedbed.store.entries.columns import followed, has_flag, has_tag, is_unread, tag_id
from reedbed.store.tables import entries, entry_tags, later, starred, subscriptions, tags, unread
from reedbed.store.visibility import in_hidden_feed, shows


@record
class _StreamVariant:
    order: Order
    read: bool | None
    starred: bool | None
    later: bool | None
    parts: frozenset[str]


async def ids_page(tx: Tx, user_id: int, query: StreamQuery, limit: int) -> list[StreamItem]:
    """To continue a stream, pass the last id as `after_id`."""
    return await tx.all(_STREAM(_variant(query)), _params(user_id, query, limit))


async def all_stream_ids(tx: Tx, user_id: int, query: StreamQuery) -> list[int]:
    """The whole stream: Fever has no pagination of ids."""
    return [item.id for item in await tx.all(_STREAM(_variant(query)), _params(user_id, query, HIGHEST))]


async def length(tx: Tx, user_id: int, query: StreamQuery) -> tuple[int, Instant | None]:
    """The number of entries, and the arrival time of the newest."""
    return await tx.get(_LENGTH(_variant(query)), _params(user_id, query, HIGHEST))


async def how_many(tx: Tx, user_id: int) -> int:
    """The number of entries in the feeds this user subscribes to."""
    return await tx.get(_COUNT, {"user_id": user_id})


def _variant(query: StreamQuery) -> _StreamVariant:
    names = ("feed_ids", "only_feed_ids", "since", "until", "after_id")
    parts = {name for name in names if getattr(query, name) is not None}
    parts |= {name for name in ("or_tags", "without_feed_ids", "without_tags") if getattr(query, name)}
    parts |= set(("tag", "more_tags")[: len(query.tags)])
    if (
        query.without_muted
        and query.read is False
        and query.feed_ids is None
        and not (query.starred or query.later or query.tags)
    ):
        parts.add("without_muted")
    return _StreamVariant(query.order, query.read, query.starred, query.later, frozenset(parts))


def _params(user_id: int, query: StreamQuery, limit: int) -> dict[str, Param]:
    return {
        "user_id": user_id,
        "feed_ids": list(query.feed_ids or ()),
        "without_feed_ids": list(query.without_feed_ids),
        "or_tags": list(query.or_tags),
        "only_feed_ids": list(query.only_feed_ids or ()),
        "tag": query.tags[0] if query.tags else None,
        "more_tags": list(query.tags[1:]),
        "more_count": len(query.tags) - 1,
        "without_tags": list(query.without_tags),
        "since": query.since,
        "until": query.until,
        "after_id": query.after_id,
        "limit": limit,
    }


def _stream(variant: _StreamVariant) -> Select[Any]:
    source = _source(variant)
    listed = entries if source is None else source.join(entries, entries.c.id == source.c.entry_id)
    by = entries.c.id if source is None else source.c.entry_id
    conditions = [*_belongs_to_user(source), *_state_conditions(variant, source), *_filter_conditions(variant, by)]
    return (
        select(entries.c.id, entries.c.feed_id, entries.c.fetched_at)
        .select_from(listed)
        .where(*conditions)
        .order_by(by.desc() if variant.order == "newest" else by.asc())
        .limit(bindparam("limit", type_=BigInteger))
    )


_STREAM = QueryFamily(_stream, into=StreamItem)


def _length(variant: _StreamVariant) -> ClauseElement:
    listed = _stream(variant).subquery()
    return select(func.count(), func.max(listed.c.fetched_at)).select_from(listed)


_LENGTH = QueryFamily(_length, into=row_of(int, optional(int)))


def _source(variant: _StreamVariant) -> FromClause | None:
    """The smallest table with all requested entries; None: the entries of subscribed feeds."""
    if variant.starred:
        return starred
    if variant.later:
        return later
    if "tag" in variant.parts:
        return entry_tags
    return unread if variant.read is False else None


def _belongs_to_user(source: FromClause | None) -> list[ColumnElement[bool]]:
    if source is None:
        return [followed()]
    conditions = [source.c.user_id == bindparam("user_id")]
    if source is entry_tags:
        conditions.append(entry_tags.c.tag_id == tag_id("tag"))
    return conditions


def _state_conditions(variant: _StreamVariant, source: FromClause | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if variant.read is not None:
        conditions.append(~is_unread(entries.c.id) if variant.read else is_unread(entries.c.id))
    for value, table in ((variant.starred, starred), (variant.later, later)):
        if value is not None and source is not table:
            flagged = has_flag(table, entries.c.id)
            conditions.append(flagged if value else ~flagged)
    if "tag" in variant.parts and source is not entry_tags:
        conditions.append(has_tag("tag", entries.c.id))
    return conditions


def _filter_conditions(variant: _StreamVariant, by: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    after = by < bindparam("after_id") if variant.order == "newest" else by > bindparam("after_id")
    in_feeds = among(entries.c.feed_id, "feed_ids")
    if "or_tags" in variant.parts:
        in_feeds = or_(in_feeds, _tags_among("or_tags").exists())
    conditions: dict[str, ColumnElement[bool]] = {
        "without_muted": ~in_hidden_feed(entries.c.feed_id, "all"),
        "feed_ids": in_feeds,
        "only_feed_ids": among(entries.c.feed_id, "only_feed_ids"),
        "without_feed_ids": ~among(entries.c.feed_id, "without_feed_ids"),
        "more_tags": _count(_tags_among("more_tags")) == bindparam("more_count"),
        "without_tags": ~_tags_among("without_tags").exists(),
        "since": by.in_(_since()),
        "until": entries.c.fetched_at <= bindparam("until"),
        "after_id": after,
    }
    return [condition for name, condition in conditions.items() if name in variant.parts]


def _since() -> CompoundSelect[Any]:
    """A union, so that each side uses its own index: recent changes may be to entries of any age."""
    arrived, changed = entries.alias("came"), entries.alias("changed")
    return union(
        select(arrived.c.id).where(arrived.c.fetched_at >= bindparam("since")),
        select(changed.c.id).where(changed.c.changed_at >= bindparam("since")),
    )


def _tags_among(names: str) -> Select[int]:
    """The tags of an entry that are in the list parameter `names`."""
    return (
        select(entry_tags.c.entry_id)
        .join_from(entry_tags, tags, tags.c.id == entry_tags.c.tag_id)
        .where(
            entry_tags.c.user_id == bindparam("user_id"),
            entry_tags.c.entry_id == entries.c.id,
            among(tags.c.name, names, tags.c.name.type),
        )
        .correlate(entries)
    )


def _count(rows: Select[int]) -> ColumnElement[int]:
    return rows.with_only_columns(func.count()).scalar_subquery()


_COUNT = Query(
    select(func.count())
    .select_from(subscriptions)
    .join(entries, entries.c.feed_id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        shows(subscriptions, entries),
    ),
    into=int,
)
