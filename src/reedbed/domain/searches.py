"""Saved searches: a search with a name, shown like a list."""

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.search import MAX_TEXT, parse_search
from reedbed.domain.texts import shown_line, storable
from reedbed.domain.times import Instant

LONGEST_NAME = 100
MOST_SEARCHES = 50


@record
class SavedSearch:
    id: int
    name: str
    query: str
    position: int
    created_at: Instant


@record
class UnreadMatches:
    count: int
    more: bool
    """There are at least so many, and counting stopped."""


def search_name(text: str) -> str:
    name = shown_line(text)
    if not name:
        raise Invalid("A saved search needs a name.", field="name")
    if len(name) > LONGEST_NAME:
        raise Invalid(f"The name may have at most {LONGEST_NAME} characters.", field="name")
    return name


def search_text(text: str, now: Instant) -> str:
    query = " ".join(storable(text).split())
    if len(query) > MAX_TEXT:
        raise Invalid(f"A search may have at most {MAX_TEXT} characters.", field="query")
    if parse_search(query, now).is_empty:
        raise Invalid("Say what to search for: words, or a filter such as is:starred.", field="query")
    return query
