"""The parsed search as values: `SearchFilter` (states, feeds, tags, time) and `Words` (the terms to match).

`narrow` builds a filter from a search and the view it runs in, `allowed` applies it to entry ids, and
`words_of` extracts the terms for the index.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, FromClause, Text, bindparam, or_

from reedbed.domain.entries import ViewQuery
from reedbed.domain.records import record
from reedbed.domain.search.indexing import SearchWords, category_token
from reedbed.domain.search.query import CHOICES, STATES, Filter, SearchQuery, Term
from reedbed.domain.text import fold, query_tokens
from reedbed.domain.times import Instant
from reedbed.store import visibility
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Param, QueryFamily, among, func, in_order, of_user, select
from reedbed.store.entries.columns import has_flag, is_unread, visible
from reedbed.store.search import names
from reedbed.store.tables import entries, entry_tags, later, muted, read_history, starred, unread
from reedbed.store.visibility import above_read_marker

_USER = bindparam("user_id", type_=BigInteger)


@record
class SearchFilter:
    """Which of the user's entries a search covers, apart from its terms."""

    unread: bool | None = None
    """None: no condition, as with the other fields."""
    starred: bool | None = None
    later: bool | None = None
    muted: bool = False
    """Only muted entries; no other list contains them."""
    opened: bool | None = None
    pictured: bool | None = None
    feeds: frozenset[int] | None = None
    without_feeds: frozenset[int] = frozenset()
    tags: frozenset[int] = frozenset()
    """The entry has all of these tags."""
    without_tags: frozenset[int] = frozenset()
    languages: frozenset[str] = frozenset()
    without_languages: frozenset[str] = frozenset()
    after: Instant | None = None
    before: Instant | None = None

    @property
    def of_table(self) -> FromClause:
        """The smallest table with a row for every entry of the list."""
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
    """Which conditions the SQL of a filter has; the key of its compiled statement."""

    table: FromClause
    unread: bool | None
    starred: bool | None
    later: bool | None
    muted: bool
    opened: bool | None
    pictured: bool | None
    feeds: str
    """Empty, "one" or "many"."""
    without_feeds: bool
    tags: bool
    """More than one tag."""
    without_tags: bool
    languages: bool
    without_languages: bool
    after: bool
    before: bool


async def allowed(tx: Tx, user_id: int, list_filter: SearchFilter, ids: Sequence[int]) -> set[int]:
    """Which of these entries the user can see in the filtered list."""
    return set(await tx.all(_ALLOWED(_shape(list_filter)), {**params_of(user_id, list_filter), "ids": list(ids)}))


def _shape(list_filter: SearchFilter) -> _FilterVariant:
    return _FilterVariant(
        table=list_filter.of_table,
        unread=list_filter.unread,
        starred=list_filter.starred,
        later=list_filter.later,
        muted=list_filter.muted,
        opened=list_filter.opened,
        pictured=list_filter.pictured,
        feeds="" if list_filter.feeds is None else "one" if len(list_filter.feeds) == 1 else "many",
        without_feeds=bool(list_filter.without_feeds),
        tags=len(list_filter.tags) > 1,
        without_tags=bool(list_filter.without_tags),
        languages=bool(list_filter.languages),
        without_languages=bool(list_filter.without_languages),
        after=list_filter.after is not None,
        before=list_filter.before is not None,
    )


def params_of(user_id: int, list_filter: SearchFilter) -> dict[str, Param]:
    feeds, tags = sorted(list_filter.feeds or ()), sorted(list_filter.tags)
    return {
        "user_id": user_id,
        "feeds": feeds,
        "feed": feeds[0] if feeds else None,
        "without_feeds": sorted(list_filter.without_feeds),
        "tags": tags,
        "tag": tags[0] if tags else None,
        "tags_wanted": len(tags),
        "without_tags": sorted(list_filter.without_tags),
        "languages": sorted(list_filter.languages),
        "without_languages": sorted(list_filter.without_languages),
        "after": list_filter.after,
        "before": list_filter.before,
    }


def _select_allowed(variant: _FilterVariant) -> ClauseElement:
    """Skip the `entries` table if a row of the user's own table is enough."""
    table, conditions = variant.table, _conditions(variant)
    if table is entries:
        return select(entries.c.id).where(among(entries.c.id, "ids"), *conditions)
    own_rows = [of_user(table, "user_id", "ids"), *_own_row_conditions(table)]
    if not conditions:
        return select(table.c.entry_id).where(*own_rows)
    joined = in_order(table, entries, entries.c.id == table.c.entry_id)
    return select(entries.c.id).select_from(joined).where(*own_rows, *conditions)


_ALLOWED = QueryFamily(_select_allowed, into=int)


def _own_row_conditions(table: FromClause) -> list[ColumnElement[bool]]:
    if table is entry_tags:
        return [entry_tags.c.tag_id == bindparam("tag")]
    return [above_read_marker(unread)] if table is unread else []


def _conditions(variant: _FilterVariant) -> list[ColumnElement[bool]]:
    return [
        *_state_conditions(variant),
        *_feed_conditions(variant),
        *_tag_conditions(variant),
        *_language_conditions(variant),
        *_time_conditions(variant),
    ]


def _state_conditions(variant: _FilterVariant) -> list[ColumnElement[bool]]:
    states = (
        (unread, variant.unread, is_unread(entries.c.id)),
        (starred, variant.starred, has_flag(starred, entries.c.id)),
        (later, variant.later, has_flag(later, entries.c.id)),
        (read_history, variant.opened, has_flag(read_history, entries.c.id)),
    )
    conditions = [
        has if value else ~has for table, value, has in states if value is not None and table is not variant.table
    ]
    if variant.muted and variant.table is not muted:
        conditions.append(has_flag(muted, entries.c.id))
    if variant.pictured is not None:
        conditions.append(entries.c.image.is_not(None) if variant.pictured else entries.c.image.is_(None))
    # Entries that are unread, starred, saved for later or tagged are always visible to their user.
    if variant.table is entries or variant.table is muted:
        conditions.append(visible(with_muted=variant.muted))
    return conditions


def _feed_conditions(variant: _FilterVariant) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if variant.feeds == "one":
        conditions.append(entries.c.feed_id == bindparam("feed"))
    elif variant.feeds:
        conditions.append(among(entries.c.feed_id, "feeds"))
    if variant.without_feeds:
        conditions.append(~among(entries.c.feed_id, "without_feeds"))
    return conditions


def _tag_conditions(variant: _FilterVariant) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if variant.tags:
        conditions.append(_tags_among("tags") == bindparam("tags_wanted", type_=BigInteger))
    if variant.without_tags:
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


def _language_conditions(variant: _FilterVariant) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if variant.languages:
        conditions.append(_language_among("languages"))
    if variant.without_languages:
        conditions.append(or_(entries.c.language.is_(None), ~_language_among("without_languages")))
    return conditions


def _language_among(name: str) -> ColumnElement[bool]:
    """`pt` matches any Portuguese, `pt-br` only that of Brazil."""
    language = func.lower(entries.c.language)
    return or_(among(language, name, Text()), among(func.substr(language, 1, 2), name, Text()))


def _time_conditions(variant: _FilterVariant) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if variant.after:
        conditions.append(entries.c.sort_at >= bindparam("after"))
    if variant.before:
        conditions.append(entries.c.sort_at < bindparam("before"))
    return conditions


# --- From a search to a filter


@record
class NoSuchList:
    """The view names a feed or folder that does not belong to this user."""


async def narrow(tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery) -> SearchFilter | NoSuchList | None:
    """None if the result is certainly empty."""
    states = _states(query, view)
    if states is None:
        return None
    feed_ids = await _feeds_of_view(tx, user_id, view)
    if isinstance(feed_ids, NoSuchList):
        return feed_ids
    list_filter = await _filter_feeds(tx, user_id, query, replace(states, feeds=feed_ids))
    return await _filter_tags(tx, user_id, query, view, list_filter) if list_filter else None


async def unknown_names(tx: Tx, user_id: int, query: SearchQuery) -> tuple[Filter, ...]:
    """The feeds, folders and tags that the search names and this user does not have, and choices that do not exist."""
    exists: dict[str, Callable[[str], bool]] = {kind: choices.__contains__ for kind, choices in CHOICES.items()}
    if _terms_of_kind(query, "feed"):
        feed_names = _feed_names(await tx.all(names.FEEDS, {"user_id": user_id}))
        exists["feed"] = lambda value: bool(_feeds_matching(feed_names, value))
    if _terms_of_kind(query, "folder"):
        tree = await tx.all(names.FOLDERS, {"user_id": user_id})
        exists["folder"] = lambda value: bool(_folders_matching(tree, value))
    if _terms_of_kind(query, "tag"):
        tag_names = {name.casefold() for _, name in await tx.all(names.TAGS, {"user_id": user_id})}
        exists["tag"] = lambda value: value.casefold() in tag_names
    return tuple(
        term
        for term in query.filters
        if (term.kind in CHOICES or not term.negated) and term.kind in exists and not exists[term.kind](term.value)
    )


def _states(query: SearchQuery, view: ViewQuery) -> SearchFilter | None:
    states: dict[str, bool] = {} if view.view == "all" else {view.view: True}
    for term in _terms_of_kind(query, "is"):
        if term.value not in STATES:
            return None
        name, value = ("unread", term.negated) if term.value == "read" else (term.value, not term.negated)
        if states.setdefault(name, value) != value:
            return None
    for term in _terms_of_kind(query, "has"):
        if term.value not in CHOICES["has"]:
            return None
        if states.setdefault(term.value, not term.negated) == term.negated:
            return None
    after = max((time for time in (query.after, view.since) if time is not None), default=None)
    languages = {term.value.lower(): term.negated for term in _terms_of_kind(query, "lang")}
    return SearchFilter(
        unread=states.get("unread"),
        starred=states.get("starred"),
        later=states.get("later"),
        muted=bool(states.get("muted")),
        opened=states.get("history"),
        pictured=states.get("picture"),
        languages=frozenset(name for name, negated in languages.items() if not negated),
        without_languages=frozenset(name for name, negated in languages.items() if negated),
        after=after,
        before=query.before,
    )


async def _feeds_of_view(tx: Tx, user_id: int, view: ViewQuery) -> frozenset[int] | NoSuchList | None:
    if view.feed_id is None and view.folder_id is None:
        return None
    feed_ids = await visibility.feeds_of(tx, user_id, feed_id=view.feed_id, folder_id=view.folder_id, with_muted=True)
    return NoSuchList() if feed_ids is None else frozenset(feed_ids)


async def _filter_feeds(tx: Tx, user_id: int, query: SearchQuery, list_filter: SearchFilter) -> SearchFilter | None:
    by_feed, by_folder = _terms_of_kind(query, "feed"), _terms_of_kind(query, "folder")
    if not by_feed and not by_folder:
        return list_filter if list_filter.feeds != frozenset() else None
    rows = await tx.all(names.FEEDS, {"user_id": user_id})
    named = _feed_names(rows)
    matches = [(term, _feeds_matching(named, term.value)) for term in by_feed]
    if by_folder:
        tree = await tx.all(names.FOLDERS, {"user_id": user_id})
        for term in by_folder:
            inside = _folders_matching(tree, term.value)
            matches.append((term, frozenset(row[0] for row in rows if not inside.isdisjoint(row[1]))))
    required = [feed_ids for term, feed_ids in matches if not term.negated]
    if list_filter.feeds is not None:
        required.append(list_filter.feeds)
    without = frozenset[int]().union(*(feed_ids for term, feed_ids in matches if term.negated))
    within = frozenset[int].intersection(*required) - without if required else None
    return None if within == frozenset() else replace(list_filter, feeds=within, without_feeds=without)


async def _filter_tags(
    tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery, list_filter: SearchFilter
) -> SearchFilter | None:
    terms = _terms_of_kind(query, "tag")
    if view.tag is None and not terms:
        return list_filter
    existing = {name.casefold(): id for id, name in await tx.all(names.TAGS, {"user_id": user_id})}
    required = [term.value for term in terms if not term.negated]
    tag_ids = [existing.get(name.casefold()) for name in (*required, *([view.tag] if view.tag else ()))]
    ids = frozenset(id for id in tag_ids if id is not None)
    without = frozenset(
        existing[term.value.casefold()] for term in terms if term.negated and term.value.casefold() in existing
    )
    return None if None in tag_ids else replace(list_filter, tags=ids, without_tags=without)


def _terms_of_kind(query: SearchQuery, kind: str) -> list[Filter]:
    return [term for term in query.filters if term.kind == kind]


def _feed_names(rows: Iterable[tuple[int, tuple[int, ...], str, str]]) -> list[tuple[int, str]]:
    """The id of each feed, and its title and URL as one text to match."""
    return [(row[0], f"{fold(row[2])} {row[3]}".casefold()) for row in rows]


def _feeds_matching(named: Iterable[tuple[int, str]], value: str) -> frozenset[int]:
    """Match by a part of the title or URL, or by id."""
    matches = _name_matcher(value)
    return frozenset(id for id, name in named if matches(name) or value == str(id))


def _name_matcher(value: str) -> Callable[[str], bool]:
    folded, typed = " ".join(fold(value).split()), value.casefold()
    return lambda name: typed in name or (bool(folded) and folded in name)


def _folders_matching(tree: Iterable[tuple[int, int | None, str]], value: str) -> set[int]:
    """The folders with this name or id, and all their subfolders."""
    rows = list(tree)
    inside = {id for id, _, name in rows if fold(name).strip() == fold(value).strip() or value == str(id)}
    while grown := {id for id, parent, _ in rows if parent in inside} - inside:
        inside |= grown
    return inside


# --- Terms

Column = Literal["title", "author"]


@record
class Part:
    tokens: tuple[str, ...]
    """Consecutive words of one column."""
    prefix: bool = False
    column: Column | None = None


@record
class Words:
    groups: tuple[tuple[Part, ...], ...]
    """Every group must match through at least one of its parts."""
    excluded: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*(part for group in self.groups for part in group), *self.excluded)

    def __bool__(self) -> bool:
        return bool(self.groups or self.excluded)

    def split(self, apart: Container[Part]) -> tuple["Words", "Words"]:
        """The groups without any of these parts, and the other groups."""
        has_part = [any(part in apart for part in group) for group in self.groups]
        remaining = tuple(group for group, moves in zip(self.groups, has_part, strict=True) if not moves)
        moved = tuple(group for group, moves in zip(self.groups, has_part, strict=True) if moves)
        return (
            Words(remaining, tuple(part for part in self.excluded if part not in apart)),
            Words(moved, tuple(part for part in self.excluded if part in apart)),
        )

    def match(self, text: SearchWords) -> bool:
        """Whether the index would match this text."""
        columns = {"title": _padded(text.title), "author": _padded(text.author)}
        everywhere = [*columns.values(), _padded(text.text)]

        def has(part: Part) -> bool:
            needle = f" {' '.join(part.tokens)}{'' if part.prefix else ' '}"
            return any(needle in column for column in ([columns[part.column]] if part.column else everywhere))

        return all(any(map(has, group)) for group in self.groups) and not any(map(has, self.excluded))


NO_WORDS = Words((), ())


def words_of(query: SearchQuery) -> Words:
    return Words(
        groups=(*(tuple(map(_part, group)) for group in query.groups), *_filter_groups(query, negated=False)),
        excluded=(
            *map(_part, query.excluded),
            *(part for group in _filter_groups(query, negated=True) for part in group),
        ),
    )


def _padded(text: str) -> str:
    return f" {' '.join(text.split())} "


def _part(term: Term) -> Part:
    return Part(term.tokens, term.prefix, "title" if term.title_only else None)


def _filter_groups(query: SearchQuery, *, negated: bool) -> Iterator[tuple[Part]]:
    """The filters that the index answers: authors and categories."""
    for term in query.filters:
        if term.negated != negated:
            continue
        if term.kind == "author" and (tokens := query_tokens(term.value)):
            yield (Part(tokens, term.value.endswith("*"), "author"),)
        elif term.kind == "category" and (token := category_token(term.value)):
            yield (Part((token,), term.value.endswith("*"), "author"),)
