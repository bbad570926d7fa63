"""Entries about something similar: what to search for, and which of the matches are near."""

import math
from collections import Counter
from collections.abc import Sequence

from reedbed.domain.entries import EntryRow
from reedbed.domain.stories.words import HeadlineWords, headline_words, telling_words

MAX_RELATED = 6
_MIN_SHARED = 2
_MIN_CLOSENESS = 0.12


def related_search(row: EntryRow) -> str:
    """A search for any of the most telling words; empty if there are none."""
    return " OR ".join(f'"{word}"' for word in telling_words(row.title, row.summary, row.language or ""))


def most_related(row: EntryRow, found: Sequence[EntryRow]) -> list[EntryRow]:
    """The nearest of the found entries, by the words of their titles and first sentences."""
    others = [(other, _words(other)) for other in found if other.id != row.id]
    counts = Counter(word for _, words in others for word in words.weights)
    own = _weighted(_words(row), counts, len(others))
    scored: list[tuple[float, EntryRow]] = []
    for other, words in others:
        shared = {word for word in words.weights if word in own} - words.numbers
        if len(shared) >= _MIN_SHARED:
            weights = _weighted(words, counts, len(others))
            scored.append((sum(own[word] * weights[word] for word in shared), other))
    scored.sort(key=lambda item: (-item[0], -item[1].sort_at))
    return [other for closeness, other in scored[:MAX_RELATED] if closeness >= _MIN_CLOSENESS]


def _words(row: EntryRow) -> HeadlineWords:
    return headline_words(row.title, row.summary, row.language or "")


def _weighted(words: HeadlineWords, counts: Counter[str], total: int) -> dict[str, float]:
    """The words as a unit vector; those that many of the matches have count little."""
    weights = {word: weight * math.log(1 + (total + 1) / (counts[word] + 1)) for word, weight in words.weights.items()}
    length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {word: weight / length for word, weight in weights.items()}
