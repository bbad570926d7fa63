"""Items of a digest about one event that their outlets report too differently for one story."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from reedbed.domain.records import record
from reedbed.domain.stories.index import SERIES_SHARE, Headline
from reedbed.domain.stories.words import GENERIC, is_roundup, unit_vector

_MIN_COMPARED, _REPEATED = 3, 0.5
"""An item is a repeat if so large a share of its headline's words, at least three, stands in another."""
_SAME_EVENT, _BESIDES_NAMES = 0.2, 0.02
"""How near two items about one event are, and how much of it is not a name: two events in one town are two."""
_SAME_FEED_EVENT = 0.5
"""Higher within one feed, because a series of articles has very similar words."""
_SMOOTHING = 10

Item = Sequence[Headline]


def find_repeats(items: Sequence[Item], apart: Collection[int] = ()) -> list[int | None]:
    """For each item, the place of the one before it that is about the same event."""
    vectors = item_vectors(items)
    earlier: list[int] = []
    repeats: list[int | None] = []
    for index, vector in enumerate(vectors):
        is_apart = any(headline.entry_id in apart for headline in items[index])
        same = next((place for place in earlier if not is_apart and vector.is_near(vectors[place])), None)
        repeats.append(same)
        if same is None:
            earlier.append(index)
    return repeats


@record
class ItemVector:
    """The words of an item, weighted by how few items have them."""

    weights: Mapping[str, float]
    names: frozenset[str]
    numbers: frozenset[str]
    headline: frozenset[str]
    languages: frozenset[str]
    feeds: frozenset[int]
    is_roundup: bool

    def is_near(self, other: "ItemVector") -> bool:
        """Whether both seem to be about one event, though their outlets report it too differently for one story."""
        if self.languages.isdisjoint(other.languages) or self.is_roundup or other.is_roundup:
            return False
        shared = {word: weight * other.weights[word] for word, weight in self.weights.items() if word in other.weights}
        closeness = sum(shared.values())
        if self._is_other_of_series(other):
            return False
        if len(self.feeds) == 1 and self.feeds == other.feeds:
            return closeness >= _SAME_FEED_EVENT
        if self._repeats(other) or other._repeats(self):
            return True
        if self.names and other.names and self.names.isdisjoint(other.weights) and other.names.isdisjoint(self.weights):
            return False
        common = {*self.names, *other.names, *self.numbers, *GENERIC}
        besides = sum(weight for word, weight in shared.items() if word not in common)
        return closeness >= _SAME_EVENT and besides >= _BESIDES_NAMES

    def _is_other_of_series(self, other: "ItemVector") -> bool:
        if not (self.numbers and other.numbers) or not self.numbers.isdisjoint(other.numbers):
            return False
        shared = len(self.headline & other.headline)
        return shared > 0 and shared >= SERIES_SHARE * max(len(self.headline), len(other.headline))

    def _repeats(self, other: "ItemVector") -> bool:
        shared = len(self.headline & other.weights.keys())
        return shared >= _MIN_COMPARED and shared >= _REPEATED * len(self.headline)


def item_vectors(items: Sequence[Item]) -> list[ItemVector]:
    words = [[headline.words() for headline in item] for item in items]
    used = Counter(word for of_item in words for word in {word for one in of_item for word in one.weights})
    vectors: list[ItemVector] = []
    for item, of_item in zip(items, words, strict=True):
        weights: defaultdict[str, float] = defaultdict(float)
        for one in of_item:
            for word, weight in one.weights.items():
                weights[word] += weight * math.log(1 + (len(items) + _SMOOTHING) / used[word])
        names = frozenset(name for one in of_item for name in one.names)
        languages, feeds = frozenset(one.language[:2] for one in item), frozenset(one.feed_id for one in item)
        numbers = frozenset(number for one in of_item for number in one.numbers)
        vectors.append(
            ItemVector(
                unit_vector(weights), names, numbers, of_item[0].title, languages, feeds, is_roundup(item[0].title)
            )
        )
    return vectors
