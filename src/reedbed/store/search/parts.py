"""The words of a search, apart from its filters: what the index of either engine is asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reedbed.domain.folding import is_cjk, query_tokens
from reedbed.domain.search import SearchQuery, Term

Column = Literal["title", "author"]

SHORTEST_PREFIX = 3
"""Either engine gathers all that begins so: `a*` is a tenth of the index. East Asian signs begin less."""


@dataclass(frozen=True, slots=True)
class Part:
    tokens: tuple[str, ...]
    """One after the other, in the same column."""
    prefix: bool = False
    column: Column | None = None


@dataclass(frozen=True, slots=True)
class Words:
    groups: tuple[tuple[Part, ...], ...]
    """Every group must match, by any of its parts."""
    excluded: tuple[Part, ...]


def words_of(query: SearchQuery) -> Words:
    return Words(
        groups=(*(tuple(map(_part, group)) for group in query.groups), *_authors(query, negated=False)),
        excluded=(
            *map(_part, query.excluded),
            *(part for group in _authors(query, negated=True) for part in group),
        ),
    )


def _part(term: Term) -> Part:
    return Part(term.tokens, _may_go_on(term), "title" if term.title_only else None)


def _may_go_on(term: Term) -> bool:
    last = term.tokens[-1]
    return term.prefix and (len(last) >= SHORTEST_PREFIX or is_cjk(last))


def _authors(query: SearchQuery, *, negated: bool) -> Iterator[tuple[Part]]:
    for wanted in query.filters:
        tokens = query_tokens(wanted.value)
        if wanted.kind == "author" and wanted.negated == negated and tokens:
            yield (Part(tokens, wanted.value.endswith("*"), "author"),)
