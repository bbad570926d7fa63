"""Where a text matches a search, and the part of it worth showing."""

import re
from collections.abc import Iterable
from functools import lru_cache

from reedbed.domain.folding import CJK, fold, fold_with_places, is_cjk
from reedbed.domain.records import record
from reedbed.domain.search import SearchQuery, Term

Span = tuple[int, int]

MAX_READ = 20_000
_LEAD = 60
_SEEN = 80
"""Characters that a row of a list has room for on a phone; a match beyond them moves to the front."""

_NOT_AFTER_LETTER = f"(?<![^\\W{CJK}])"
_NOT_BEFORE_LETTER = f"(?![^\\W{CJK}])"


@record
class Excerpt:
    text: str
    spans: tuple[Span, ...]
    """Half-open ranges of `text` to mark, in order, apart from each other."""


def highlight(text: str, query: SearchQuery) -> tuple[Span, ...]:
    """The ranges of `text` (its first 20,000 characters) that the search asked for."""
    pattern = _pattern(query)
    return () if pattern is None else _spans(text[:MAX_READ], pattern)


def shows(text: str, query: SearchQuery) -> bool:
    """Whether `highlight` would find something."""
    pattern = _pattern(query)
    return pattern is not None and pattern.search(fold(text[:MAX_READ])) is not None


def excerpt(text: str, query: SearchQuery, length: int = 300) -> Excerpt:
    """About `length` characters around the first match, cut between words; else the beginning."""
    pattern = _pattern(query)
    start = _start(text, pattern) if pattern else 0
    end = _word_end(text, start, start + length)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shown = f"{before}{text[start:end]}{after}"
    return Excerpt(shown, _spans(shown, pattern) if pattern else ())


def _start(text: str, pattern: re.Pattern[str]) -> int:
    """Near the first match. Folding moves it by a letter here and there, which the lead makes good."""
    hit = pattern.search(fold(text[:MAX_READ]))
    return 0 if hit is None or hit.end() <= _SEEN else _word_start(text, hit.start() - _LEAD)


def _spans(text: str, pattern: re.Pattern[str]) -> tuple[Span, ...]:
    folded, places = fold_with_places(text)
    found = ((places[hit.start()], places[hit.end() - 1] + 1) for hit in pattern.finditer(folded))
    return tuple(_joined(found))


@lru_cache(maxsize=64)
def _pattern(query: SearchQuery) -> re.Pattern[str] | None:
    terms = (term for group in query.groups for term in group)
    alternatives = sorted({part for term in terms if (part := _term_pattern(term))}, key=len, reverse=True)
    return re.compile("|".join(alternatives)) if alternatives else None


def _term_pattern(term: Term) -> str:
    words = fold(term.text).split()
    if not words:
        return ""
    first = "" if is_cjk(words[0][0]) else _NOT_AFTER_LETTER
    goes_on = term.prefix or is_cjk(words[-1][-1])
    last = "[^\\W_]*" if term.prefix and not is_cjk(words[-1][-1]) else "" if goes_on else _NOT_BEFORE_LETTER
    return f"{first}{' +'.join(map(re.escape, words))}{last}"


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _word_start(text: str, near: int) -> int:
    if near <= 0:
        return 0
    blank = text.find(" ", near, near + _LEAD // 2)
    return near if blank < 0 else blank + 1


def _word_end(text: str, start: int, near: int) -> int:
    if near >= len(text):
        return len(text)
    blank = text.rfind(" ", max(start, near - _LEAD // 2), near)
    return near if blank < 0 else blank
