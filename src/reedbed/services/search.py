"""Mending the search index: what it lacks is added; once worn it is built anew, newest entries first.

All of it in pieces, so that a reader's own writes never wait long.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from reedbed.domain.batching import weight
from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Conflict, Invalid, NotFound, TooSlow
from reedbed.domain.pagination import DEFAULT_LIMIT, Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.search import (
    MAX_SEARCHES,
    Excerpt,
    Filter,
    SavedSearch,
    SearchQuery,
    SearchWords,
    Span,
    UnreadMatches,
    excerpt,
    highlight,
    parse_search,
    ranked,
    search_name,
    search_text,
    search_words,
    shows,
)
from reedbed.domain.times import HOUR
from reedbed.ingest.text import clean_text
from reedbed.services.batching import Batches
from reedbed.services.jobs import run_every
from reedbed.services.live import publish_counts
from reedbed.services.runtime import Runtime
from reedbed.store import search
from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.statements import HIGHEST, LOWEST
from reedbed.store.entries import read as entries
from reedbed.store.search import FoundIds, NoSuchList, SearchFilter, texts
from reedbed.store.search import saved as searches
from reedbed.store.search.texts import NEWEST, Unindexed

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
) -> SearchPage:
    """Only what this user can see. A page may be short, or empty, and still have a next one."""
    query, view = parse_search(text, runtime.now()), within or ViewQuery()
    _check_cursor(cursor)
    if query.is_empty and text.strip():
        return SearchPage((), None, {})  # signs that are no words are in no text
    # What is ranked must be the same for every page of the ranking.
    thorough = thorough or order == "relevance"
    wish = _SearchOptions(order, cursor, limit, THOROUGH if thorough else GOING_ON if cursor else 1)
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


async def _narrowed(tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery) -> SearchFilter | None:
    narrowed = await search.narrow(tx, user_id, query, view)
    if isinstance(narrowed, NoSuchList):
        raise NotFound("There is no such feed or folder")
    return narrowed


async def _find(
    tx: Tx,
    runtime: Runtime,
    user_id: int,
    query: SearchQuery,
    narrowed: SearchFilter | None,
    wish: _SearchOptions,
) -> FoundIds:
    if narrowed is None:
        return FoundIds((), None)

    async def find(order: Order, cursor: Cursor | None, limit: int) -> FoundIds:
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


def _slice(best: Sequence[int], cursor: Cursor | None, limit: int) -> FoundIds:
    """The ranking is made anew for each page, so its place is a number."""
    start = max(cursor.sort_at, 0) if cursor else 0
    end = start + limit
    return FoundIds(tuple(best[start:end]), Cursor(end, 0) if end < len(best) else None)


async def _markup(tx: Tx, rows: Sequence[EntryRow], query: SearchQuery) -> dict[int, str]:
    """The bodies of those whose preview does not show what was searched for."""
    wanted = [row.id for row in rows if query.groups and not shows(row.summary, query)]
    return await texts.bodies(tx, wanted) if wanted else {}


def _matched(row: EntryRow, markup: str | None, query: SearchQuery) -> Matched:
    text = row.summary if markup is None else clean_text(markup)
    return Matched(highlight(row.title, query), excerpt(" ".join(text.split()), query))


NO_SUCH = "There is no such saved search"
NAME_TAKEN = "You have a saved search of this name already"

MAX_COUNTED = 500
COUNT_SECONDS = 2.0


async def list_searches(runtime: Runtime, user_id: int) -> list[SavedSearch]:
    async with runtime.db.read() as tx:
        return await searches.of_user(tx, user_id)


async def get_search(runtime: Runtime, user_id: int, search_id: int) -> SavedSearch:
    async with runtime.db.read() as tx:
        return await _get(tx, user_id, search_id)


async def save_search(runtime: Runtime, user_id: int, name: str, query: str) -> SavedSearch:
    tidy_name, tidy_query = search_name(name), search_text(query, runtime.now())
    async with runtime.db.write() as tx:
        if await searches.count(tx, user_id) >= MAX_SEARCHES:
            raise Conflict(f"There can be at most {MAX_SEARCHES} saved searches. Delete some first.")
        saved = await searches.add(tx, user_id, tidy_name, tidy_query, runtime.now())
    if saved is None:
        raise Conflict(NAME_TAKEN, field="name")
    await publish_counts(runtime, user_id)
    return saved


async def change_search(
    runtime: Runtime, user_id: int, search_id: int, *, name: str | None = None, query: str | None = None
) -> SavedSearch:
    """What is left out stays as it is."""
    async with runtime.db.write() as tx:
        saved = await _get(tx, user_id, search_id)
        changed = replace(
            saved,
            name=saved.name if name is None else search_name(name),
            query=saved.query if query is None else search_text(query, runtime.now()),
        )
        if not await searches.change(tx, user_id, search_id, changed.name, changed.query):
            raise Conflict(NAME_TAKEN, field="name")
    await publish_counts(runtime, user_id)
    return changed


async def reorder_searches(runtime: Runtime, user_id: int, search_ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        known = {saved.id for saved in await searches.of_user(tx, user_id)}
        if known != set(search_ids) or len(search_ids) != len(known):
            raise Invalid("Name every saved search once, in the new order.", field="ids")
        await searches.place(tx, user_id, search_ids)
    await publish_counts(runtime, user_id)


async def delete_search(runtime: Runtime, user_id: int, search_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await searches.remove(tx, user_id, search_id):
            raise NotFound(NO_SUCH)
    await publish_counts(runtime, user_id)


async def search_page(
    runtime: Runtime,
    user_id: int,
    search_id: int,
    *,
    within: ViewQuery | None = None,
    order: SearchOrder = "newest",
    cursor: Cursor | None = None,
    limit: int = DEFAULT_LIMIT,
) -> SearchPage:
    """The saved search as a list."""
    saved = await get_search(runtime, user_id, search_id)
    return await search_entries(
        runtime, user_id, saved.query, within=within, order=order, cursor=cursor, limit=limit
    )


async def unread_matches(
    runtime: Runtime, user_id: int, saved: Sequence[SavedSearch]
) -> dict[int, UnreadMatches]:
    """How much is unread in each, by id. What cannot be counted in the time there is, is left out."""
    counts: dict[int, UnreadMatches] = {}
    try:
        async with asyncio.timeout(COUNT_SECONDS), runtime.db.read() as tx:
            for each in saved:
                counts[each.id] = await _count(runtime, tx, user_id, each)
    except TimeoutError:
        return counts
    return counts


async def _count(runtime: Runtime, tx: Tx, user_id: int, saved: SavedSearch) -> UnreadMatches:
    query = parse_search(saved.query, runtime.now())
    narrowed = await search.narrow(tx, user_id, query, ViewQuery("unread"))
    if not isinstance(narrowed, SearchFilter):
        return UnreadMatches(0, more=False)
    found = await search.find(tx, user_id, query, narrowed, read=clean_text, limit=MAX_COUNTED)
    return UnreadMatches(len(found.ids), more=found.next is not None)


async def _get(tx: Tx, user_id: int, search_id: int) -> SavedSearch:
    saved = await searches.get(tx, user_id, search_id)
    if saved is None:
        raise NotFound(NO_SUCH)
    return saved


AT_ONCE = 100
"""Texts read in one go."""
MAX_A_TURN = 20_000
JOINED_AFTER = 16
MERGES = 800
MERGE_PAUSE = 0.01
PossibleWords = tuple[int, list[SearchWords]]


async def repair_search_each_hour(runtime: Runtime) -> int:
    """Looking for gaps reads the whole index, so once an hour is enough."""
    return await run_every(runtime, "mend_search", HOUR, repair_search)


async def repair_search(runtime: Runtime) -> int:
    """How many entries were indexed; what does not fit into one turn waits for the next."""
    await _empty_old(runtime.db)
    async with runtime.db.read() as tx:
        worn = await search.is_worn(tx)
    if worn:
        await _clear(runtime.db)
    return await _index_missing(runtime.db, most=MAX_A_TURN)


async def rebuild_search(runtime: Runtime) -> int:
    """Build the index anew, all of it; searches find what is in it so far."""
    await _clear(runtime.db)
    return await _index_missing(runtime.db)


async def index_everything(db: Database, tell: Callable[[int], None]) -> int:
    """Add what the index lacks in a database that nobody else uses; `tell` hears how many at a time."""
    return await _index_missing(db, tell=tell, resting=False)


async def reindex(tx: Tx, entry_ids: Sequence[int], before: Sequence[Unindexed] = ()) -> None:
    """Find these few entries by what they say now; what `before` they may have been indexed with goes.

    Their words are made here and not in a thread: a transaction must not wait for one to be free.
    """
    await search.forget(tx, possible_words(entry_ids, before) if before else [])
    await search.index(tx, _said(await texts.indexed_text(tx, entry_ids)))


async def tidy_search(runtime: Runtime) -> int:
    return await _join(runtime.db)


async def yield_to_event_loop(pieces: Batches, db: Database) -> None:
    """Let others write, and now and then join what pieces leave behind in the index.

    SQLite joins no fewer than so many; left alone it would one day join hundreds in one commit.
    """
    await pieces.rest()
    if db.engine == "sqlite" and pieces.written % JOINED_AFTER == 0:
        await _join(db)


async def _join(db: Database) -> int:
    """Join the parts of the search index, a moment at a time, so that others' writes come in between."""
    for rounds in range(MERGES):
        if not await db.write_now(search.merge_some):
            return rounds
        await asyncio.sleep(MERGE_PAUSE)
    return MERGES


async def _clear(db: Database) -> None:
    await _empty_old(db)
    await db.write_now(search.clear)
    await _empty_old(db)


async def _empty_old(db: Database) -> None:
    """What was put aside, also by a process that did not come to its end."""
    more = True
    while more:
        more = await db.write_now(search.empty_some)
        await asyncio.sleep(MERGE_PAUSE if more else 0)


async def _index_missing(
    db: Database,
    *,
    most: int | None = None,
    tell: Callable[[int], None] = lambda _: None,
    resting: bool = True,
) -> int:
    pieces, beyond, indexed = Batches(db), NEWEST, 0
    while most is None or indexed < most:
        async with db.read() as tx:
            missing = await texts.unindexed(tx, AT_ONCE, beyond)
        if not missing:
            break
        waiting = await asyncio.to_thread(_said, missing)
        while waiting:
            piece = pieces.take(waiting, _weigh)
            await pieces.write(partial(search.index_missing, rows=piece))
            if resting:
                await yield_to_event_loop(pieces, db)
        beyond, indexed = (missing[-1].sort_at, missing[-1].id), indexed + len(missing)
        tell(len(missing))
    return indexed


def possible_words(entry_ids: Sequence[int], found: Sequence[Unindexed]) -> list[PossibleWords]:
    """For each entry what it may have been indexed with, in the order found."""
    said: dict[int, list[SearchWords]] = {entry_id: [] for entry_id in entry_ids}
    for one in found:
        said[one.id].append(words_of(one))
    return list(said.items())


def _said(entries: Sequence[Unindexed]) -> list[tuple[int, SearchWords]]:
    return [(one.id, words_of(one)) for one in entries]


def _weigh(said: tuple[int, SearchWords]) -> float:
    return weight_of([said[1]])


def words_of(entry: Unindexed) -> SearchWords:
    return search_words(entry.title, clean_text(entry.content), entry.author)


def weight_of(said: Sequence[SearchWords]) -> float:
    """What it takes to index these, or to take them out."""
    return weight(sum(len(words.text) for words in said))
