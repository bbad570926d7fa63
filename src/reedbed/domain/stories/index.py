"""Grouping: entries of several feeds about one event, found by the words of their titles and first sentences.

`StoryIndex` holds the stories of the last days in memory and assigns each new entry to one. Its size is bounded by
`MAX_STORIES`; of the stories that use a word it remembers the newest.
"""

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from reedbed.domain.records import record
from reedbed.domain.stories.words import (
    GENERIC,
    NAMED_EVENTS,
    HeadlineWords,
    evidence,
    headline_words,
    is_roundup,
    is_specific,
    unit_vector,
)
from reedbed.domain.times import DAY, HOUR, Instant

SPAN = 72 * HOUR
"""Maximum time between an entry and the story it joins."""
MAX_AGE = 7 * DAY
"""Maximum duration of a story."""
MAX_STORIES = 20_000


@record
class _Thresholds:
    """Tuned on the splits of the labelled entries that are for it; `bench/intelligence.py` prints all of them."""

    join: float
    merge: float
    merge_grown: float
    """For two stories that are compared again after one of them has grown."""


_WITH_LEAD = _Thresholds(join=0.2, merge=0.36, merge_grown=0.38)
_TITLE_ONLY = _Thresholds(join=0.22, merge=0.18, merge_grown=0.13)
_GROWN = 3
"""An entry alone joins a story of so many entries as if it came now."""
DOUBTFUL = 0.6
"""From this share of the threshold on, an entry is not clearly apart from the story."""
_SAME_FEED_THRESHOLD = 0.6
"""Higher within one feed, because a series of articles has very similar titles."""

_QUERY_WORDS = 10
_MIN_QUERY_HITS = 2
_MAX_CANDIDATES = 12
_RECENT_STORIES = 24
"""Stories remembered for each word."""
_VECTOR_WORDS = 25
_MAX_VECTORS = 3_000
_MAX_STORY_WORDS = 200
_MAX_STORY_NAMES = 40
_MAX_FEEDS, _MAX_MERGES = 8, 3
_MIN_SHARED = 2.0
_SAME_TITLE = 0.6
"""Below it, bare headlines need so many shared words that name no kind of institution or place."""
_SMOOTHING = 50
"""Added to the number of stories, so that a word's rarity means little in a small library."""

_OTHER_NAMES = 0.55
"""Factor when both have names, but none is the same."""
_NAMES_APART = 0.75
"""Factor when hardly any name is shared."""
_NO_NAMES = 0.53
"""Factor when a side has no names: recipes, weather, papers."""
_SAME_NUMBER = 1.0
"""Instead of `_NO_NAMES`, when both have the same unusual number, such as 11.2."""
_UNMARKED_NAMES = 1.15
"""Factor when capitals show no names, so that no word counts more than the others."""
_ONE_LEAD = 0.65
"""Factor when only one side has first sentences, which share common words with titles about anything."""
_ONE_NAME_ONLY = 0.46
"""Factor when nearly everything shared is one name: two events in one town; beside bare headlines also one word."""
_JOIN_BESIDES = 0.09
_MERGE_BESIDES = 0.05
"""How much must be shared besides one name."""
_ENOUGH_SHARED_NAMES = 0.68
_MAX_NAME_WEIGHT = 26.0
SERIES_SHARE = 0.75

_Vector = Mapping[str, float]


@record
class Headline:
    entry_id: int
    feed_id: int
    title: str
    at: Instant
    is_private: bool = False
    """It may join an existing story, but adds no words to the index and starts no story."""
    lead: str = ""
    language: str = ""

    def words(self) -> HeadlineWords:
        return headline_words(self.title, self.lead, self.language)


@record
class Placed:
    """The story of an entry. A story has the id of its first entry."""

    story_id: int
    is_alone: bool
    merged: tuple[int, ...] = ()
    """Stories that were merged into this one."""
    doubtful: int | None = None
    """The story nearest to an entry that stands alone, if it is not clearly another."""


class StoryIndex:
    """In-memory index of the stories of the last days."""

    def __init__(self) -> None:
        self._stories: dict[int, _Story] = {}
        self._used_by: dict[str, int] = {}
        """How many stories use a word."""
        self._recent: dict[str, list[int]] = {}
        """The stories that used a word last, the newest at the end."""
        self._vectors: dict[int, _CachedVector] = {}
        self._placed = 0

    def __len__(self) -> int:
        return len(self._stories)

    def place(self, headline: Headline) -> Placed:
        """Find or start the entry's story and add its words to the index."""
        self._placed += 1
        if is_roundup(headline.title):
            return Placed(headline.entry_id, is_alone=True)
        words = headline.words()
        close, doubtful = self._close_stories(headline, words)
        if not close:
            if headline.is_private:
                doubtful = None
            elif words.weights:
                self._add(headline.entry_id, headline, words)
            return Placed(headline.entry_id, is_alone=True, doubtful=doubtful)
        if headline.is_private:
            return Placed(close[0], is_alone=False)
        story_id = close[0]
        self._add(story_id, headline, words)
        story_id, merged = self._merge_close(story_id, close[1 : 1 + _MAX_MERGES])
        story_id, merged_later = self._merge_grown(story_id)
        return Placed(story_id, is_alone=False, merged=(*merged, *merged_later))

    def restore(self, headline: Headline, story_id: int) -> None:
        """Add the words of an entry whose story is known."""
        self._placed += 1
        self._add(story_id, headline, headline.words())

    def join(self, first_id: int, second_id: int) -> "ResolvedStory | None":
        """Merge two stories that a model has found to be one, if both are recent."""
        first, second = self._stories.get(first_id), self._stories.get(second_id)
        if first is None or second is None or first is second or not first.is_near(second.first, second.newest):
            return None
        newest = max(first.newest, second.newest)
        story_id, merged_id = self._merge(first_id, second_id)
        return ResolvedStory({story_id: story_id, merged_id: story_id}, {merged_id: story_id}, {story_id: newest})

    def forget(self, before: Instant) -> None:
        """Delete stories without entries since `before`. Recently updated stories come last in the dict."""
        old: list[int] = []
        for story_id, story in self._stories.items():
            if story.newest >= before:
                break
            old.append(story_id)
        for story_id in old:
            self._drop(story_id)

    # --- Which stories are close

    def _close_stories(self, headline: Headline, words: HeadlineWords) -> tuple[list[int], int | None]:
        """Stories of the same event, the closest first, and the closest one that is not clearly apart."""
        vector = unit_vector(self._weighed(words.weights.items()))
        threshold = (_WITH_LEAD if words.has_lead else _TITLE_ONLY).join
        matches: list[tuple[float, int]] = []
        doubts: list[tuple[float, int]] = []
        for story_id in self._candidates(vector):
            story = self._stories[story_id]
            if not story.is_near(headline.at, headline.at) or story.is_other_of_series(words):
                continue
            other_vector = self._vector(story_id)
            shared = [word for word in vector if word in other_vector]
            if evidence(shared, words.numbers) < _MIN_SHARED:
                continue
            closeness = self._closeness((words, vector), (story, other_vector), shared, _JOIN_BESIDES)
            is_bare = not (words.has_lead or story.has_lead)
            if is_bare and closeness < _SAME_TITLE and evidence(shared, words.numbers | GENERIC) < _MIN_SHARED:
                continue
            is_same_feed = story.feeds == (headline.feed_id,)
            if closeness >= (_SAME_FEED_THRESHOLD if is_same_feed else threshold):
                matches.append((-closeness, story_id))
            elif closeness >= DOUBTFUL * threshold and not is_same_feed:
                doubts.append((-closeness, story_id))
        return [story_id for _, story_id in sorted(matches)], min(doubts)[1] if doubts else None

    def _candidates(self, weights: _Vector) -> Iterable[int]:
        """The newest stories that share at least two of the heaviest words."""
        heaviest = _heaviest(weights, _QUERY_WORDS)
        hits = Counter(chain.from_iterable(self._recent.get(word, ()) for _, word in heaviest))
        found = [story_id for story_id, number in hits.items() if number >= _MIN_QUERY_HITS]
        if len(found) > _MAX_CANDIDATES:
            found.sort(key=lambda story_id: (-hits[story_id], -story_id))
        return found[:_MAX_CANDIDATES]

    def _closeness(self, first: "_Side", second: "_Side", shared: Sequence[str], besides: float) -> float:
        (words, vector), (other_words, other_vector) = first, second
        closeness = sum(products := [vector[word] * other_vector[word] for word in shared])
        if words.has_lead != other_words.has_lead:
            is_one_word = closeness - max(products, default=0.0) < besides
            return closeness * _ONE_LEAD * (_ONE_NAME_ONLY if is_one_word else 1.0)
        if not words.has_lead:
            return closeness
        if not (words.shows_names and other_words.shows_names):
            return closeness * _UNMARKED_NAMES
        names = [word for word in shared if word in words.names or word in other_words.names]
        if names and _is_one_name(names, list(vector)) and NAMED_EVENTS.isdisjoint(shared):
            others = (word for word in shared if word not in names and word not in GENERIC)
            if sum(vector[word] * other_vector[word] for word in others) < besides:
                closeness *= _ONE_NAME_ONLY
        return closeness * self._name_factor(words, other_words)

    def _name_factor(self, words: "HeadlineWords | _Story", other: "HeadlineWords | _Story") -> float:
        if not words.names or not other.names:
            same = any(is_specific(number) for number in words.numbers if number in other.numbers)
            return _SAME_NUMBER if same else _NO_NAMES
        shared = own = 0.0
        for name in words.names:
            rarity = self._rarity(name)
            own += rarity
            if name in other.names:
                shared += rarity
        if not shared:
            return _OTHER_NAMES
        share = shared / min(own, _MAX_NAME_WEIGHT)
        return min(1.0, _NAMES_APART + (1 - _NAMES_APART) * share / _ENOUGH_SHARED_NAMES)

    def _rarity(self, word: str) -> float:
        return math.log(1 + (len(self._stories) + _SMOOTHING) / self._used_by.get(word, 1))

    def _weighed(self, weights: Iterable[tuple[str, float]]) -> _Vector:
        """The weights times the rarity of each word."""
        # Like `_rarity`, without a call for each word: grouping spends most of its time here.
        log, used, stories = math.log, self._used_by.get, len(self._stories) + _SMOOTHING
        return {word: weight * log(1 + stories / used(word, 1)) for word, weight in weights}

    def _vector(self, story_id: int) -> _Vector:
        """The most typical words of a story, as a unit vector."""
        story, cached = self._stories[story_id], self._vectors.get(story_id)
        if cached is not None and cached.is_fresh(story.size, self._placed):
            return cached.vector
        weights = zip(story.words, story.weights, strict=True)
        typical = _heaviest(self._weighed(weights), _VECTOR_WORDS)
        vector = unit_vector({word: -weight for weight, word in typical})
        if len(self._vectors) >= _MAX_VECTORS:
            del self._vectors[next(iter(self._vectors))]
        self._vectors.pop(story_id, None)
        self._vectors[story_id] = _CachedVector(vector, story.size, self._placed)
        return vector

    # --- Merging

    def _merge_close(self, story_id: int, others: Iterable[int]) -> tuple[int, tuple[int, ...]]:
        """Merge the stories that the new entry has shown to be one."""
        merged: list[int] = []
        for other_id in others:
            if self._is_one_story(story_id, other_id, is_grown=False):
                story_id, merged_id = self._merge(story_id, other_id)
                merged.append(merged_id)
        return story_id, tuple(merged)

    def _merge_grown(self, story_id: int) -> tuple[int, tuple[int, ...]]:
        """Look for stories that the words of a grown story have come close to."""
        merged: list[int] = []
        for other_id in self._candidates(self._vector(story_id)):
            if other_id == story_id or other_id not in self._stories:
                continue
            story, other = self._stories[story_id], self._stories[other_id]
            if len(story.feeds) == 1 and story.feeds == other.feeds:
                continue
            if not (story.has_lead or other.has_lead) and min(story.size, other.size) < 2:
                continue
            if self._is_one_story(story_id, other_id, is_grown=True):
                story_id, merged_id = self._merge(story_id, other_id)
                merged.append(merged_id)
        return story_id, tuple(merged)

    def _is_one_story(self, first_id: int, second_id: int, *, is_grown: bool) -> bool:
        if self._stories[first_id].size > self._stories[second_id].size:
            first_id, second_id = second_id, first_id
        first, second = self._stories[first_id], self._stories[second_id]
        if not first.is_near(second.first, second.newest):
            return False
        vector, other = self._vector(first_id), self._vector(second_id)
        shared = [word for word in vector if word in other]
        if first.size == 1 and second.size >= _GROWN and first.has_lead and second.has_lead:
            return self._closeness((first, vector), (second, other), shared, _JOIN_BESIDES) >= _WITH_LEAD.join
        limits = _WITH_LEAD if first.has_lead or second.has_lead else _TITLE_ONLY
        threshold = limits.merge_grown if is_grown else limits.merge
        return self._closeness((first, vector), (second, other), shared, _MERGE_BESIDES) >= threshold

    def _merge(self, first_id: int, second_id: int) -> tuple[int, int]:
        """Merge the smaller story into the larger one: the ids of the remaining and of the merged one."""
        first, second = self._stories[first_id], self._stories[second_id]
        if (first.size, -first_id) < (second.size, -second_id):
            first_id, second_id, first, second = second_id, first_id, second, first
        self._drop(second_id)
        known = set(first.words)
        first.take(second)
        self._note_words(first_id, known, second.words)
        return first_id, second_id

    # --- The words in use

    def _add(self, story_id: int, headline: Headline, words: HeadlineWords) -> None:
        # Remove and re-insert, so that recently updated stories come last.
        story = self._stories.pop(story_id, None) or _Story(headline.at)
        self._stories[story_id] = story
        known = set(story.words)
        story.add(headline, words)
        self._note_words(story_id, known, words.weights)
        if len(self._stories) > MAX_STORIES:
            self._drop(next(iter(self._stories)))

    def _note_words(self, story_id: int, known: Collection[str], words: Iterable[str]) -> None:
        for word in words:
            recent = self._recent.get(word)
            if recent is None:
                recent = self._recent[word] = []
            if word not in known:
                self._used_by[word] = self._used_by.get(word, 0) + 1
            elif story_id in recent:
                recent.remove(story_id)
            recent.append(story_id)
            if len(recent) > _RECENT_STORIES:
                del recent[0]
        for word in self._stories[story_id].drop_rare():
            self._remove_use(word, story_id)

    def _drop(self, story_id: int) -> None:
        self._vectors.pop(story_id, None)
        for word in self._stories.pop(story_id).words:
            self._remove_use(word, story_id)

    def _remove_use(self, word: str, story_id: int) -> None:
        number = self._used_by[word] - 1
        if not number:
            del self._used_by[word], self._recent[word]
            return
        self._used_by[word] = number
        recent = self._recent[word]
        if story_id in recent:
            recent.remove(story_id)


@record
class _CachedVector:
    vector: _Vector
    size: int
    placed: int

    def is_fresh(self, size: int, placed: int) -> bool:
        return size <= self.size * 1.1 and placed <= self.placed * 1.6 + 20


class _Story:
    __slots__ = (
        "feeds",
        "first",
        "has_lead",
        "names",
        "newest",
        "numbers",
        "shows_names",
        "size",
        "title",
        "weights",
        "words",
    )

    def __init__(self, at: Instant) -> None:
        self.first = self.newest = at
        self.size = 0
        # Parallel, because 20,000 dicts would take too much memory.
        self.words: tuple[str, ...] = ()
        self.weights = array("f")
        self.names: tuple[str, ...] = ()
        self.numbers: tuple[str, ...] = ()
        self.title: tuple[str, ...] = ()
        """The words of the titles if they are nearly the same; else nothing."""
        self.feeds: tuple[int, ...] = ()
        self.has_lead = self.shows_names = False

    def add(self, headline: Headline, words: HeadlineWords) -> None:
        if not self.size:
            self.title = tuple(words.title)
        elif len(words.title.intersection(self.title)) < SERIES_SHARE * len(words.title):
            self.title = ()
        self.first, self.newest = min(self.first, headline.at), max(self.newest, headline.at)
        self._take(1, (headline.feed_id,), words.weights)
        self._take_names(words.names, words.numbers, words)

    def take(self, other: "_Story") -> None:
        self.title = ()
        self.first, self.newest = min(self.first, other.first), max(self.newest, other.newest)
        self._take(other.size, other.feeds, dict(zip(other.words, other.weights, strict=True)))
        self._take_names(other.names, other.numbers, other)

    def is_near(self, first: Instant, newest: Instant) -> bool:
        apart = max(first - self.newest, self.first - newest)
        return apart <= SPAN and max(self.newest, newest) - min(self.first, first) <= MAX_AGE

    def is_other_of_series(self, words: HeadlineWords) -> bool:
        """Whether the titles differ by their numbers only, as in "Issue 88" and "Issue 89"."""
        if not (self.title and words.numbers and self.numbers) or not words.numbers.isdisjoint(self.numbers):
            return False
        shared = len(words.title.intersection(self.title))
        return shared > 0 and shared >= SERIES_SHARE * max(len(words.title), len(self.title))

    def drop_rare(self) -> list[str]:
        """Drop the rarer half of the words when there are too many: a long story repeats only few of them."""
        if len(self.words) <= _MAX_STORY_WORDS:
            return []
        weights = dict(zip(self.words, self.weights, strict=True))
        rare = sorted(weights, key=lambda word: (weights[word], word))[: len(weights) // 2]
        for word in rare:
            del weights[word]
        self._set_words(weights)
        return rare

    def _take(self, size: int, feeds: Iterable[int], words: Mapping[str, float]) -> None:
        self.size += size
        for feed_id in feeds:
            if feed_id not in self.feeds and len(self.feeds) < _MAX_FEEDS:
                self.feeds = (*self.feeds, feed_id)
        if not self.words:
            return self._set_words(words)
        weights = dict(zip(self.words, self.weights, strict=True))
        for word, weight in words.items():
            weights[word] = weights.get(word, 0.0) + weight
        return self._set_words(weights)

    def _take_names(self, names: Iterable[str], numbers: Iterable[str], words: "HeadlineWords | _Story") -> None:
        self.names = tuple(dict.fromkeys((*self.names, *names)))[:_MAX_STORY_NAMES]
        self.numbers = tuple(dict.fromkeys((*self.numbers, *numbers)))[:_MAX_STORY_NAMES]
        self.has_lead = self.has_lead or words.has_lead
        self.shows_names = self.shows_names or words.shows_names

    def _set_words(self, weights: Mapping[str, float]) -> None:
        self.words, self.weights = tuple(weights), array("f", weights.values())


_Side = tuple[HeadlineWords | _Story, _Vector]


def _heaviest(weights: _Vector, number: int) -> list[tuple[float, str]]:
    """The heaviest words after their weights, which are negative."""
    return sorted([(-weight, word) for word, weight in weights.items()])[:number]


def _is_one_name(names: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the names follow each other: "Bank", "England"."""
    places = {words.index(name) for name in names}
    return sum(place - 1 not in places for place in places) == 1


@record
class ResolvedStory:
    """The changes to store after placing some entries."""

    homes: Mapping[int, int]
    """Entry id to story id, for entries in a story."""
    merges: Mapping[int, int]
    """Merged story id to the id of the remaining story."""
    newest: Mapping[int, Instant]


def resolve(placed: Iterable[tuple[Headline, Placed]]) -> ResolvedStory:
    story_ids: dict[int, int] = {}
    merges: dict[int, int] = {}
    newest: dict[int, Instant] = {}
    for headline, placement in placed:
        for merged_id in placement.merged:
            merges = {old: placement.story_id if new == merged_id else new for old, new in merges.items()}
            merges[merged_id] = story_ids[merged_id] = placement.story_id
        if not placement.is_alone:
            # The first entry of a story gets its story id only when a second one joins.
            story_ids[placement.story_id] = story_ids[headline.entry_id] = placement.story_id
            newest[placement.story_id] = max(headline.at, newest.get(placement.story_id, headline.at))
    final = {entry_id: merges.get(story_id, story_id) for entry_id, story_id in story_ids.items()}
    return ResolvedStory(final, merges, {story: newest.get(story, 0) for story in set(final.values())})
