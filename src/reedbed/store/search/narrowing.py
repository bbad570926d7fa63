"""What a search or a saved search narrows a list to, besides words: states, feeds, tags, language, time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    FromClause,
    Text,
    bindparam,
    func,
    or_,
    select,
    tuple_,
)

from reedbed.domain.paging import Cursor, Order
from reedbed.domain.times import Instant
from reedbed.store.alive import above_mark
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import has_mark, is_unread, visible
from reedbed.store.search.places import Hit, Span
from reedbed.store.statements import Shapes
from reedbed.store.tables import entries, entry_tags, later, read_history, starred, unread

_USER = bindparam("user_id", type_=BigInteger)


@dataclass(frozen=True, slots=True)
class Narrow:
    unread: bool | None = None
    """None does not ask, as with the others."""
    starred: bool | None = None
    later: bool | None = None
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
    def is_small(self) -> bool:
        """There is an index that leads to these entries and few others."""
        return bool(self.unread or self.starred or self.later or self.tags or self.feeds is not None)


@dataclass(frozen=True, slots=True)
class _Shape:
    unread: bool | None
    starred: bool | None
    later: bool | None
    opened: bool | None
    feeds: str
    """"", one or many"""
    without_feeds: bool
    tags: bool
    without_tags: bool
    languages: bool
    without_languages: bool
    after: bool
    before: bool


async def listed(tx: Tx, user_id: int, narrow: Narrow, span: Span, most: int) -> list[Hit]:
    """The entries of the narrowed list, whatever their words."""
    statement = _LISTED(_shape(narrow), span.order, span.beyond is not None)
    rows = await tx.all(statement, {**_params(user_id, narrow), **_beyond(span.beyond), "most": most})
    return [Hit(Cursor(sort_at, entry_id), entry_id) for sort_at, entry_id in rows]


async def allowed(tx: Tx, user_id: int, narrow: Narrow, ids: Sequence[int]) -> set[int]:
    """Which of these entries the user can see in the narrowed list."""
    rows = await tx.all(_ALLOWED(_shape(narrow)), {**_params(user_id, narrow), "ids": list(ids)})
    return {row[0] for row in rows}


def _shape(narrow: Narrow) -> _Shape:
    return _Shape(
        unread=narrow.unread,
        starred=narrow.starred,
        later=narrow.later,
        opened=narrow.opened,
        feeds="" if narrow.feeds is None else "one" if len(narrow.feeds) == 1 else "many",
        without_feeds=bool(narrow.without_feeds),
        tags=bool(narrow.tags),
        without_tags=bool(narrow.without_tags),
        languages=bool(narrow.languages),
        without_languages=bool(narrow.without_languages),
        after=narrow.after is not None,
        before=narrow.before is not None,
    )


def _params(user_id: int, narrow: Narrow) -> dict[str, Any]:
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


def _beyond(cursor: Cursor | None) -> dict[str, Any]:
    return {"beyond_at": cursor.sort_at, "beyond_id": cursor.id} if cursor else {}


def _select_allowed(shape: _Shape) -> ClauseElement:
    return select(entries.c.id).where(among(entries.c.id, "ids"), *_conditions(shape))


_ALLOWED = Shapes(_select_allowed)


def _select_listed(shape: _Shape, order: Order, continued: bool) -> ClauseElement:
    """A walk along the smallest index that holds the whole list in its order."""
    table = _smallest(shape)
    key, entry_id = table.c.sort_at, entries.c.id if table is entries else table.c.entry_id
    query = select(key, entry_id).where(*_conditions(shape))
    if table is not entries:
        query = query.where(entries.c.id == entry_id, *_own(table))
    if continued:
        here = tuple_(key, entry_id)
        there = tuple_(bindparam("beyond_at", type_=BigInteger), bindparam("beyond_id", type_=BigInteger))
        query = query.where(here < there if order == "newest" else here > there)
    directions = (key, entry_id) if order == "oldest" else (key.desc(), entry_id.desc())
    return query.order_by(*directions).limit(bindparam("most", type_=BigInteger))


_LISTED = Shapes(_select_listed)


def _smallest(shape: _Shape) -> FromClause:
    if shape.tags:
        return entry_tags
    if shape.starred:
        return starred
    if shape.later:
        return later
    return unread if shape.unread and shape.feeds != "one" else entries


def _own(table: FromClause) -> list[ColumnElement[bool]]:
    own = [table.c.user_id == _USER]
    if table is entry_tags:
        own.append(entry_tags.c.tag_id == bindparam("tag"))
    if table is unread:
        own.append(above_mark(unread))
    return own


def _conditions(shape: _Shape) -> list[ColumnElement[bool]]:
    return [*_seen_by_user(shape), *_in_feeds(shape), *_tagged(shape), *_in_language(shape), *_in_time(shape)]


def _seen_by_user(shape: _Shape) -> list[ColumnElement[bool]]:
    states = (
        (shape.unread, is_unread(entries.c.id)),
        (shape.starred, has_mark(starred, entries.c.id)),
        (shape.later, has_mark(later, entries.c.id)),
        (shape.opened, has_mark(read_history, entries.c.id)),
    )
    asked = [has if wanted else ~has for wanted, has in states if wanted is not None]
    # What a user has unread, starred, kept for later or tagged can be seen.
    proves = shape.unread or shape.starred or shape.later or shape.tags
    return asked if proves else [*asked, visible()]


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
