"""Items of a digest about one event that their outlets report too differently for one story."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from reedbed.domain.records import record
from reedbed.domain.stories.index import SERIES_SHARE, Headline
from reedbed.domain.stories.words import GENERIC, cut, is_roundup, is_specific, unit_vector
from reedbed.domain.text import fold

_MIN_COMPARED, _REPEATED, _REPEATED_CLOSENESS = 3, 0.5, 0.12
"""An item is a repeat if so large a share of its headline's words, at least three, stands in another."""
_SAME_EVENT, _BESIDES_NAMES = 0.2, 0.04
"""How near two items about one event are, and how much of it is not a name: two events in one town are two."""
_MIN_SHARED = 2
"""One word alone, however rare, does not tell that two items are about one event."""
_SAME_FEED_EVENT = 0.5
"""Higher within one feed, because a series of articles has very similar words."""
_DOUBTFUL, _FEW_OUTLETS = 0.1, 2
"""An item of few outlets comes after all others if it is so near to one before it."""
_SMOOTHING = 10

# A number that is no amount: "beta 4", "Orbit 17", "Stärke 6,1", but not "to 4.5 percent" or "City 2-1 Rovers".
_VERSION = re.compile(
    r"\b([^\W\d_]\w{2,}) (?!\d{1,3}[.,]\d{3}\b)(\d+(?:[.,]\d+)*)(?![\w.,–-]*\d|\w| ?%| (?:percent|per cent|prozent"
    r"|pour cent|por ciento|[a-z]*illion\w*|[a-z]*illones|mrd|mio|bn|euros?|dollars?|pounds?)\b)",
    re.IGNORECASE,
)
_NUMBERED = frozenset(("beta", "part", "teil", "partie", "episod", "folge", "season", "saison"))

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


def doubtful_repeats(items: Sequence[Item], apart: Collection[int] = ()) -> frozenset[int]:
    """The places of the items of few outlets that may be about the same event as one before them."""
    vectors = item_vectors(items)
    return frozenset(
        place
        for place, vector in enumerate(vectors)
        if len(vector.feeds) <= _FEW_OUTLETS
        and not any(headline.entry_id in apart for headline in items[place])
        and any(vector.may_be_near(earlier) for earlier in vectors[:place])
    )


@record
class ItemVector:
    """The words of an item, weighted by how few items have them."""

    weights: Mapping[str, float]
    names: frozenset[str]
    numbers: frozenset[str]
    versions: Mapping[str, frozenset[str]]
    """The numbers that the titles give to a thing, by its name."""
    headline: frozenset[str]
    languages: frozenset[str]
    feeds: frozenset[int]
    is_roundup: bool

    def is_near(self, other: "ItemVector") -> bool:
        """Whether both seem to be about one event, though their outlets report it too differently for one story."""
        if self._is_certainly_other(other) or self._names_another_version(other):
            return False
        shared = {word: weight * other.weights[word] for word, weight in self.weights.items() if word in other.weights}
        closeness = sum(shared.values())
        if len(self.feeds) == 1 and self.feeds == other.feeds:
            return closeness >= _SAME_FEED_EVENT
        if closeness >= _SAME_EVENT and self._names_same_version(other):
            return True
        if len(shared.keys() - self.numbers - other.numbers) < _MIN_SHARED:
            return False
        if closeness >= _REPEATED_CLOSENESS and (self._repeats(other) or other._repeats(self)):
            return True
        if self.names and other.names and self.names.isdisjoint(other.weights) and other.names.isdisjoint(self.weights):
            return False
        common = {*self.names, *other.names, *self.numbers, *other.numbers, *GENERIC}
        besides = sum(weight for word, weight in shared.items() if word not in common)
        return closeness >= _SAME_EVENT and besides >= _BESIDES_NAMES

    def may_be_near(self, other: "ItemVector") -> bool:
        if self._is_certainly_other(other):
            return False
        return sum(weight * other.weights.get(word, 0.0) for word, weight in self.weights.items()) >= _DOUBTFUL

    def _is_certainly_other(self, other: "ItemVector") -> bool:
        """Whether the two are in other languages, parts of one series, or one is a text about many things."""
        is_roundup = self.is_roundup or other.is_roundup
        return is_roundup or self.languages.isdisjoint(other.languages) or self._is_other_of_series(other)

    def _is_other_of_series(self, other: "ItemVector") -> bool:
        if not (self.numbers and other.numbers) or not self.numbers.isdisjoint(other.numbers):
            return False
        shared = len(self.headline & other.headline)
        return shared > 0 and shared >= SERIES_SHARE * max(len(self.headline), len(other.headline))

    def _names_another_version(self, other: "ItemVector") -> bool:
        """Whether their titles give one thing other numbers: "beta 3" and "beta 4", "magnitude 6.1" and "5.8"."""
        names = self.names | other.names
        return any(
            numbers.isdisjoint(other_numbers)
            and (name in names or name in _NUMBERED or all("." in number for number in numbers | other_numbers))
            for name, numbers in self.versions.items()
            if (other_numbers := other.versions.get(name)) is not None
        )

    def _names_same_version(self, other: "ItemVector") -> bool:
        names = self.names & other.names
        return any(
            name in names and not numbers.isdisjoint(other.versions.get(name, ()))
            for name, numbers in self.versions.items()
        )

    def _repeats(self, other: "ItemVector") -> bool:
        """Whether the headline stands in the other item: not just its names, and not just its other words."""
        shared = self.headline & other.weights.keys()
        if len(shared) < _MIN_COMPARED or len(shared) < _REPEATED * len(self.headline):
            return False
        telling = shared - GENERIC
        if len(telling) < _MIN_SHARED or not telling - self.names - other.names:
            return False
        own_names = (self.headline & self.names) - GENERIC
        is_of_other = own_names and other.names and own_names.isdisjoint(other.weights)
        return not is_of_other or any(map(is_specific, self.numbers & other.numbers))


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
                unit_vector(weights),
                names,
                numbers,
                _versions(headline.title for headline in item),
                of_item[0].title,
                languages,
                feeds,
                is_roundup(item[0].title),
            )
        )
    return vectors


def _versions(titles: Iterable[str]) -> dict[str, frozenset[str]]:
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for title in titles:
        for name, number in _VERSION.findall(title):
            versions[cut(fold(name))].add(number.replace(",", "."))
    return {name: frozenset(numbers) for name, numbers in versions.items()}
