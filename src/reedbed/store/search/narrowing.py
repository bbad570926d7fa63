"""What a search or a saved search narrows a list to, besides words: states, feeds, tags, language, time."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, FromClause, Text, bindparam, or_

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.alive import above_mark
from reedbed.store.database import Tx
from reedbed.store.dialect import among, in_order, of_user
from reedbed.store.entry_columns import has_mark, is_unread, visible
from reedbed.store.sql import func, select
from reedbed.store.statements import Shapes
from reedbed.store.tables import entries, entry_tags, later, muted, read_history, starred, unread

_USER = bindparam("user_id", type_=BigInteger)


@record
class Narrow:
    unread: bool | None = None
    """None does not ask, as with the others."""
    starred: bool | None = None
    later: bool | None = None
    muted: bool = False
    """Only muted entries; they are in no other list."""
    opened: bool | None = None
    feeds: frozenset[int] | None = None
    without_feeds: frozenset[int] = frozenset()
    tags: frozenset[int] = frozenset()
    """The entry has every one of them."""
    without_tags: frozenset[int] = frozenset()
    languages: frozenset[str] = frozenset()
    without_languages: frozenset[str] = frozenset()
    after: Instant | None = None
    before: Instant | None = None

    @property
    def of_table(self) -> FromClause:
        """The smallest table that has a row for every entry of the list."""
        if self.tags:
            return entry_tags
        if self.starred:
            return starred
        if self.later:
            return later
        if self.muted:
            return muted
        return unread if self.unread else entries

    @property
    def has_own_rows(self) -> bool:
        return self.of_table is not entries


@record
class _Shape:
    table: FromClause
    unread: bool | None
    starred: bool | None
    later: bool | None
    muted: bool
    opened: bool | None
    feeds: str
    """"", one or many"""
    without_feeds: bool
    tags: bool
    """More than one."""
    without_tags: bool
    languages: bool
    without_languages: bool
    after: bool
    before: bool


async def allowed(tx: Tx, user_id: int, narrow: Narrow, ids: Sequence[int]) -> set[int]:
    """Which of these entries the user can see in the narrowed list."""
    rows = await tx.all(_ALLOWED(_shape(narrow)), {**params_of(user_id, narrow), "ids": list(ids)})
    return {row[0] for row in rows}


def _shape(narrow: Narrow) -> _Shape:
    return _Shape(
        table=narrow.of_table,
        unread=narrow.unread,
        starred=narrow.starred,
        later=narrow.later,
        muted=narrow.muted,
        opened=narrow.opened,
        feeds="" if narrow.feeds is None else "one" if len(narrow.feeds) == 1 else "many",
        without_feeds=bool(narrow.without_feeds),
        tags=len(narrow.tags) > 1,
        without_tags=bool(narrow.without_tags),
        languages=bool(narrow.languages),
        without_languages=bool(narrow.without_languages),
        after=narrow.after is not None,
        before=narrow.before is not None,
    )


def params_of(user_id: int, narrow: Narrow) -> dict[str, Any]:
    feeds, tags = sorted(narrow.feeds or ()), sorted(narrow.tags)
    return {
        "user_id": user_id,
        "feeds": feeds,
        "feed": feeds[0] if feeds else None,
        "without_feeds": sorted(narrow.without_feeds),
        "tags": tags,
        "tag": tags[0] if tags else None,
        "tags_wanted": len(tags),
        "without_tags": sorted(narrow.without_tags),
        "languages": sorted(narrow.languages),
        "without_languages": sorted(narrow.without_languages),
        "after": narrow.after,
        "before": narrow.before,
    }


def _select_allowed(shape: _Shape) -> ClauseElement:
    """Where a row of the user's says it all, the entry itself is not read."""
    table, conditions = shape.table, _conditions(shape)
    if table is entries:
        return select(entries.c.id).where(among(entries.c.id, "ids"), *conditions)
    of_ids = [of_user(table, "user_id", "ids"), *_alive(table)]
    if not conditions:
        return select(table.c.entry_id).where(*of_ids)
    joined = in_order(table, entries, entries.c.id == table.c.entry_id)
    return select(entries.c.id).select_from(joined).where(*of_ids, *conditions)


_ALLOWED = Shapes(_select_allowed)


def _alive(table: FromClause) -> list[ColumnElement[bool]]:
    if table is entry_tags:
        return [entry_tags.c.tag_id == bindparam("tag")]
    return [above_mark(unread)] if table is unread else []


def _conditions(shape: _Shape) -> list[ColumnElement[bool]]:
    return [*_seen_by_user(shape), *_in_feeds(shape), *_tagged(shape), *_in_language(shape), *_in_time(shape)]


def _seen_by_user(shape: _Shape) -> list[ColumnElement[bool]]:
    states = (
        (unread, shape.unread, is_unread(entries.c.id)),
        (starred, shape.starred, has_mark(starred, entries.c.id)),
        (later, shape.later, has_mark(later, entries.c.id)),
        (read_history, shape.opened, has_mark(read_history, entries.c.id)),
    )
    asked = [
        has if wanted else ~has
        for table, wanted, has in states
        if wanted is not None and table is not shape.table
    ]
    if shape.muted and shape.table is not muted:
        asked.append(has_mark(muted, entries.c.id))
    # What a user has unread, starred, kept for later or tagged can be seen.
    if shape.table is entries or shape.table is muted:
        asked.append(visible(with_muted=shape.muted))
    return asked


def _in_feeds(shape: _Shape) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.feeds == "one":
        conditions.append(entries.c.feed_id == bindparam("feed"))
    elif shape.feeds:
        conditions.append(among(entries.c.feed_id, "feeds"))
    if shape.without_feeds:
        conditions.append(~among(entries.c.feed_id, "without_feeds"))
    return conditions


def _tagged(shape: _Shape) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.tags:
        conditions.append(_tags_among("tags") == bindparam("tags_wanted", type_=BigInteger))
    if shape.without_tags:
        conditions.append(_tags_among("without_tags") == 0)
    return conditions


def _tags_among(name: str) -> ColumnElement[int]:
    tag = entry_tags.alias("tag")
    return (
        select(func.count())
        .where(tag.c.user_id == _USER, tag.c.entry_id == entries.c.id, among(tag.c.tag_id, name))
        .correlate(entries)
        .scalar_subquery()
    )


def _in_language(shape: _Shape) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.languages:
        conditions.append(_language_among("languages"))
    if shape.without_languages:
        conditions.append(or_(entries.c.language.is_(None), ~_language_among("without_languages")))
    return conditions


def _language_among(name: str) -> ColumnElement[bool]:
    """`pt` is any Portuguese, `pt-br` that of Brazil."""
    language = func.lower(entries.c.language)
    return or_(among(language, name, Text()), among(func.substr(language, 1, 2), name, Text()))


def _in_time(shape: _Shape) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.after:
        conditions.append(entries.c.sort_at >= bindparam("after"))
    if shape.before:
        conditions.append(entries.c.sort_at < bindparam("before"))
    return conditions
