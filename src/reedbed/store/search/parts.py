"""The words of a search, apart from its filters: what the index of either engine is asked."""

from collections.abc import Container, Iterator
from typing import Literal

from reedbed.domain.folding import query_tokens
from reedbed.domain.records import record
from reedbed.domain.search import SearchQuery, Term
from reedbed.domain.search_words import SearchWords

Column = Literal["title", "author"]


@record
class Part:
    tokens: tuple[str, ...]
    """One after the other, in the same column."""
    prefix: bool = False
    column: Column | None = None


@record
class Words:
    groups: tuple[tuple[Part, ...], ...]
    """Every group must match, by any of its parts."""
    excluded: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*(part for group in self.groups for part in group), *self.excluded)

    def __bool__(self) -> bool:
        return bool(self.groups or self.excluded)

    def split(self, apart: Container[Part]) -> tuple["Words", "Words"]:
        """Those that need none of these parts, and the others."""
        dear = [any(part in apart for part in group) for group in self.groups]
        kept = tuple(group for group, is_dear in zip(self.groups, dear, strict=True) if not is_dear)
        moved = tuple(group for group, is_dear in zip(self.groups, dear, strict=True) if is_dear)
        return (
            Words(kept, tuple(part for part in self.excluded if part not in apart)),
            Words(moved, tuple(part for part in self.excluded if part in apart)),
        )

    def match(self, text: SearchWords) -> bool:
        """Whether the index would find these words in it."""
        columns = {"title": _padded(text.title), "author": _padded(text.author)}
        everywhere = [*columns.values(), _padded(text.text)]

        def has(part: Part) -> bool:
            needle = f" {' '.join(part.tokens)}{'' if part.prefix else ' '}"
            return any(needle in column for column in ([columns[part.column]] if part.column else everywhere))

        return all(any(map(has, group)) for group in self.groups) and not any(map(has, self.excluded))


NO_WORDS = Words((), ())


def words_of(query: SearchQuery) -> Words:
    return Words(
        groups=(*(tuple(map(_part, group)) for group in query.groups), *_authors(query, negated=False)),
        excluded=(
            *map(_part, query.excluded),
            *(part for group in _authors(query, negated=True) for part in group),
        ),
    )


def _padded(text: str) -> str:
    return f" {' '.join(text.split())} "


def _part(term: Term) -> Part:
    return Part(term.tokens, term.prefix, "title" if term.title_only else None)


def _authors(query: SearchQuery, *, negated: bool) -> Iterator[tuple[Part]]:
    for wanted in query.filters:
        tokens = query_tokens(wanted.value)
        if wanted.kind == "author" and wanted.negated == negated and tokens:
            yield (Part(tokens, wanted.value.endswith("*"), "author"),)
