"""Suggestions while a search is typed."""

from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.search.query import parse_search
from reedbed.domain.search.suggestions import NAMED, Suggestion, TypedQuery, kinds_to_read, suggest, typed_query
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import find_forms
from reedbed.store import search
from reedbed.store.engine.database import Tx
from reedbed.store.search import SearchFilter, names
from reedbed.store.search import saved as searches

MAX_COUNTED = 500
"""Matches of the rest of the search that are counted for its feeds, folders and tags."""


async def suggest_searches(runtime: Runtime, user_id: int, text: str) -> list[Suggestion]:
    """What the search may go on with, best first."""
    typed = typed_query(text)
    async with runtime.db.read() as tx:
        known = await names.of_user(tx, user_id, kinds_to_read(typed))
        saved = await searches.of_user(tx, user_id) if not typed.operator else []
        suggestions = suggest(typed, known, saved)
        return await _counted(tx, runtime, user_id, typed, suggestions)


async def _counted(
    tx: Tx, runtime: Runtime, user_id: int, typed: TypedQuery, suggestions: Sequence[Suggestion]
) -> list[Suggestion]:
    """How many matches each feed, folder or tag has: one bounded search answers that for all of them."""
    kinds = {suggestion.kind for suggestion in suggestions} & set(NAMED)
    if not kinds or typed.minus:
        return list(suggestions)
    try:
        query = parse_search(typed.before, runtime.now())
    except Invalid:
        return list(suggestions)
    list_filter = None if query.is_empty else await search.narrow(tx, user_id, query, ViewQuery())
    if not isinstance(list_filter, SearchFilter):
        return list(suggestions)
    query = await find_forms(tx, query)
    matches = await search.find(tx, user_id, query, list_filter, read=clean_text, limit=MAX_COUNTED)
    counts = {kind: await names.count(tx, user_id, kind, matches.ids) for kind in kinds}
    return [
        replace(suggestion, entries=counts[suggestion.kind].get(suggestion.id or 0, 0), more=matches.next is not None)
        if suggestion.kind in counts
        else suggestion
        for suggestion in suggestions
    ]
