"""Search: parsing queries, saved searches, the text to index, ranking, and highlighting matches."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import (
    CJK,
    clean_line,
    fold,
    fold_with_positions,
    index_text,
    is_cjk,
    query_tokens,
    storable,
)
from reedbed.domain.times import DAY, HOUR, Instant, Millis, from_datetime

__all__ = ["Filter", "SearchQuery", "Term", "index_text", "parse_search"]

MAX_TEXT = 1_000
MAX_TERMS = 32

FilterKind = Literal["feed", "folder", "tag", "author", "lang", "is"]


@record
class Term:
    text: str
    """As typed, for highlights."""
    tokens: tuple[str, ...]
    """Must occur one after the other."""
    prefix: bool = False
    """The last token may be the beginning of a word."""
    title_only: bool = False


@record
class Filter:
    kind: FilterKind
    value: str
    """For `is`: unread, read, starred, later or muted. Otherwise as typed."""
    negated: bool = False


@record
class SearchQuery:
    groups: tuple[tuple[Term, ...], ...] = ()
    """Every group must match; a group matches if any of its terms does."""
    excluded: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()
    after: Instant | None = None
    """Inclusive."""
    before: Instant | None = None
    """Exclusive."""

    @property
    def has_words(self) -> bool:
        return bool(self.groups or self.excluded)

    @property
    def is_empty(self) -> bool:
        return not (self.has_words or self.filters) and self.after is None and self.before is None


def parse_search(text: str, now: Instant) -> SearchQuery:
    parser = _QueryParser(now)
    normalized = text[:MAX_TEXT].translate(_QUOTES)
    for token in _TOKEN.finditer(normalized):
        parser.take(token)
    return parser.query()


_QUOTES = str.maketrans("“”„«»", '"""""')
_TOKEN = re.compile(r'(-)?(?:([A-Za-z]{2,8}):(?=[^\s]))?(?:"([^"]*)"?|([^\s"]+))')
_STATES = frozenset({"unread", "read", "starred", "later", "muted"})
_KINDS: dict[str, FilterKind] = {
    "feed": "feed",
    "folder": "folder",
    "tag": "tag",
    "author": "author",
    "lang": "lang",
    "language": "lang",
}


class _QueryParser:
    """Collects the tokens of a query; `joining` is set while an OR waits for its right side."""

    def __init__(self, now: Instant) -> None:
        self.now = now
        self.groups: list[list[Term]] = []
        self.excluded: list[Term] = []
        self.filters: list[Filter] = []
        self.after: Instant | None = None
        self.before: Instant | None = None
        self.joining = False

    def take(self, token: re.Match[str]) -> None:
        minus, operator, phrase, word = token.groups()
        value = word if phrase is None else phrase
        if word == "OR" and not minus and not operator:
            self.joining = bool(self.groups)
        elif not self._apply_operator((operator or "").lower(), value.strip(), negated=bool(minus)):
            whole = f"{operator}:{value}" if operator else value
            self._add_term(whole, negated=bool(minus))

    def query(self) -> SearchQuery:
        return SearchQuery(
            groups=tuple(map(tuple, self.groups)),
            excluded=tuple(self.excluded),
            filters=tuple(self.filters),
            after=self.after,
            before=self.before,
        )

    def _apply_operator(self, operator: str, value: str, *, negated: bool) -> bool:
        """Apply an operator; False if there is no such operator."""
        match operator:
            case "after":
                timestamp = read_moment(value, self.now, operator)
                self.after = timestamp if self.after is None else max(self.after, timestamp)
            case "before":
                timestamp = read_moment(value, self.now, operator)
                self.before = timestamp if self.before is None else min(self.before, timestamp)
            case "title":
                self._add_term(value, negated=negated, title_only=True)
            case "is" if value.lower() in _STATES:
                self._add_filter(Filter("is", value.lower(), negated))
            case _ if value and operator in _KINDS:
                self._add_filter(Filter(_KINDS[operator], value, negated))
            case _:
                return False
        return True

    def _add_filter(self, filter_: Filter) -> None:
        if len(self.filters) < MAX_TERMS and filter_ not in self.filters:
            self.filters.append(filter_)

    def _add_term(self, text: str, *, negated: bool, title_only: bool = False) -> None:
        tokens = query_tokens(text)[:MAX_TERMS]
        if not tokens or len(self.groups) + len(self.excluded) >= MAX_TERMS:
            return
        is_single_char = len(tokens[-1]) == 1 and is_cjk(tokens[-1])
        term = Term(text, tokens, prefix=text.endswith("*") or is_single_char, title_only=title_only)
        if negated:
            self.excluded.append(term)
        elif self.joining and len(self.groups[-1]) < MAX_TERMS:
            self.groups[-1].append(term)
        else:
            self.groups.append([term])
        self.joining = False


def read_moment(text: str, now: Instant, name: str) -> Instant:
    """Parse a day, month, year or RFC 3339 timestamp in UTC, or a time before now: `7d`, `3w`, `today`."""
    word = text.strip().lower()
    midnight = now // DAY * DAY
    if word in ("today", "yesterday"):
        return midnight if word == "today" else midnight - DAY
    span = _SPAN.fullmatch(word)
    if span:
        return now - int(span[1]) * _UNITS[span[2]]
    try:
        return from_datetime(_date(word))
    except (ValueError, OverflowError):
        raise Invalid(
            f'"{text[:40]}" is not a date. '
            f"Write {name}:2026-11-15, {name}:2026-11 or {name}:7d for seven days ago.",
            field="q",
        ) from None


_SPAN = re.compile(r"(\d{1,4})(h|d|w|m|y)", re.ASCII)
_UNITS: dict[str, Millis] = {"h": HOUR, "d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}
_DAY = re.compile(r"(\d{4})(?:[-/.](\d{1,2}))?(?:[-/.](\d{1,2}))?", re.ASCII)


def _date(text: str) -> datetime:
    day = _DAY.fullmatch(text)
    if day:
        return datetime(int(day[1]), int(day[2] or 1), int(day[3] or 1), tzinfo=UTC)
    return datetime.fromisoformat(text.upper())


# --- Saved searches

MAX_NAME_LENGTH = 100
MAX_SEARCHES = 50


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
    """Counting stopped at `count`; there may be more."""


def search_name(text: str) -> str:
    name = clean_line(text)
    if not name:
        raise Invalid("A saved search needs a name.", field="name")
    if len(name) > MAX_NAME_LENGTH:
        raise Invalid(f"The name may have at most {MAX_NAME_LENGTH} characters.", field="name")
    return name


def search_text(text: str, now: Instant) -> str:
    query = " ".join(storable(text).split())
    if len(query) > MAX_TEXT:
        raise Invalid(f"A search may have at most {MAX_TEXT} characters.", field="query")
    if parse_search(query, now).is_empty:
        raise Invalid("Say what to search for: words, or a filter such as is:starred.", field="query")
    return query


# --- Indexing

MAX_INDEXED_TEXT = 100_000
"""Indexed characters per entry. PostgreSQL rejects a tsvector of a megabyte or more."""
_MAX_FOLDED_LENGTH = 120_000
_MAX_WORD_LENGTH = 200
_LONG_WORD = re.compile(rf"(\w{{{_MAX_WORD_LENGTH}}})\w+")


class SearchWords(NamedTuple):
    """Folded text: only words and spaces. A tuple for speed, because every new entry creates one."""

    title: str = ""
    text: str = ""
    author: str = ""


def search_words(title: str, text: str, author: str | None = None) -> SearchWords:
    return SearchWords(_folded(title), _folded(text), _folded(author or ""))


def _folded(text: str) -> str:
    folded = index_text(text[:MAX_INDEXED_TEXT])[:_MAX_FOLDED_LENGTH]
    return _LONG_WORD.sub(r"\1", folded) if _has_long_word(folded) else folded


def _has_long_word(folded: str) -> bool:
    """Jumps from space to space; the regex would try every letter of every word."""
    start = 0
    while len(folded) - start > _MAX_WORD_LENGTH:
        space = folded.rfind(" ", start, start + _MAX_WORD_LENGTH + 1)
        if space < 0:
            return True
        start = space + 1
    return False


# --- Ranking

_TITLE_SCORE, _AUTHOR_SCORE, _LEAD_SCORE = 4.0, 2.0, 1.0
_ALL_IN_TITLE_SCORE = 3.0
_FRESHNESS = 1.0
_FRESHNESS_HALF_LIFE = 30 * DAY


@record
class RankCandidate:
    id: int
    sort_at: Instant
    title: str
    summary: str
    author: str | None


def ranked(candidates: Iterable[RankCandidate], query: SearchQuery, now: Instant) -> list[int]:
    """The ids, best match first, then newest."""
    groups = [tuple(map(_search_string, group)) for group in query.groups]
    scored = [(_score(candidate, groups, now), candidate.sort_at, candidate.id) for candidate in candidates]
    return [entry_id for _, _, entry_id in sorted(scored, reverse=True)]


def _search_string(term: Term) -> str:
    tokens = " ".join(term.tokens)
    return f" {tokens}" if term.prefix else f" {tokens} "


def _score(candidate: RankCandidate, groups: list[tuple[str, ...]], now: Instant) -> float:
    title, lead = _padded(candidate.title), _padded(candidate.summary)
    author = _padded(candidate.author or "")
    in_title = [any(search_string in title for search_string in group) for group in groups]
    score = _ALL_IN_TITLE_SCORE if groups and all(in_title) else 0.0
    for matched, group in zip(in_title, groups, strict=True):
        score += _TITLE_SCORE * matched
        score += _LEAD_SCORE * any(search_string in lead for search_string in group)
        score += _AUTHOR_SCORE * any(search_string in author for search_string in group)
    age = max(now - candidate.sort_at, 0)
    return score + _FRESHNESS / (1 + age / _FRESHNESS_HALF_LIFE)


def _padded(text: str) -> str:
    return f" {' '.join(index_text(text).split())} "


# --- Highlighting

Span = tuple[int, int]

MAX_READ = 20_000
_EXCERPT_LEAD = 60
_VISIBLE = 80
"""Characters visible in a list row on a phone; the excerpt starts at a match beyond them."""

_NOT_AFTER_LETTER = f"(?<![^\\W{CJK}])"
_NOT_BEFORE_LETTER = f"(?![^\\W{CJK}])"


@record
class Excerpt:
    text: str
    spans: tuple[Span, ...]
    """Half-open, sorted, disjoint ranges of `text` to highlight."""


def highlight(text: str, query: SearchQuery) -> tuple[Span, ...]:
    """The ranges of `text` (its first 20,000 characters) that match the query."""
    pattern = _pattern(query)
    return () if pattern is None else _spans(text[:MAX_READ], pattern)


def shows(text: str, query: SearchQuery) -> bool:
    """Whether `highlight` would return a range."""
    pattern = _pattern(query)
    return pattern is not None and pattern.search(fold(text[:MAX_READ])) is not None


def excerpt(text: str, query: SearchQuery, length: int = 300) -> Excerpt:
    """About `length` characters around the first match, cut between words; without a match the beginning."""
    pattern = _pattern(query)
    start = _start(text, pattern) if pattern else 0
    end = _word_end(text, start, start + length)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    excerpt_text = f"{before}{text[start:end]}{after}"
    return Excerpt(excerpt_text, _spans(excerpt_text, pattern) if pattern else ())


def _start(text: str, pattern: re.Pattern[str]) -> int:
    """Near the first match. Folding shifts it by a few letters; the lead makes up for that."""
    hit = pattern.search(fold(text[:MAX_READ]))
    return 0 if hit is None or hit.end() <= _VISIBLE else _word_start(text, hit.start() - _EXCERPT_LEAD)


def _spans(text: str, pattern: re.Pattern[str]) -> tuple[Span, ...]:
    folded, positions = fold_with_positions(text)
    spans = ((positions[hit.start()], positions[hit.end() - 1] + 1) for hit in pattern.finditer(folded))
    return tuple(_joined(spans))


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
    is_prefix = term.prefix or is_cjk(words[-1][-1])
    last = (
        "[^\\W_]*" if term.prefix and not is_cjk(words[-1][-1]) else "" if is_prefix else _NOT_BEFORE_LETTER
    )
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
    space = text.find(" ", near, near + _EXCERPT_LEAD // 2)
    return near if space < 0 else space + 1


def _word_end(text: str, start: int, near: int) -> int:
    if near >= len(text):
        return len(text)
    space = text.rfind(" ", max(start, near - _EXCERPT_LEAD // 2), near)
    return near if space < 0 else space
