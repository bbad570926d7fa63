"""Saved searches, their entries and how many of these are unread."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.pagination import DEFAULT_LIMIT, Cursor
from reedbed.domain.search.query import MAX_SEARCHES, SavedSearch, UnreadMatches, parse_search, search_name, search_text
from reedbed.ingest.text import clean_text
from reedbed.services.live import publish_counts
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import SearchOrder, SearchPage, search_entries
from reedbed.services.search.forms import find_forms
from reedbed.store import search
from reedbed.store.engine.database import Tx
from reedbed.store.search import SearchFilter
from reedbed.store.search import saved as searches

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
            raise Conflict("There can be at most %(limit)s saved searches. Delete some first.", limit=MAX_SEARCHES)
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
    return await search_entries(runtime, user_id, saved.query, within=within, order=order, cursor=cursor, limit=limit)


async def unread_matches(runtime: Runtime, user_id: int, saved: Sequence[SavedSearch]) -> dict[int, UnreadMatches]:
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
    query = await find_forms(tx, query)
    matches = await search.find(tx, user_id, query, filters, read=clean_text, limit=MAX_COUNTED)
    return UnreadMatches(len(matches.ids), more=matches.next is not None)


async def _get(tx: Tx, user_id: int, search_id: int) -> SavedSearch:
    saved = await searches.get(tx, user_id, search_id)
    if saved is None:
        raise NotFound(NO_SUCH)
    return saved
