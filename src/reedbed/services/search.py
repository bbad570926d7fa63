"""Search: queries, saved searches, and the upkeep of the search index.

Missing entries are added to the index, newest first; a fragmented index is rebuilt. Both happen in small
batches, so that other writes never wait long.
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
from reedbed.store.search import MatchingIds, NoSuchList, SearchFilter, texts
from reedbed.store.search import saved as searches
from reedbed.store.search.texts import NEWEST, IndexedText

SearchOrder = Literal["newest", "oldest", "relevance"]

RANKED = 500
"""Only this many of the newest matches are ranked by relevance."""
SECONDS = 5.0
NEXT_PAGE_FACTOR, THOROUGH_FACTOR = 5, 20
"""Factors on the number of rows that may be scanned for one page. Later pages scan more, because the first
showed that matches are sparse; a thorough search needs all matches."""


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
    """Search the entries this user can see. A short or empty page may still have a next one."""
    query, view = parse_search(text, runtime.now()), within or ViewQuery()
    _check_cursor(cursor)
    if query.is_empty and text.strip():
        return SearchPage((), None, {})  # only punctuation: the index has no words to match
    # Every page of a ranking must rank the same set of matches.
    thorough = thorough or order == "relevance"
    options = _SearchOptions(
        order, cursor, limit, THOROUGH_FACTOR if thorough else NEXT_PAGE_FACTOR if cursor else 1
    )
    try:
        async with asyncio.timeout(SECONDS), runtime.db.read() as tx:
            filters = await _resolve_filters(tx, user_id, query, view)
            unknown = await search.unknown_names(tx, user_id, query) if filters is None else ()
            matches = await _find(tx, runtime, user_id, query, filters, options)
            rows = await entries.rows_by_ids(tx, user_id, list(matches.ids)) if matches.ids else []
            markup = await _markup(tx, rows, query)
    except TimeoutError:
        raise TooSlow(
            "This search takes too long. Narrow it by a feed, a folder or a date, such as after:30d."
        ) from None
    matched = {row.id: _matched(row, markup.get(row.id), query) for row in rows}
    return SearchPage(tuple(rows), matches.next, matched, unknown)


def _check_cursor(cursor: Cursor | None) -> None:
    if cursor is not None and not (LOWEST < cursor.sort_at < HIGHEST and cursor.id < HIGHEST):
        raise Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")


async def _resolve_filters(tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery) -> SearchFilter | None:
    filters = await search.narrow(tx, user_id, query, view)
    if isinstance(filters, NoSuchList):
        raise NotFound("There is no such feed or folder")
    return filters


async def _find(
    tx: Tx,
    runtime: Runtime,
    user_id: int,
    query: SearchQuery,
    filters: SearchFilter | None,
    options: _SearchOptions,
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


async def _markup(tx: Tx, rows: Sequence[EntryRow], query: SearchQuery) -> dict[int, str]:
    """The bodies of entries whose preview does not contain a match."""
    ids = [row.id for row in rows if query.groups and not shows(row.summary, query)]
    return await texts.bodies(tx, ids) if ids else {}


def _matched(row: EntryRow, markup: str | None, query: SearchQuery) -> Matched:
    text = row.summary if markup is None else clean_text(markup)
    return Matched(highlight(row.title, query), excerpt(" ".join(text.split()), query))


# --- Saved searches

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
    normalized_name, normalized_query = search_name(name), search_text(query, runtime.now())
    async with runtime.db.write() as tx:
        if await searches.count(tx, user_id) >= MAX_SEARCHES:
            raise Conflict(f"There can be at most {MAX_SEARCHES} saved searches. Delete some first.")
        saved = await searches.add(tx, user_id, normalized_name, normalized_query, runtime.now())
    if saved is None:
        raise Conflict(NAME_TAKEN, field="name")
    await publish_counts(runtime, user_id)
    return saved


async def change_search(
    runtime: Runtime, user_id: int, search_id: int, *, name: str | None = None, query: str | None = None
) -> SavedSearch:
    """Change the name, the query or both."""
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
        saved_ids = {saved.id for saved in await searches.of_user(tx, user_id)}
        if saved_ids != set(search_ids) or len(search_ids) != len(saved_ids):
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
    """One page of the matches of a saved search."""
    saved = await get_search(runtime, user_id, search_id)
    return await search_entries(
        runtime, user_id, saved.query, within=within, order=order, cursor=cursor, limit=limit
    )


async def unread_matches(
    runtime: Runtime, user_id: int, saved: Sequence[SavedSearch]
) -> dict[int, UnreadMatches]:
    """The number of unread matches by search id, without those that could not be counted in time."""
    counts: dict[int, UnreadMatches] = {}
    try:
        async with asyncio.timeout(COUNT_SECONDS), runtime.db.read() as tx:
            for saved_search in saved:
                counts[saved_search.id] = await _count(runtime, tx, user_id, saved_search)
    except TimeoutError:
        return counts
    return counts


async def _count(runtime: Runtime, tx: Tx, user_id: int, saved: SavedSearch) -> UnreadMatches:
    query = parse_search(saved.query, runtime.now())
    filters = await search.narrow(tx, user_id, query, ViewQuery("unread"))
    if not isinstance(filters, SearchFilter):
        return UnreadMatches(0, more=False)
    matches = await search.find(tx, user_id, query, filters, read=clean_text, limit=MAX_COUNTED)
    return UnreadMatches(len(matches.ids), more=matches.next is not None)


async def _get(tx: Tx, user_id: int, search_id: int) -> SavedSearch:
    saved = await searches.get(tx, user_id, search_id)
    if saved is None:
        raise NotFound(NO_SUCH)
    return saved


# --- Index upkeep

AT_ONCE = 100
"""Texts read in one query."""
MAX_INDEXED_PER_RUN = 20_000
MERGE_AFTER_BATCHES = 16
MERGES = 800
MERGE_PAUSE = 0.01
PossibleWords = tuple[int, list[SearchWords]]


async def repair_search_each_hour(runtime: Runtime) -> int:
    """Finding missing entries reads the whole index, so once an hour is enough."""
    return await run_every(runtime, "mend_search", HOUR, repair_search)


async def repair_search(runtime: Runtime) -> int:
    """Index up to `MAX_INDEXED_PER_RUN` missing entries and return how many; the next run continues."""
    await _empty_old_index(runtime.db)
    async with runtime.db.read() as tx:
        worn = await search.index_needs_rebuild(tx)
    if worn:
        await _clear_index(runtime.db)
    return await _index_missing(runtime.db, limit=MAX_INDEXED_PER_RUN)


async def rebuild_search(runtime: Runtime) -> int:
    """Rebuild the whole index. Until it is complete, searches find only what is indexed so far."""
    await _clear_index(runtime.db)
    return await _index_missing(runtime.db)


async def index_everything(db: Database, tell: Callable[[int], None]) -> int:
    """Index all missing entries of a database that nobody else uses; `tell` gets the size of each batch."""
    return await _index_missing(db, on_indexed=tell, pausing=False)


async def reindex(tx: Tx, entry_ids: Sequence[int], before: Sequence[IndexedText] = ()) -> None:
    """Index the current text of a few entries and remove `before`, the texts they may be indexed with.

    The words are computed here and not in a thread: a transaction must not wait for a free thread.
    """
    await search.forget(tx, possible_words(entry_ids, before) if before else [])
    await search.index(tx, _words_by_entry(await texts.indexed_text(tx, entry_ids)))


async def merge_search_index(runtime: Runtime) -> int:
    return await _merge_index(runtime.db)


async def pause_between_batches(batches: Batches, db: Database) -> None:
    """Let others write, and after every few batches merge the segments that they added to the index.

    SQLite merges only from a certain number of segments on; left alone it would merge hundreds in one commit.
    """
    await batches.rest()
    if db.engine == "sqlite" and batches.written % MERGE_AFTER_BATCHES == 0:
        await _merge_index(db)


async def _merge_index(db: Database) -> int:
    """Merge the segments of the search index in short steps, so that other writes come in between."""
    for rounds in range(MERGES):
        if not await db.write_now(search.merge_index_batch):
            return rounds
        await asyncio.sleep(MERGE_PAUSE)
    return MERGES


async def _clear_index(db: Database) -> None:
    await _empty_old_index(db)
    await db.write_now(search.clear)
    await _empty_old_index(db)


async def _empty_old_index(db: Database) -> None:
    """Empty the index that was replaced, also one that a process left behind when it died."""
    more = True
    while more:
        more = await db.write_now(search.delete_old_index_batch)
        await asyncio.sleep(MERGE_PAUSE if more else 0)


async def _index_missing(
    db: Database,
    *,
    limit: int | None = None,
    on_indexed: Callable[[int], None] = lambda _: None,
    pausing: bool = True,
) -> int:
    batches, after, indexed = Batches(db), NEWEST, 0
    while limit is None or indexed < limit:
        async with db.read() as tx:
            missing = await texts.unindexed(tx, AT_ONCE, after)
        if not missing:
            break
        waiting = await asyncio.to_thread(_words_by_entry, missing)
        while waiting:
            batch = batches.take(waiting, _index_cost)
            await batches.write(partial(search.index_missing, rows=batch))
            if pausing:
                await pause_between_batches(batches, db)
        after, indexed = (missing[-1].sort_at, missing[-1].id), indexed + len(missing)
        on_indexed(len(missing))
    return indexed


def possible_words(entry_ids: Sequence[int], indexed_texts: Sequence[IndexedText]) -> list[PossibleWords]:
    """For each entry, the words it may have been indexed with."""
    words: dict[int, list[SearchWords]] = {entry_id: [] for entry_id in entry_ids}
    for text in indexed_texts:
        words[text.id].append(words_of(text))
    return list(words.items())


def _words_by_entry(entries: Sequence[IndexedText]) -> list[tuple[int, SearchWords]]:
    return [(entry.id, words_of(entry)) for entry in entries]


def _index_cost(indexed: tuple[int, SearchWords]) -> float:
    return weight_of([indexed[1]])


def words_of(entry: IndexedText) -> SearchWords:
    return search_words(entry.title, clean_text(entry.content), entry.author)


def weight_of(word_lists: Sequence[SearchWords]) -> float:
    """The cost of adding these to the index or removing them."""
    return weight(sum(len(words.text) for words in word_lists))
