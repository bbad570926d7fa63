"""Results of a search: ranked by relevance, and what of each entry is shown: highlights and excerpts."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice

from reedbed.domain.records import record
from reedbed.domain.search.query import SearchQuery, Term
from reedbed.domain.text import CJK, fold, fold_with_positions, index_text, is_cjk
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


# --- Highlights and excerpts


Span = tuple[int, int]

MAX_READ = 20_000
EXCERPT_LENGTH = 300
_EXCERPT_LEAD = 60
VISIBLE = 80
"""Characters visible in a list row on a phone; the excerpt starts at a match beyond them."""

_NEAR_START, _WINDOW_LEAD, _WINDOW_LENGTH = 900, 350, 900
"""Characters of markup that are read around a match; a match this near to the start is read from there."""
_MAX_WINDOWS, _MAX_SHIFT = 4, 200
_PIECE_LENGTH = 1_000
"""Characters of markup that are folded at once while the first match is looked for."""

_NOT_AFTER_WORD_CHAR = f"(?<![^\\W{CJK}])"
_NOT_BEFORE_WORD_CHAR = f"(?![^\\W{CJK}])"


@record
class Excerpt:
    text: str
    spans: tuple[Span, ...]
    """Half-open, sorted, disjoint ranges of `text` to highlight."""


def highlight(text: str, query: SearchQuery) -> tuple[Span, ...]:
    """The ranges of `text` (its first 20,000 characters) that match the query."""
    matcher = _matcher(query)
    return () if matcher is None else _spans(text[:MAX_READ], matcher)


def shows(text: str, query: SearchQuery) -> bool:
    """Whether `highlight` would return a range."""
    matcher = _matcher(query)
    return matcher is not None and matcher.first(fold(text[:MAX_READ])) is not None


def excerpt(text: str, query: SearchQuery, length: int = EXCERPT_LENGTH) -> Excerpt:
    """About `length` characters around the first match, cut between words; without a match the beginning."""
    matcher = _matcher(query)
    span = _first_span(text[:MAX_READ], matcher) if matcher else None
    return _cut(text, _start_before(text, span) if span else 0, length, matcher)


def excerpt_of_markup(
    markup: str, query: SearchQuery, read: Callable[[str], str], length: int = EXCERPT_LENGTH
) -> Excerpt:
    """The same of the text of sanitised markup. `read` turns markup into text, and is only called for the
    surroundings of the first match where that can be found in the markup itself."""
    matcher = _matcher(query)
    window = None if matcher is None else _excerpt_of_window(markup, matcher, read, length)
    return window or excerpt(" ".join(read(markup).split()), query, length)


def excerpt_of_transcript(transcript: str, query: SearchQuery, length: int = EXCERPT_LENGTH) -> Excerpt | None:
    """The same of a long plain text, read part by part; None without a match."""
    matcher = _matcher(query)
    start = 0
    while matcher is not None and start < len(transcript):
        hit = matcher.first(fold(transcript[start : start + MAX_READ]))
        if hit is not None:
            begin = _word_start(transcript, start + hit.start() - _NEAR_START)
            window = " ".join(transcript[begin : begin + 2 * _NEAR_START + _WINDOW_LENGTH].split())
            found = excerpt(window, query, length)
            return found if found.spans else None
        start += MAX_READ - _MAX_SHIFT
    return None


def _excerpt_of_window(markup: str, matcher: "_Matcher", read: Callable[[str], str], length: int) -> Excerpt | None:
    """None if the window around the first match does not hold what the excerpt needs."""
    for position in _positions(markup[:MAX_READ], matcher):
        begin, end = _window_around(markup, position)
        text = " ".join(read(markup[begin:end]).split())
        span = _first_span(text[:MAX_READ], matcher)
        if span is None:
            continue  # the match is in an attribute
        start = _start_before(text, span) if begin == 0 else _word_start(text, span[0] - _EXCERPT_LEAD)
        is_cut_before = begin > 0 and span[0] < VISIBLE + _EXCERPT_LEAD
        is_cut_after = end < len(markup) and len(text) - start < length + _EXCERPT_LEAD
        return None if is_cut_before or is_cut_after else _cut(text, start, length, matcher)
    return None


def _positions(markup: str, matcher: "_Matcher") -> Iterator[int]:
    """Where the first few matches are, about: folding may shift them by some letters."""
    return islice(_all_positions(markup, matcher), _MAX_WINDOWS)


def _all_positions(markup: str, matcher: "_Matcher") -> Iterator[int]:
    # Folded piece by piece, as the first match is mostly far from the end; no match goes beyond a tag.
    begin, last = 0, len(markup)
    while begin < last:
        end = markup.find("<", begin + _PIECE_LENGTH) if begin + _PIECE_LENGTH < last else last
        piece = markup[begin : end if end > 0 else last]
        folded = fold(piece)
        if abs(len(folded) - len(piece)) > _MAX_SHIFT:
            return
        hit = matcher.first(folded)
        while hit is not None:
            yield begin + hit.start()
            hit = matcher.first(folded, hit.end())
        begin += len(piece)


def _window_around(markup: str, position: int) -> Span:
    """Between two tags or words, so that none is cut in two."""
    begin = 0
    if position > _NEAR_START:
        begin = markup.rfind(">", 0, position - _WINDOW_LEAD) + 1
        if position - begin > _NEAR_START:  # one long paragraph
            begin = _after_space(markup, position - _WINDOW_LEAD)
    end = markup.find("<", position + _WINDOW_LENGTH)
    return begin, len(markup) if end < 0 else end


def _after_space(markup: str, position: int) -> int:
    """After a space outside of tags; else the beginning."""
    space = markup.find(" ", position)
    return 0 if space < 0 or markup.rfind("<", 0, space) > markup.rfind(">", 0, space) else space + 1


def _start_before(text: str, span: Span) -> int:
    """Near this match, or at the beginning if the match is visible there."""
    return 0 if span[1] <= VISIBLE else _word_start(text, span[0] - _EXCERPT_LEAD)


def _first_span(text: str, matcher: "_Matcher") -> Span | None:
    hit = matcher.first(fold(text))
    if hit is None:
        return None
    # Only the beginning is folded again with positions, which takes longer.
    folded, positions = fold_with_positions(text[: hit.end() + _MAX_SHIFT])
    hit = matcher.first(folded)
    return None if hit is None else (positions[hit.start()], positions[hit.end() - 1] + 1)


def _cut(text: str, start: int, length: int, matcher: "_Matcher | None") -> Excerpt:
    end = _word_end(text, start, start + length)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    body = text[start:end]
    # Without the dots, which would make a plain text one that is slower to fold.
    spans = _spans(body, matcher) if matcher else ()
    return Excerpt(f"{before}{body}{after}", tuple((first + len(before), last + len(before)) for first, last in spans))


def _spans(text: str, matcher: "_Matcher") -> tuple[Span, ...]:
    folded, positions = fold_with_positions(text)
    spans = ((positions[hit.start()], positions[hit.end() - 1] + 1) for hit in matcher.all(folded))
    return tuple(_joined(spans))


class _Matcher:
    """Finds the words of a query in folded text: plain words first, which is many times faster than a pattern."""

    def __init__(self, terms: Iterable[Term]) -> None:
        parts = {part: fold(term.text).split()[0] for term in terms if (part := _term_pattern(term))}
        self._pattern = re.compile("|".join(sorted(parts, key=len, reverse=True)))
        first = sorted(set(parts.values()))
        self._words = [word for word in first if not any(word != other and word.startswith(other) for other in first)]

    def first(self, folded: str, position: int = 0) -> re.Match[str] | None:
        best: re.Match[str] | None = None
        for word in self._words:
            found = folded.find(word, position)
            while found >= 0 and (best is None or found < best.start()):
                hit = self._pattern.match(folded, found)
                if hit is not None:
                    best = hit
                    break
                found = folded.find(word, found + 1)
        return best

    def all(self, folded: str) -> Iterator[re.Match[str]]:
        hit = self.first(folded)
        while hit is not None:
            yield hit
            hit = self.first(folded, hit.end())


@lru_cache(maxsize=64)
def _matcher(query: SearchQuery) -> _Matcher | None:
    terms = [term for group in query.groups for term in group if fold(term.text).split()]
    return _Matcher(terms) if terms else None


def _term_pattern(term: Term) -> str:
    words = fold(term.text).split()
    if not words:
        return ""
    first = "" if is_cjk(words[0][0]) else _NOT_AFTER_WORD_CHAR
    is_prefix = term.prefix or is_cjk(words[-1][-1])
    last = "[^\\W_]*" if term.prefix and not is_cjk(words[-1][-1]) else "" if is_prefix else _NOT_BEFORE_WORD_CHAR
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
