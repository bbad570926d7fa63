"""Which of the newest matches fit best: by where the words stand, the same on both engines.

Both engines can rank by how rare a word is, but only by reading all that match: for a common word a hundred
times the cost of the page. A word in the title or the first lines says more than one at the end anyway.
"""

from collections.abc import Iterable

from reedbed.domain.folding import index_text
from reedbed.domain.records import record
from reedbed.domain.search import SearchQuery, Term
from reedbed.domain.times import DAY, Instant

_TITLE, _AUTHOR, _LEAD = 4.0, 2.0, 1.0
_ALL_IN_TITLE = 3.0
_FRESH = 1.0
_HALF_FRESH = 30 * DAY


@record
class Candidate:
    id: int
    sort_at: Instant
    title: str
    summary: str
    author: str | None


def ranked(candidates: Iterable[Candidate], query: SearchQuery, now: Instant) -> list[int]:
    """The ids, best first; among equals the newer one."""
    groups = [tuple(map(_needle, group)) for group in query.groups]
    scored = [(_score(each, groups, now), each.sort_at, each.id) for each in candidates]
    return [id for _, _, id in sorted(scored, reverse=True)]


def _needle(term: Term) -> str:
    tokens = " ".join(term.tokens)
    return f" {tokens}" if term.prefix else f" {tokens} "


def _score(candidate: Candidate, groups: list[tuple[str, ...]], now: Instant) -> float:
    title, lead = _padded(candidate.title), _padded(candidate.summary)
    author = _padded(candidate.author or "")
    in_title = [any(needle in title for needle in group) for group in groups]
    score = _ALL_IN_TITLE if groups and all(in_title) else 0.0
    for named, group in zip(in_title, groups, strict=True):
        score += _TITLE * named
        score += _LEAD * any(needle in lead for needle in group)
        score += _AUTHOR * any(needle in author for needle in group)
    age = max(now - candidate.sort_at, 0)
    return score + _FRESH / (1 + age / _HALF_FRESH)


def _padded(text: str) -> str:
    return f" {' '.join(index_text(text).split())} "
