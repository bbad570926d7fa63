"""Search: what a person typed becomes a page of entries, with the places that match."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Invalid, NotFound, TooSlow
from reedbed.domain.excerpts import Excerpt, Span, excerpt, highlight, shows
from reedbed.domain.paging import DEFAULT_LIMIT, Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.search import Filter, SearchQuery, parse_search
from reedbed.domain.search_rank import ranked
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.store import entries, search
from reedbed.store.database import Tx
from reedbed.store.keyset import HIGHEST, LOWEST
from reedbed.store.search import Found, Narrow, NoSuchList, texts

SearchOrder = Literal["newest", "oldest", "relevance"]

RANKED = 500
"""Relevance is decided among so many of the newest matches."""
SECONDS = 5.0
GOING_ON, THOROUGH = 5, 20
"""Who goes on has seen that matches are far between, and who comes once wants them all: so many times as much
may be looked at for a page."""


@record
class Matched:
    """What to mark in a row of the answer."""

    title: tuple[Span, ...]
    excerpt: Excerpt


@record
class SearchPage(EntryPage):
    matched: Mapping[int, Matched]
    """By entry id."""
    unknown: tuple[Filter, ...] = ()
    """Where nothing can be found: the feeds, folders and tags of the search that do not exist."""


@record
class _Wish:
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
) -> SearchPage:
    """Only what this user can see. A page may be short, or empty, and still have a next one."""
    query, view = parse_search(text, runtime.now()), within or ViewQuery()
    _check_cursor(cursor)
    if query.is_empty and text.strip():
        return SearchPage((), None, {})  # signs that are no words are in no text
    # What is ranked must be the same for every page of the ranking.
    thorough = thorough or order == "relevance"
    wish = _Wish(order, cursor, limit, THOROUGH if thorough else GOING_ON if cursor else 1)
    try:
        async with asyncio.timeout(SECONDS), runtime.db.read() as tx:
            narrowed = await _narrowed(tx, user_id, query, view)
            unknown = await search.unknown_names(tx, user_id, query) if narrowed is None else ()
            found = await _find(tx, runtime, user_id, query, narrowed, wish)
            rows = await entries.rows_by_ids(tx, user_id, list(found.ids)) if found.ids else []
            markup = await _markup(tx, rows, query)
    except TimeoutError:
        raise TooSlow(
            "This search takes too long. Narrow it by a feed, a folder or a date, such as after:30d."
        ) from None
    matched = {row.id: _matched(row, markup.get(row.id), query) for row in rows}
    return SearchPage(tuple(rows), found.next, matched, unknown)


def _check_cursor(cursor: Cursor | None) -> None:
    if cursor is not None and not (LOWEST < cursor.sort_at < HIGHEST and cursor.id < HIGHEST):
        raise Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")


async def _narrowed(tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery) -> Narrow | None:
    narrowed = await search.narrow(tx, user_id, query, view)
    if isinstance(narrowed, NoSuchList):
        raise NotFound("There is no such feed or folder")
    return narrowed


async def _find(
    tx: Tx, runtime: Runtime, user_id: int, query: SearchQuery, narrowed: Narrow | None, wish: _Wish
) -> Found:
    if narrowed is None:
        return Found((), None)

    async def find(order: Order, cursor: Cursor | None, limit: int) -> Found:
        return await search.find(
            tx,
            user_id,
            query,
            narrowed,
            read=clean_text,
            order=order,
            cursor=cursor,
            limit=limit,
            patience=wish.patience,
        )

    if wish.order != "relevance":
        return await find(wish.order, wish.cursor, wish.limit)
    newest = await find("newest", None, RANKED)
    best = ranked(await texts.candidates(tx, newest.ids), query, runtime.now())
    return _slice(best, wish.cursor, wish.limit)


def _slice(best: Sequence[int], cursor: Cursor | None, limit: int) -> Found:
    """The ranking is made anew for each page, so its place is a number."""
    start = max(cursor.sort_at, 0) if cursor else 0
    end = start + limit
    return Found(tuple(best[start:end]), Cursor(end, 0) if end < len(best) else None)


async def _markup(tx: Tx, rows: Sequence[EntryRow], query: SearchQuery) -> dict[int, str]:
    """The bodies of those whose preview does not show what was searched for."""
    wanted = [row.id for row in rows if query.groups and not shows(row.summary, query)]
    return await texts.bodies(tx, wanted) if wanted else {}


def _matched(row: EntryRow, markup: str | None, query: SearchQuery) -> Matched:
    text = row.summary if markup is None else clean_text(markup)
    return Matched(highlight(row.title, query), excerpt(" ".join(text.split()), query))
