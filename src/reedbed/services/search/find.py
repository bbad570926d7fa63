"""Search the entries that a user can see."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Invalid, NotFound, TooSlow
from reedbed.domain.pagination import DEFAULT_LIMIT, Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.search.query import Filter, SearchQuery, is_connective, parse_search
from reedbed.domain.search.results import (
    Excerpt,
    Span,
    excerpt,
    excerpt_of_markup,
    excerpt_of_transcript,
    highlight,
    ranked,
    shows,
)
from reedbed.domain.search.suggestions import MatchCount, estimated_count
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import find_forms
from reedbed.services.search.suggestions import did_you_mean
from reedbed.store import search
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, LOWEST
from reedbed.store.entries import read as entries
from reedbed.store.search import MatchingIds, NoSuchList, SearchFilter, names, texts
from reedbed.store.search.texts import Body

SearchOrder = Literal["newest", "oldest", "relevance"]

RANKED = 500
"""Only this many of the newest matches are ranked by relevance."""
SECONDS = 5.0
NEXT_PAGE_FACTOR, THOROUGH_FACTOR = 5, 20
"""Factors on the number of rows that may be scanned for one page. Later pages scan more, because the first
showed that matches are sparse; a thorough search needs all matches."""

COUNT_FACTOR = 2
MAX_COUNTED = 1_000
FEW_RESULTS = 2
"""With so few matches, the search may have been misspelt."""


@record
class Matched:
    """What to highlight in a result row."""

    title: tuple[Span, ...]
    excerpt: Excerpt


@record
class SearchPage(EntryPage):
    matched: Mapping[int, Matched]
    """By entry id."""
    unknown: tuple[Filter, ...] = ()
    """Feeds, folders and tags named in the query that do not exist, when nothing can match."""
    did_you_mean: str = ""
    """Another search that finds something, when this one finds next to nothing."""
    query: SearchQuery = field(default=SearchQuery())
    """As parsed, with the other forms of its words."""


@record
class _SearchOptions:
    order: SearchOrder
    cursor: Cursor | None
    limit: int
    patience: int


async def search_entries(
    runtime: Runtime,
    user_id: int,
    text: str,
    *,
    within: ViewQuery | None = None,
    order: SearchOrder = "newest",
    cursor: Cursor | None = None,
    limit: int = DEFAULT_LIMIT,
    thorough: bool = False,
    excerpts: bool = True,
) -> SearchPage:
    """Search the entries this user can see. A short or empty page may still have a next one.

    Without `excerpts`, nothing is `matched`.
    """
    typed, view = parse_search(text, runtime.now()), within or ViewQuery()
    _check_cursor(cursor)
    if is_connective(text):
        raise Invalid('AND and OR connect words. Write "and" in quotes to search for the word.', field="q")
    if typed.is_empty and text.strip():
        return SearchPage((), None, {})  # only punctuation: the index has no words to match
    # Every page of a ranking must rank the same set of matches.
    thorough = thorough or order == "relevance"
    options = _SearchOptions(order, cursor, limit, THOROUGH_FACTOR if thorough else NEXT_PAGE_FACTOR if cursor else 1)
    try:
        async with asyncio.timeout(SECONDS), runtime.db.read() as tx:
            filters = await _resolve_filters(tx, user_id, typed, view)
            unknown = await search.unknown_names(tx, user_id, typed) if filters is None else ()
            query = typed if filters is None else await find_forms(tx, typed)
            matches = await _find(tx, runtime, user_id, query, filters, options)
            rows = await entries.rows_by_ids(tx, user_id, list(matches.ids)) if matches.ids else []
            bodies = await _bodies(tx, rows, query) if excerpts else {}
            is_all = cursor is None and matches.next is None
            meant = (
                await did_you_mean(tx, runtime, user_id, text, typed, view, unknown)
                if excerpts and is_all and len(rows) <= FEW_RESULTS
                else ""
            )
    except TimeoutError:
        raise TooSlow(
            "This search takes too long. Narrow it by a feed, a folder or a date, such as after:30d."
        ) from None
    matched = {row.id: _matched(row, bodies.get(row.id), query) for row in rows} if excerpts else {}
    return SearchPage(tuple(rows), matches.next, matched, unknown, meant, query)


async def count_matches(runtime: Runtime, user_id: int, text: str, within: ViewQuery | None = None) -> MatchCount:
    """Exact up to a thousand, an estimate beyond that or where counting would take too long."""
    query = parse_search(text, runtime.now())
    if query.is_empty:
        return MatchCount(0)
    async with runtime.db.read() as tx:
        filters = await _resolve_filters(tx, user_id, query, within or ViewQuery())
        if filters is None:
            return MatchCount(0)
        expanded = await find_forms(tx, query)
        matches = await search.find(
            tx, user_id, expanded, filters, read=clean_text, limit=MAX_COUNTED, patience=COUNT_FACTOR
        )
        if matches.next is None:
            return MatchCount(len(matches.ids), feeds=len(await names.count(tx, user_id, "feed", matches.ids)))
        if not matches.ids:
            return MatchCount(0, is_estimate=True)
        oldest, newest = await texts.id_range(tx)
    return estimated_count(matches.ids, oldest, newest)


def _check_cursor(cursor: Cursor | None) -> None:
    if cursor is not None and not (LOWEST < cursor.sort_at < HIGHEST and cursor.id < HIGHEST):
        raise Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")


async def _resolve_filters(tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery) -> SearchFilter | None:
    filters = await search.narrow(tx, user_id, query, view)
    if isinstance(filters, NoSuchList):
        raise NotFound("There is no such feed or folder")
    return filters


async def _find(
    tx: Tx, runtime: Runtime, user_id: int, query: SearchQuery, filters: SearchFilter | None, options: _SearchOptions
) -> MatchingIds:
    if filters is None:
        return MatchingIds((), None)

    async def find(order: Order, cursor: Cursor | None, limit: int) -> MatchingIds:
        return await search.find(
            tx,
            user_id,
            query,
            filters,
            read=clean_text,
            order=order,
            cursor=cursor,
            limit=limit,
            patience=options.patience,
        )

    if options.order != "relevance":
        return await find(options.order, options.cursor, options.limit)
    newest = await find("newest", None, RANKED)
    best = ranked(await texts.candidates(tx, newest.ids), query, runtime.now())
    return _slice(best, options.cursor, options.limit)


def _slice(best: Sequence[int], cursor: Cursor | None, limit: int) -> MatchingIds:
    """The ranking is computed again for each page, so the cursor is an offset."""
    start = max(cursor.sort_at, 0) if cursor else 0
    end = start + limit
    return MatchingIds(tuple(best[start:end]), Cursor(end, 0) if end < len(best) else None)


async def _bodies(tx: Tx, rows: Sequence[EntryRow], query: SearchQuery) -> dict[int, Body]:
    """The bodies of entries whose preview does not contain a match."""
    ids = [row.id for row in rows if query.groups and not shows(row.summary, query)]
    return await texts.bodies(tx, ids) if ids else {}


def _matched(row: EntryRow, body: Body | None, query: SearchQuery) -> Matched:
    title = highlight(row.title, query)
    if body is not None:
        found = excerpt_of_markup(body.markup, query, clean_text)
        if not found.spans and body.transcript:
            found = excerpt_of_transcript(body.transcript, query) or found
        return Matched(title, found)
    return Matched(title, excerpt(" ".join(row.summary.split()), query))
