"""Saved searches: kept, ordered, counted, and shown as lists."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.paging import DEFAULT_LIMIT, Cursor
from reedbed.domain.search import parse_search
from reedbed.domain.searches import MOST_SEARCHES, SavedSearch, UnreadMatches, search_name, search_text
from reedbed.ingest.text import clean_text
from reedbed.services.announcing import announce_counts
from reedbed.services.runtime import Runtime
from reedbed.services.search import SearchOrder, SearchPage, search_entries
from reedbed.store import search, searches
from reedbed.store.database import Tx
from reedbed.store.search import Narrow

NO_SUCH = "There is no such saved search"
NAME_TAKEN = "You have a saved search of this name already"

MOST_COUNTED = 500
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
        if await searches.count(tx, user_id) >= MOST_SEARCHES:
            raise Conflict(f"There can be at most {MOST_SEARCHES} saved searches. Delete some first.")
        saved = await searches.add(tx, user_id, tidy_name, tidy_query, runtime.now())
    if saved is None:
        raise Conflict(NAME_TAKEN, field="name")
    await announce_counts(runtime, user_id)
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
    await announce_counts(runtime, user_id)
    return changed


async def reorder_searches(runtime: Runtime, user_id: int, search_ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        known = {saved.id for saved in await searches.of_user(tx, user_id)}
        if known != set(search_ids) or len(search_ids) != len(known):
            raise Invalid("Name every saved search once, in the new order.", field="ids")
        await searches.place(tx, user_id, search_ids)
    await announce_counts(runtime, user_id)


async def delete_search(runtime: Runtime, user_id: int, search_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await searches.remove(tx, user_id, search_id):
            raise NotFound(NO_SUCH)
    await announce_counts(runtime, user_id)


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
    if not isinstance(narrowed, Narrow):
        return UnreadMatches(0, more=False)
    found = await search.find(tx, user_id, query, narrowed, read=clean_text, limit=MOST_COUNTED)
    return UnreadMatches(len(found.ids), more=found.next is not None)


async def _get(tx: Tx, user_id: int, search_id: int) -> SavedSearch:
    saved = await searches.get(tx, user_id, search_id)
    if saved is None:
        raise NotFound(NO_SUCH)
    return saved
