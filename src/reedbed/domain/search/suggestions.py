"""Suggestions while a search is typed: names after `feed:`, `folder:` and `tag:`, states after `is:`, and operators."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.search.query import CHOICES, KINDS, MAX_TEXT, QUERY_TOKEN, Filter, SavedSearch
from reedbed.domain.text import fold, query_tokens

NameKind = Literal["feed", "folder", "tag"]
SuggestionKind = Literal["feed", "folder", "tag", "state", "time", "operator", "saved_search"]

MAX_SUGGESTED = 8
NAMED: tuple[NameKind, ...] = ("feed", "folder", "tag")
OPERATORS = (*NAMED, "is", "has", "title", "author", "category", "lang", "after", "before")
_TIMES = ("today", "yesterday", "7d", "30d", "1y")
_MEANT = {
    "by": "author",
    "from": "feed",
    "in": "folder",
    "label": "tag",
    "newer": "after",
    "older": "before",
    "since": "after",
    "site": "feed",
    "source": "feed",
    "status": "is",
    "state": "is",
    "until": "before",
}
"""Operators of other programs, and what they are called here."""
_ALIKE = 0.7
_ALIKE_WORDS, _MAX_ALIKE = 0.8, 3


@record
class Name:
    """A feed, folder or tag of a user."""

    kind: NameKind
    id: int
    text: str
    url: str = ""


@record
class Suggestion:
    kind: SuggestionKind
    text: str
    query: str
    """The whole search after this suggestion was taken."""
    id: int | None = None
    """Of the feed, folder, tag or saved search."""
    entries: int | None = None
    """How many entries the search then finds; None if that was not counted."""
    more: bool = False
    """There are more; counting stopped."""


@record
class TypedQuery:
    """A query, and the word at its end that is still being typed."""

    before: str
    minus: str
    operator: str
    value: str

    def having(self, word: str) -> str:
        """The query with another word at its end."""
        return " ".join(f"{self.before} {self.minus}{word}".split())


def typed_query(text: str) -> TypedQuery:
    tokens = list(QUERY_TOKEN.finditer(text[:MAX_TEXT]))
    last = tokens[-1] if tokens else None
    unfinished = re.search(r"(?:^|\s)(-)?([A-Za-z]{2,8}):$", text)
    if unfinished:
        return TypedQuery(text[: unfinished.start()], unfinished[1] or "", unfinished[2].lower(), "")
    if last is None or last.end() < len(text):
        return TypedQuery(text, "", "", "")
    minus, operator, phrase, word = last.groups()
    return TypedQuery(text[: last.start()], minus or "", (operator or "").lower(), word if phrase is None else phrase)


def kinds_to_read(typed: TypedQuery) -> tuple[NameKind, ...]:
    """Which names the suggestions can need."""
    operator = corrected_operator(typed.operator)
    if operator:
        return tuple(kind for kind in NAMED if kind == operator)
    return NAMED if typed.value else ()


def suggest(typed: TypedQuery, names: Sequence[Name], saved: Sequence[SavedSearch]) -> list[Suggestion]:
    operator = corrected_operator(typed.operator)
    match operator:
        case "is" | "has":
            choices = _completions(typed.value, CHOICES[operator])
            return [_complete(typed, "state", f"{operator}:{choice}") for choice in choices]
        case "after" | "before":
            return [_complete(typed, "time", f"{operator}:{time}") for time in _completions(typed.value, _TIMES)]
        case "":
            return _suggest_for_word(typed, names, saved)
        case _ if operator != typed.operator and operator not in NAMED:
            return [_complete(typed, "operator", f"{operator}:{_quoted(typed.value)}")]
        case _:
            return [_name(typed, name) for name in matching(names, typed.value)]


def _suggest_for_word(typed: TypedQuery, names: Sequence[Name], saved: Sequence[SavedSearch]) -> list[Suggestion]:
    if typed.operator:
        return []
    value = typed.value.lower()
    operators = [name for name in OPERATORS if value and name.startswith(value)]
    searches = [search for search in saved if not typed.before.strip() and _has(search.name, typed.value)]
    return [
        *(_complete(typed, "operator", f"{operator}:") for operator in operators),
        *(Suggestion("saved_search", search.name, search.query, search.id) for search in searches[:3]),
        *(_name(typed, name) for name in (matching(names, typed.value)[:5] if len(value) > 1 else ())),
    ][:MAX_SUGGESTED]


def _complete(typed: TypedQuery, kind: SuggestionKind, word: str) -> Suggestion:
    return Suggestion(kind, word, typed.having(word))


def _name(typed: TypedQuery, name: Name) -> Suggestion:
    return Suggestion(name.kind, name.text, typed.having(name_filter(name)), name.id)


def name_filter(name: Name) -> str:
    """The filter that finds this feed, folder or tag; by id where its name has a quotation mark."""
    if '"' in name.text or not fold(name.text).strip():
        return f"{name.kind}:{name.id}"
    return f"{name.kind}:{_quoted(name.text)}"


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) or not value else value


def _completions(value: str, words: Sequence[str]) -> list[str]:
    completions = [word for word in words if word.startswith(value.lower())]
    return completions or [word for word in words if _likeness(value, word) >= _ALIKE]


def corrected_operator(operator: str) -> str:
    """The operator that was meant; empty if there is none like it."""
    if not operator or operator in OPERATORS or operator in KINDS:
        return KINDS.get(operator, operator)
    if operator in _MEANT:
        return _MEANT[operator]
    best = max(OPERATORS, key=lambda name: _likeness(operator, name))
    return best if _likeness(operator, best) >= _ALIKE else ""


def matching(names: Iterable[Name], value: str) -> list[Name]:
    """The names that contain this, those that begin with it first; else the names most like it."""
    wanted = _folded(value)
    ranked = [(position, name) for name in names if (position := _rank(name, wanted)) is not None]
    ranked.sort(key=lambda one: (one[0], one[1].text.casefold(), one[1].id))
    found = [name for _, name in ranked]
    return (found or _most_alike(names, wanted))[:MAX_SUGGESTED]


def _rank(name: Name, wanted: str) -> int | None:
    folded = _folded(name.text)
    if folded.startswith(wanted):
        return 0
    if f" {wanted}" in folded:
        return 1
    return 2 if wanted in folded or wanted in name.url.casefold() else None


def _most_alike(names: Iterable[Name], wanted: str) -> list[Name]:
    if len(wanted) < 3:
        return []
    alike = [(_name_likeness(name, wanted), -name.id, name) for name in names]
    return [name for likeness, _, name in sorted(alike, key=lambda one: one[:2], reverse=True) if likeness >= _ALIKE]


def _name_likeness(name: Name, wanted: str) -> float:
    """That of the whole name, or of one word of it."""
    folded = _folded(name.text)
    return max(_likeness(wanted, part) for part in (folded, *folded.split())) if folded else 0.0


def _likeness(first: str, second: str) -> float:
    return SequenceMatcher(None, first.lower(), second).ratio()


def _has(text: str, wanted: str) -> bool:
    return _folded(wanted) in _folded(text)


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


# --- Corrections


def corrected_filters(text: str, unknown: Sequence[Filter], names: Sequence[Name]) -> str:
    """The query with its misspelt operators, states and names replaced by those that exist."""
    parts: list[str] = []
    for token in QUERY_TOKEN.finditer(text[:MAX_TEXT]):
        minus, operator, phrase, word = token.groups()
        value = word if phrase is None else phrase
        meant = corrected_operator((operator or "").lower())
        if not meant:
            parts.append(token[0])
            continue
        known = meant == KINDS.get(operator.lower(), operator.lower())
        wrong = any(filter_.kind == meant and filter_.value.lower() == value.lower() for filter_ in unknown)
        if known and not wrong:
            parts.append(token[0])
        else:
            parts.append(f"{minus or ''}{_corrected_filter(meant, value, names)}")
    return " ".join(parts)


def _corrected_filter(operator: str, value: str, names: Sequence[Name]) -> str:
    if operator in CHOICES:
        return f"{operator}:{next(iter(_completions(value, CHOICES[operator])), value)}"
    best = matching([name for name in names if name.kind == operator], value)
    return name_filter(best[0]) if best else f"{operator}:{_quoted(value)}"


def corrected_words(text: str, corrections: Mapping[str, str]) -> str:
    """The query with these words replaced; phrases and filters stay."""
    parts: list[str] = []
    for token in QUERY_TOKEN.finditer(text[:MAX_TEXT]):
        minus, operator, _, word = token.groups()
        tokens = query_tokens(word or "")
        if minus or operator or len(tokens) != 1 or tokens[0] not in corrections:
            parts.append(token[0])
        else:
            parts.append(corrections[tokens[0]])
    return " ".join(parts)


def most_alike(word: str, words: Iterable[str]) -> list[str]:
    """The few words most like this one, best first."""
    return get_close_matches(word, list(dict.fromkeys(words)), n=_MAX_ALIKE, cutoff=_ALIKE_WORDS)


# --- Counts


@record
class MatchCount:
    count: int
    is_estimate: bool = False
    feeds: int | None = None
    """Number of feeds they are in; None where the count is an estimate."""


def estimated_count(found: Sequence[int], oldest_id: int, newest_id: int) -> MatchCount:
    """How many entries match, if they are as frequent among all entries as among the newest.

    Ids grow with time, so the ids of the newest matches tell how far back these reach. The lowest twentieth is left
    out: they may be old entries of a feed that was added lately.
    """
    lowest = sorted(found)[len(found) // 20]
    share = (newest_id - lowest + 1) / (newest_id - oldest_id + 1)
    count = max(len(found), round(len(found) / share)) if share > 0 else len(found)
    digits = max(len(str(count)) - 2, 0)
    return MatchCount(round(count, -digits), is_estimate=True)


# --- Filters as chips


def filters_in(text: str) -> list[tuple[str, str]]:
    """Each filter of the query as typed, and the query without it."""
    tokens = list(QUERY_TOKEN.finditer(text[:MAX_TEXT]))
    return [
        (token[0], " ".join(other[0] for other in tokens if other is not token))
        for token in tokens
        if token[2] and KINDS.get(token[2].lower(), token[2].lower()) in OPERATORS
    ]
