"""The words of a search, apart from its filters: what the index of either engine is asked."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, FromClause, Text, bindparam, or_

from reedbed.domain.entries import ViewQuery
from reedbed.domain.records import record
from reedbed.domain.search import Filter, SearchQuery, SearchWords, Term
from reedbed.domain.text import fold, query_tokens
from reedbed.domain.times import Instant
from reedbed.store import visibility
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Shapes, Statement, among, func, in_order, of_user, select
from reedbed.store.entries.columns import has_mark, is_unread, visible
from reedbed.store.tables import (
    entries,
    entry_tags,
    feeds,
    folders,
    later,
    muted,
    read_history,
    starred,
    subscriptions,
    tags,
    unread,
)
from reedbed.store.visibility import above_mark

_USER = bindparam("user_id", type_=BigInteger)


@record
class SearchFilter:
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
class _FilterVariant:
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


async def allowed(tx: Tx, user_id: int, narrow: SearchFilter, ids: Sequence[int]) -> set[int]:
    """Which of these entries the user can see in the narrowed list."""
    rows = await tx.all(_ALLOWED(_shape(narrow)), {**params_of(user_id, narrow), "ids": list(ids)})
    return {row[0] for row in rows}


def _shape(narrow: SearchFilter) -> _FilterVariant:
    return _FilterVariant(
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


def params_of(user_id: int, narrow: SearchFilter) -> dict[str, Any]:
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


def _select_allowed(shape: _FilterVariant) -> ClauseElement:
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


def _conditions(shape: _FilterVariant) -> list[ColumnElement[bool]]:
    return [*_seen_by_user(shape), *_in_feeds(shape), *_tagged(shape), *_in_language(shape), *_in_time(shape)]


def _seen_by_user(shape: _FilterVariant) -> list[ColumnElement[bool]]:
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


def _in_feeds(shape: _FilterVariant) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.feeds == "one":
        conditions.append(entries.c.feed_id == bindparam("feed"))
    elif shape.feeds:
        conditions.append(among(entries.c.feed_id, "feeds"))
    if shape.without_feeds:
        conditions.append(~among(entries.c.feed_id, "without_feeds"))
    return conditions


def _tagged(shape: _FilterVariant) -> list[ColumnElement[bool]]:
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


def _in_language(shape: _FilterVariant) -> list[ColumnElement[bool]]:
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


def _in_time(shape: _FilterVariant) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.after:
        conditions.append(entries.c.sort_at >= bindparam("after"))
    if shape.before:
        conditions.append(entries.c.sort_at < bindparam("before"))
    return conditions


_FEEDS = Statement(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        func.coalesce(subscriptions.c.title, feeds.c.title),
        feeds.c.url,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_FOLDERS = Statement(
    select(folders.c.id, folders.c.parent_id, folders.c.name).where(folders.c.user_id == bindparam("user_id"))
)
_TAGS = Statement(select(tags.c.id, tags.c.name).where(tags.c.user_id == bindparam("user_id")))


@record
class NoSuchList:
    """The view names a feed or folder that is not this user's."""


async def narrow(
    tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery
) -> SearchFilter | NoSuchList | None:
    """None: nothing can be in it."""
    states = _states(query, view)
    if states is None:
        return None
    within = await _within(tx, user_id, view)
    if isinstance(within, NoSuchList):
        return within
    narrowed = await _in_named_feeds(tx, user_id, query, replace(states, feeds=within))
    return await _with_named_tags(tx, user_id, query, view, narrowed) if narrowed else None


async def unknown_names(tx: Tx, user_id: int, query: SearchQuery) -> tuple[Filter, ...]:
    """The feeds, folders and tags that the search is for and that this user has none of."""
    named: dict[str, Callable[[str], bool]] = {}
    if _of_kind(query, "feed"):
        feed_names = [
            (row[0], f"{fold(row[2])} {row[3]}".casefold())
            for row in await tx.all(_FEEDS, {"user_id": user_id})
        ]
        named["feed"] = lambda value: bool(_feeds_called(feed_names, value))
    if _of_kind(query, "folder"):
        tree = [tuple(row) for row in await tx.all(_FOLDERS, {"user_id": user_id})]
        named["folder"] = lambda value: bool(_folders_called(tree, value))
    if _of_kind(query, "tag"):
        tag_names = {row[1].casefold() for row in await tx.all(_TAGS, {"user_id": user_id})}
        named["tag"] = lambda value: value.casefold() in tag_names
    return tuple(
        each
        for each in query.filters
        if not each.negated and each.kind in named and not named[each.kind](each.value)
    )


def _states(query: SearchQuery, view: ViewQuery) -> SearchFilter | None:
    asked: dict[str, bool] = {} if view.view == "all" else {view.view: True}
    for each in _of_kind(query, "is"):
        name, wanted = ("unread", each.negated) if each.value == "read" else (each.value, not each.negated)
        if asked.setdefault(name, wanted) != wanted:
            return None
    after = max((moment for moment in (query.after, view.since) if moment is not None), default=None)
    languages = {each.value.lower(): each.negated for each in _of_kind(query, "lang")}
    return SearchFilter(
        unread=asked.get("unread"),
        starred=asked.get("starred"),
        later=asked.get("later"),
        muted=bool(asked.get("muted")),
        opened=asked.get("history"),
        languages=frozenset(name for name, negated in languages.items() if not negated),
        without_languages=frozenset(name for name, negated in languages.items() if negated),
        after=after,
        before=query.before,
    )


async def _within(tx: Tx, user_id: int, view: ViewQuery) -> frozenset[int] | NoSuchList | None:
    if view.feed_id is None and view.folder_id is None:
        return None
    found = await visibility.feeds_of(tx, user_id, feed_id=view.feed_id, folder_id=view.folder_id)
    return NoSuchList() if found is None else frozenset(found)


async def _in_named_feeds(
    tx: Tx, user_id: int, query: SearchQuery, narrowed: SearchFilter
) -> SearchFilter | None:
    by_feed, by_folder = _of_kind(query, "feed"), _of_kind(query, "folder")
    if not by_feed and not by_folder:
        return narrowed if narrowed.feeds != frozenset() else None
    rows = await tx.all(_FEEDS, {"user_id": user_id})
    named = [(row[0], f"{fold(row[2])} {row[3]}".casefold()) for row in rows]
    chosen = [(each, _feeds_called(named, each.value)) for each in by_feed]
    if by_folder:
        tree = [tuple(row) for row in await tx.all(_FOLDERS, {"user_id": user_id})]
        for each in by_folder:
            inside = _folders_called(tree, each.value)
            chosen.append((each, frozenset(row[0] for row in rows if row[1] in inside)))
    wanted = [feed_ids for each, feed_ids in chosen if not each.negated]
    if narrowed.feeds is not None:
        wanted.append(narrowed.feeds)
    without = frozenset[int]().union(*(feed_ids for each, feed_ids in chosen if each.negated))
    within = frozenset[int].intersection(*wanted) - without if wanted else None
    return None if within == frozenset() else replace(narrowed, feeds=within, without_feeds=without)


async def _with_named_tags(
    tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery, narrowed: SearchFilter
) -> SearchFilter | None:
    asked = _of_kind(query, "tag")
    if view.tag is None and not asked:
        return narrowed
    known = {name.casefold(): id for id, name in await tx.all(_TAGS, {"user_id": user_id})}
    wanted = [each.value for each in asked if not each.negated]
    found = [known.get(name.casefold()) for name in (*wanted, *([view.tag] if view.tag else ()))]
    ids = frozenset(id for id in found if id is not None)
    without = frozenset(
        known[each.value.casefold()] for each in asked if each.negated and each.value.casefold() in known
    )
    return None if None in found else replace(narrowed, tags=ids, without_tags=without)


def _of_kind(query: SearchQuery, kind: str) -> list[Filter]:
    return [each for each in query.filters if each.kind == kind]


def _feeds_called(named: Iterable[tuple[int, str]], value: str) -> frozenset[int]:
    """By a part of the name or address, or by id."""
    matches = _holds(value)
    return frozenset(id for id, name in named if matches(name) or value == str(id))


def _holds(value: str) -> Callable[[str], bool]:
    folded, typed = " ".join(fold(value).split()), value.casefold()
    return lambda name: typed in name or (bool(folded) and folded in name)


def _folders_called(tree: Iterable[tuple[int, int | None, str]], value: str) -> set[int]:
    """The folders of this name or id, and all below them."""
    rows = list(tree)
    inside = {id for id, _, name in rows if fold(name).strip() == fold(value).strip() or value == str(id)}
    while grown := {id for id, parent, _ in rows if parent in inside} - inside:
        inside |= grown
    return inside


Column = Literal["title", "author"]


@record
class Part:
    tokens: tuple[str, ...]
    """One after the other, in the same column."""
    prefix: bool = False
    column: Column | None = None


@record
class Words:
    groups: tuple[tuple[Part, ...], ...]
    """Every group must match, by any of its parts."""
    excluded: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*(part for group in self.groups for part in group), *self.excluded)

    def __bool__(self) -> bool:
        return bool(self.groups or self.excluded)

    def split(self, apart: Container[Part]) -> tuple["Words", "Words"]:
        """Those that need none of these parts, and the others."""
        dear = [any(part in apart for part in group) for group in self.groups]
        kept = tuple(group for group, is_dear in zip(self.groups, dear, strict=True) if not is_dear)
        moved = tuple(group for group, is_dear in zip(self.groups, dear, strict=True) if is_dear)
        return (
            Words(kept, tuple(part for part in self.excluded if part not in apart)),
            Words(moved, tuple(part for part in self.excluded if part in apart)),
        )

    def match(self, text: SearchWords) -> bool:
        """Whether the index would find these words in it."""
        columns = {"title": _padded(text.title), "author": _padded(text.author)}
        everywhere = [*columns.values(), _padded(text.text)]

        def has(part: Part) -> bool:
            needle = f" {' '.join(part.tokens)}{'' if part.prefix else ' '}"
            return any(needle in column for column in ([columns[part.column]] if part.column else everywhere))

        return all(any(map(has, group)) for group in self.groups) and not any(map(has, self.excluded))


NO_WORDS = Words((), ())


def words_of(query: SearchQuery) -> Words:
    return Words(
        groups=(*(tuple(map(_part, group)) for group in query.groups), *_authors(query, negated=False)),
        excluded=(
            *map(_part, query.excluded),
            *(part for group in _authors(query, negated=True) for part in group),
        ),
    )


def _padded(text: str) -> str:
    return f" {' '.join(text.split())} "


def _part(term: Term) -> Part:
    return Part(term.tokens, term.prefix, "title" if term.title_only else None)


def _authors(query: SearchQuery, *, negated: bool) -> Iterator[tuple[Part]]:
    for wanted in query.filters:
        tokens = query_tokens(wanted.value)
        if wanted.kind == "author" and wanted.negated == negated and tokens:
            yield (Part(tokens, wanted.value.endswith("*"), "author"),)
