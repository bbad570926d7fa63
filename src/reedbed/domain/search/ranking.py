"""Ranking by relevance."""

from collections.abc import Iterable

from reedbed.domain.records import record
from reedbed.domain.search.query import SearchQuery, Term
from reedbed.domain.text import index_text
from reedbed.domain.times import DAY, Instant

_TITLE_SCORE, _AUTHOR_SCORE, _LEAD_SCORE = 4.0, 2.0, 1.0
_ALL_IN_TITLE_SCORE = 3.0
_FORM_SHARE = 0.5
"""What another form of a word scores, compared with the word itself."""
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
    groups = [tuple(map(_scored_string, group)) for group in query.groups]
    scored = [(_score(candidate, groups, now), candidate.sort_at, candidate.id) for candidate in candidates]
    return [entry_id for _, _, entry_id in sorted(scored, reverse=True)]


def _scored_string(term: Term) -> tuple[str, float]:
    tokens = " ".join(term.tokens)
    return f" {tokens}" if term.prefix else f" {tokens} ", _FORM_SHARE if term.is_form else 1.0


def _score(candidate: RankCandidate, groups: list[tuple[tuple[str, float], ...]], now: Instant) -> float:
    title, lead = _padded(candidate.title), _padded(candidate.summary)
    author = _padded(candidate.author or "")
    in_title = [_share(group, title) for group in groups]
    score = _ALL_IN_TITLE_SCORE * min(in_title, default=0.0)
    for share, group in zip(in_title, groups, strict=True):
        score += _TITLE_SCORE * share
        score += _LEAD_SCORE * _share(group, lead)
        score += _AUTHOR_SCORE * _share(group, author)
    age = max(now - candidate.sort_at, 0)
    return score + _FRESHNESS / (1 + age / _FRESHNESS_HALF_LIFE)


def _share(group: tuple[tuple[str, float], ...], text: str) -> float:
    """1 if the word itself is in the text, less if another form of it is."""
    return max((share for search_string, share in group if search_string in text), default=0.0)


def _padded(text: str) -> str:
    return f" {' '.join(index_text(text).split())} "
