"""The search language: what a person types becomes a value that both engines answer.

    words "a phrase" -without pref* this OR that title:word author:name
    feed:name folder:name tag:name is:unread is:starred lang:de after:2026-11-01 before:7d

Anything is a search: what makes no sense is taken as words. Only a date that cannot be read is refused,
because a silently dropped one would show the wrong entries.
"""

import re
from datetime import UTC, datetime
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.folding import index_text, is_cjk, query_tokens
from reedbed.domain.records import record
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
    """To be met one after the other."""
    prefix: bool = False
    """The last token may go on."""
    title_only: bool = False


@record
class Filter:
    kind: FilterKind
    value: str
    """For `is`: unread, read, starred, later or muted. Else as typed."""
    negated: bool = False


@record
class SearchQuery:
    groups: tuple[tuple[Term, ...], ...] = ()
    """Every group must match, by any of its terms."""
    excluded: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()
    after: Instant | None = None
    """At or after this moment."""
    before: Instant | None = None
    """Strictly before it."""

    @property
    def has_words(self) -> bool:
        return bool(self.groups or self.excluded)

    @property
    def is_empty(self) -> bool:
        return not (self.has_words or self.filters) and self.after is None and self.before is None


def parse_search(text: str, now: Instant) -> SearchQuery:
    reader = _Reader(now)
    tidy = text[:MAX_TEXT].translate(_QUOTES)
    for piece in _PIECE.finditer(tidy):
        reader.take(piece)
    return reader.query()


_QUOTES = str.maketrans("“”„«»", '"""""')
_PIECE = re.compile(r'(-)?(?:([A-Za-z]{2,8}):(?=[^\s]))?(?:"([^"]*)"?|([^\s"]+))')
_STATES = frozenset({"unread", "read", "starred", "later", "muted"})
_KINDS: dict[str, FilterKind] = {
    "feed": "feed",
    "folder": "folder",
    "tag": "tag",
    "author": "author",
    "lang": "lang",
    "language": "lang",
}


class _Reader:
    """One walk over the pieces of a search; `joining` while an OR waits for its right side."""

    def __init__(self, now: Instant) -> None:
        self.now = now
        self.groups: list[list[Term]] = []
        self.excluded: list[Term] = []
        self.filters: list[Filter] = []
        self.after: Instant | None = None
        self.before: Instant | None = None
        self.joining = False

    def take(self, piece: re.Match[str]) -> None:
        minus, operator, phrase, word = piece.groups()
        value = word if phrase is None else phrase
        if word == "OR" and not minus and not operator:
            self.joining = bool(self.groups)
        elif not self._operate((operator or "").lower(), value.strip(), negated=bool(minus)):
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

    def _operate(self, operator: str, value: str, *, negated: bool) -> bool:
        """Whether the piece was an operator and is dealt with."""
        match operator:
            case "after":
                moment = read_moment(value, self.now, operator)
                self.after = moment if self.after is None else max(self.after, moment)
            case "before":
                moment = read_moment(value, self.now, operator)
                self.before = moment if self.before is None else min(self.before, moment)
            case "title":
                self._add_term(value, negated=negated, title_only=True)
            case "is" if value.lower() in _STATES:
                self._add_filter(Filter("is", value.lower(), negated))
            case _ if value and operator in _KINDS:
                self._add_filter(Filter(_KINDS[operator], value, negated))
            case _:
                return False
        return True

    def _add_filter(self, wanted: Filter) -> None:
        if len(self.filters) < MAX_TERMS and wanted not in self.filters:
            self.filters.append(wanted)

    def _add_term(self, text: str, *, negated: bool, title_only: bool = False) -> None:
        tokens = query_tokens(text)[:MAX_TERMS]
        if not tokens or len(self.groups) + len(self.excluded) >= MAX_TERMS:
            return
        one_sign = len(tokens[-1]) == 1 and is_cjk(tokens[-1])
        term = Term(text, tokens, prefix=text.endswith("*") or one_sign, title_only=title_only)
        if negated:
            self.excluded.append(term)
        elif self.joining and len(self.groups[-1]) < MAX_TERMS:
            self.groups[-1].append(term)
        else:
            self.groups.append([term])
        self.joining = False


def read_moment(text: str, now: Instant, name: str) -> Instant:
    """A day, month, year or RFC 3339 moment in UTC, or a span back from now: `7d`, `3w`, `today`."""
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
