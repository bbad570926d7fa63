"""Suggestions while a search is typed, and what a search with few matches may have meant."""

from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.search.forms import words_with_forms
from reedbed.domain.search.query import CHOICES, Filter, SearchQuery, parse_search
from reedbed.domain.search.suggestions import (
    NAMED,
    Suggestion,
    TypedQuery,
    corrected_filters,
    corrected_words,
    kinds_to_read,
    most_alike,
    suggest,
    typed_query,
)
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import find_forms
from reedbed.store import search
from reedbed.store.engine.database import Tx
from reedbed.store.search import SearchFilter, forms, names
from reedbed.store.search import saved as searches

MAX_COUNTED = 500
"""Matches of the rest of the search that are counted for its feeds, folders and tags."""
MAX_READ = 1_000
"""Words of the vocabulary that are compared with one that is not in it."""
MAX_CORRECTED = 4
_MIN_LENGTH = 4


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


async def did_you_mean(
    tx: Tx, runtime: Runtime, user_id: int, text: str, query: SearchQuery, view: ViewQuery, unknown: tuple[Filter, ...]
) -> str:
    """A search that finds something, with misspelt words, operators and names put right; empty if there is none.

    A state that does not exist is put right in any case.
    """
    kinds = {filter_.kind for filter_ in unknown} & set(NAMED)
    corrected = corrected_filters(text, unknown, await names.of_user(tx, user_id, list(kinds)))
    is_state = bool(unknown) and all(filter_.kind in CHOICES for filter_ in unknown)
    otherwise = corrected if is_state and corrected != " ".join(text.split()) else ""
    misspelt = {
        word: meant
        for word, meant in (await _corrections(tx, query)).items()
        if not await _finds_any(tx, runtime, user_id, f"={word}", ViewQuery())
    }
    corrected = corrected_words(corrected, misspelt)
    if corrected == " ".join(text.split()):
        return ""
    return corrected if await _finds_any(tx, runtime, user_id, corrected, view) else otherwise


async def _corrections(tx: Tx, query: SearchQuery) -> dict[str, str]:
    """The most alike word for each word that is not in the vocabulary.

    That lacks words of texts in an unknown language.
    """
    expanded = await find_forms(tx, query)
    having_forms = {
        group[0].tokens[0] for group in expanded.groups if any(term.is_form for term in group) and group[0].tokens
    }
    missing = [word for word in words_with_forms(query) if len(word) >= _MIN_LENGTH and word not in having_forms]
    corrections: dict[str, str] = {}
    for word in missing[:MAX_CORRECTED]:
        nearby = [
            candidate
            for prefix in dict.fromkeys((word[:2], word[1::-1]))
            for candidate in await forms.beginning_with(
                tx, prefix, shortest=len(word) - 2, longest=len(word) + 2, limit=MAX_READ
            )
        ]
        if word not in nearby and (alike := most_alike(word, nearby)):
            corrections[word] = alike[0]
    return corrections


async def _finds_any(tx: Tx, runtime: Runtime, user_id: int, text: str, view: ViewQuery) -> bool:
    """The vocabulary is that of all users: only what this user finds may be shown."""
    try:
        query = parse_search(text, runtime.now())
    except Invalid:
        return False
    list_filter = await search.narrow(tx, user_id, query, view)
    if not isinstance(list_filter, SearchFilter):
        return False
    query = await find_forms(tx, query)
    return bool((await search.find(tx, user_id, query, list_filter, read=clean_text, limit=1)).ids)
