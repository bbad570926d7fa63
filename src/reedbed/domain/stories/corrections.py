"""What decides about a story besides its words: a model, for doubtful pairs, and the user who sets entries apart."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.stories.index import Headline
from reedbed.domain.times import DAY

Verdict = Literal["same", "different", "unsure"]
PAIRS_PER_REQUEST = 20
"""Pairs in one request to the model."""
MAX_WAITING = 500
"""When more pairs are in doubt, the newest are decided."""
WAITS = DAY
"""A pair that could not be decided in this time stays as it is."""


@record
class TextPair:
    """Titles and leads of two entries that may report the same event."""

    first: tuple[str, str]
    second: tuple[str, str]


@record
class SplitEntry:
    """An entry that is not in its story for this user."""

    user_id: int
    entry_id: int
    because_id: int
    """The entry that the user has split by hand: itself, or one that it is like."""


def follow_splits(
    new: Iterable[Headline], members: Sequence[Headline], splits: Iterable[SplitEntry]
) -> list[SplitEntry]:
    """The new entries of a story that are nearer to one that a user has split from it than to any other."""
    causes: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for split in splits:
        causes[split.user_id][split.entry_id] = split.because_id
    known = {member.entry_id: _vector(member) for member in members if not member.is_private}
    followed: list[SplitEntry] = []
    for headline in new:
        vector = _vector(headline)
        near = {entry_id: _cosine(vector, other) for entry_id, other in known.items() if entry_id != headline.entry_id}
        for user_id, cause_of in causes.items():
            cause = _nearer_split(near, cause_of) if headline.entry_id not in cause_of else None
            if cause is not None:
                followed.append(SplitEntry(user_id, headline.entry_id, cause))
                cause_of[headline.entry_id] = cause
        if not headline.is_private:
            known[headline.entry_id] = vector
    return followed


def _nearer_split(near: Mapping[int, float], cause_of: Mapping[int, int]) -> int | None:
    rest = max((closeness for entry_id, closeness in near.items() if entry_id not in cause_of), default=0.0)
    closeness, entry_id = max(
        ((closeness, entry_id) for entry_id, closeness in near.items() if entry_id in cause_of), default=(0.0, 0)
    )
    return cause_of[entry_id] if closeness > rest else None


def _vector(headline: Headline) -> Mapping[str, float]:
    weights = headline.words().weights
    length = math.hypot(*weights.values()) or 1.0
    return {word: weight / length for word, weight in weights.items()}


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    return sum(weight * second[word] for word, weight in first.items() if word in second)
