"""Search: the query that a user types, and saved searches."""

import re
from datetime import UTC, datetime
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import clean_line, is_cjk, query_tokens, storable
from reedbed.domain.times import DAY, HOUR, Instant, Millis, from_datetime

MAX_TEXT = 1_000
MAX_TERMS = 32

FilterKind = Literal["feed", "folder", "tag", "author", "lang", "category", "is", "has"]


@record
class Term:
    text: str
    """As typed, for highlights."""
    tokens: tuple[str, ...]
    """Must occur one after the other."""
    prefix: bool = False
    """The last token may be the beginning of a word."""
    title_only: bool = False
    exact: bool = False
    """Written as `=word` or in quotes: no other forms of the word."""
    is_form: bool = False
    """Another form of the word that was typed."""


@record
class Filter:
    kind: FilterKind
    value: str
    """As typed; for `is` in lower case, and perhaps none of `STATES`."""
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
    for token in QUERY_TOKEN.finditer(normalized):
        parser.take(token)
    return parser.query()


def is_connective(text: str) -> bool:
    """Whether nothing but AND and OR was typed."""
    return bool(text.split()) and all(word in CONNECTIVES for word in text.split())


_QUOTES = str.maketrans("“”„«»", '"""""')
QUERY_TOKEN = re.compile(r'(-)?(?:([A-Za-z]{2,8}):(?=[^\s]))?(?:"([^"]*)"?|([^\s"]+))')
CONNECTIVES = ("AND", "OR")
"""In capitals, between words. All words must match anyway, so AND changes nothing."""
STATES = ("unread", "read", "starred", "later", "muted")
"""What may follow `is:`."""
MEDIA = {"picture": "picture", "pictures": "picture", "image": "picture", "images": "picture"}
"""What may follow `has:`, and what it is called here."""
CHOICES = {"is": STATES, "has": tuple(dict.fromkeys(MEDIA.values()))}
"""The operators that know only these values."""
KINDS: dict[str, FilterKind] = {
    "feed": "feed",
    "folder": "folder",
    "tag": "tag",
    "author": "author",
    "lang": "lang",
    "language": "lang",
    "category": "category",
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
        if word in CONNECTIVES and not minus and not operator:
            self.joining = word == "OR" and bool(self.groups)
        elif not self._apply_operator(
            (operator or "").lower(), value.strip(), negated=bool(minus), exact=phrase is not None
        ):
            whole = f"{operator}:{value}" if operator else value
            self._add_term(whole, negated=bool(minus), exact=phrase is not None)

    def query(self) -> SearchQuery:
        return SearchQuery(
            groups=tuple(map(tuple, self.groups)),
            excluded=tuple(self.excluded),
            filters=tuple(self.filters),
            after=self.after,
            before=self.before,
        )

    def _apply_operator(self, operator: str, value: str, *, negated: bool, exact: bool) -> bool:
        """Apply an operator; False if there is no such operator."""
        match operator:
            case "after":
                timestamp = read_moment(value, self.now, operator)
                self.after = timestamp if self.after is None else max(self.after, timestamp)
            case "before":
                timestamp = read_moment(value, self.now, operator)
                self.before = timestamp if self.before is None else min(self.before, timestamp)
            case "title":
                self._add_term(value, negated=negated, title_only=True, exact=exact)
            case "is" if value:
                self._add_filter(Filter("is", value.lower(), negated))
            case "has" if value:
                self._add_filter(Filter("has", MEDIA.get(value.lower(), value.lower()), negated))
            case _ if value and operator in KINDS:
                self._add_filter(Filter(KINDS[operator], value, negated))
            case _:
                return False
        return True

    def _add_filter(self, filter_: Filter) -> None:
        if len(self.filters) < MAX_TERMS and filter_ not in self.filters:
            self.filters.append(filter_)

    def _add_term(self, text: str, *, negated: bool, title_only: bool = False, exact: bool = False) -> None:
        if text.startswith("="):
            text, exact = text[1:], True
        tokens = query_tokens(text)[:MAX_TERMS]
        if not tokens or len(self.groups) + len(self.excluded) >= MAX_TERMS:
            return
        is_single_char = len(tokens[-1]) == 1 and is_cjk(tokens[-1])
        term = Term(text, tokens, prefix=text.endswith("*") or is_single_char, title_only=title_only, exact=exact)
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
            '"%(text)s" is not a date. Write %(name)s:2026-11-15, %(name)s:2026-11 or %(name)s:7d for seven days ago.',
            field="q",
            text=text[:40],
            name=name,
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
        raise Invalid("The name may have at most %(limit)s characters.", field="name", limit=MAX_NAME_LENGTH)
    return name


def search_text(text: str, now: Instant) -> str:
    query = " ".join(storable(text).split())
    if len(query) > MAX_TEXT:
        raise Invalid("A search may have at most %(limit)s characters.", field="query", limit=MAX_TEXT)
    if parse_search(query, now).is_empty:
        raise Invalid("Say what to search for: words, or a filter such as is:starred.", field="query")
    return query
