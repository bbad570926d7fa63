"""Stories: entries of several feeds about the same event, grouped by the words of their titles.

`StoryIndex` assigns each new entry to a story. The second part holds the views of a story and finds what only
one of its sources reports.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from sys import intern

from reedbed.domain.entries import EntryRow
from reedbed.domain.framing import Analysis
from reedbed.domain.records import record
from reedbed.domain.stopwords import SMALL
from reedbed.domain.text import fold, index_text, is_cjk
from reedbed.domain.times import DAY, HOUR, Instant

SPAN = 72 * HOUR
"""Maximum time between an entry and the story it joins."""
LONGEST = 7 * DAY
"""Maximum duration of a story."""
MAX_STORIES = 20_000

# Tuned on one half of the measured stories; `bench/stories.py` prints the results for both halves.
_JOIN_THRESHOLD = 0.22
_MERGE_THRESHOLD = 0.27
_SAME_FEED_THRESHOLD = 0.6
"""Higher threshold within one feed, because a series of articles has very similar titles."""

_QUERY_WORDS = 6
_MAX_CANDIDATES = 24
_VECTOR_WORDS = 30
_MAX_WORDS = 24
_MAX_STORY_WORDS = 300
_MAX_FEEDS = 8
_MAX_MERGES = 3
_MIN_SHARED = 2.0
_SMOOTHING = 50
_STEM_LENGTH = 6
_STALE_FACTOR = 1.1

_STOPWORDS = frozenset(word for small in SMALL for word in fold(small).split())


@record
class Headline:
    entry_id: int
    feed_id: int
    title: str
    at: Instant
    is_private: bool = False
    """It may join an existing story, but adds no words to the index and starts no story."""


@record
class Placed:
    """The story of an entry. A story has the id of its first entry."""

    story_id: int
    is_alone: bool
    merged: tuple[int, ...] = ()
    """Stories that were merged into this one."""


class StoryIndex:
    """In-memory index of the stories of the last days."""

    def __init__(self) -> None:
        self._stories: dict[int, _Story] = {}
        self._using: dict[str, dict[int, None]] = {}
        self._placed = 0

    def __len__(self) -> int:
        return len(self._stories)

    def place(self, headline: Headline) -> Placed:
        """Find or start the entry's story and add its words to the index."""
        self._placed += 1
        words = title_words(headline.title)
        close = self._close_stories(headline, words)
        if not close:
            if not headline.is_private and words:
                self._add_words(headline.entry_id, headline, words)
            return Placed(headline.entry_id, is_alone=True)
        if headline.is_private:
            return Placed(close[0], is_alone=False)
        self._add_words(close[0], headline, words)
        return self._joined(close)

    def restore(self, headline: Headline, story_id: int) -> None:
        """Add the words of an entry whose story is known."""
        self._placed += 1
        self._add_words(story_id, headline, title_words(headline.title))

    def forget(self, before: Instant) -> None:
        """Delete stories without entries since `before`. Recently updated stories come last in the dict."""
        old: list[int] = []
        for story_id, story in self._stories.items():
            if story.newest >= before:
                break
            old.append(story_id)
        for story_id in old:
            self._drop(story_id)

    def _close_stories(self, headline: Headline, words: Mapping[str, float]) -> list[int]:
        """Stories of the same event, the closest first."""
        weights = {word: self._weight(word) for word in words}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        matches: list[tuple[float, int]] = []
        for story_id in self._candidates(weights):
            story = self._stories[story_id]
            if not story.is_near(headline.at, headline.at):
                continue
            closeness = self._closeness(story, words, weights) / length
            if closeness >= (_SAME_FEED_THRESHOLD if story.is_only_of(headline.feed_id) else _JOIN_THRESHOLD):
                matches.append((closeness, story_id))
        return [story_id for _, story_id in sorted(matches, key=lambda match: (-match[0], match[1]))]

    def _candidates(self, weights: Mapping[str, float]) -> Iterable[int]:
        """The newest stories that use the rarest words of the title."""
        candidates: dict[int, None] = {}
        for word in sorted(weights, key=lambda word: (-weights[word], word))[:_QUERY_WORDS]:
            candidates |= dict.fromkeys(
                islice(reversed(self._using.get(word, {})), _MAX_CANDIDATES - len(candidates))
            )
            if len(candidates) >= _MAX_CANDIDATES:
                break
        return candidates

    def _closeness(self, story: "_Story", words: Mapping[str, float], weights: Mapping[str, float]) -> float:
        vector = self._vector(story)
        shared = [word for word in words if word in vector]
        if sum(words[word] for word in shared) < _MIN_SHARED:
            return 0.0
        return sum(weights[word] * vector[word] for word in shared)

    def _weight(self, word: str) -> float:
        used_by = len(self._using.get(word, ())) or 1
        return math.log(1 + (len(self._stories) + _SMOOTHING) / used_by)

    def _vector(self, story: "_Story") -> Mapping[str, float]:
        """The most typical words of a story, as a unit vector."""
        if (
            story.vector
            and story.size <= story.vector_size * _STALE_FACTOR
            and self._placed <= story.vector_at * _STALE_FACTOR
        ):
            return story.vector
        weights = {word: count / story.size * self._weight(word) for word, count in story.words.items()}
        heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:_VECTOR_WORDS]
        length = math.sqrt(sum(weight * weight for _, weight in heaviest)) or 1.0
        story.vector = {word: weight / length for word, weight in heaviest}
        story.vector_size, story.vector_at = story.size, self._placed
        return story.vector

    def _add_words(self, story_id: int, headline: Headline, words: Iterable[str]) -> None:
        # Remove and re-insert, so that recently updated stories come last in both dicts.
        story = self._stories.pop(story_id, None) or _Story(headline.at)
        self._stories[story_id] = story
        story.add(headline, words)
        for word in words:
            story_ids = self._using.setdefault(word, {})
            story_ids.pop(story_id, None)
            story_ids[story_id] = None
        for word in story.forget_rare():
            self._remove_use(word, story_id)
        if len(self._stories) > MAX_STORIES:
            self._drop(next(iter(self._stories)))

    def _joined(self, close: list[int]) -> Placed:
        story_id, merged = close[0], list[int]()
        for other in close[1 : 1 + _MAX_MERGES]:
            if other in self._stories and self._is_one_story(story_id, other):
                story_id, merged_id = self._larger_first(story_id, other)
                self._merge(story_id, merged_id)
                merged.append(merged_id)
        return Placed(story_id, is_alone=False, merged=tuple(merged))

    def _is_one_story(self, story_id: int, other_id: int) -> bool:
        first, second = self._stories[story_id], self._stories[other_id]
        if not first.is_near(second.first, second.newest):
            return False
        first_words, second_words = self._vector(first), self._vector(second)
        return (
            sum(weight * second_words[word] for word, weight in first_words.items() if word in second_words)
            >= _MERGE_THRESHOLD
        )

    def _larger_first(self, first: int, second: int) -> tuple[int, int]:
        sizes = self._stories[first].size, self._stories[second].size
        return (first, second) if (sizes[0], -first) >= (sizes[1], -second) else (second, first)

    def _merge(self, story_id: int, merged_id: int) -> None:
        other = self._stories[merged_id]
        self._drop(merged_id)
        self._stories[story_id].take(other)
        for word in other.words:
            self._using.setdefault(word, {})[story_id] = None
        for word in self._stories[story_id].forget_rare():
            self._remove_use(word, story_id)

    def _drop(self, story_id: int) -> None:
        for word in self._stories.pop(story_id).words:
            self._remove_use(word, story_id)

    def _remove_use(self, word: str, story_id: int) -> None:
        story_ids = self._using.get(word)
        if story_ids is not None:
            story_ids.pop(story_id, None)
            if not story_ids:
                del self._using[word]


class _Story:
    __slots__ = ("feeds", "first", "newest", "size", "vector", "vector_at", "vector_size", "words")

    def __init__(self, at: Instant) -> None:
        self.first = self.newest = at
        self.size = 0
        self.words: dict[str, int] = {}
        self.feeds: tuple[int, ...] = ()
        self.vector: Mapping[str, float] = {}
        self.vector_size = self.vector_at = 0

    def add(self, headline: Headline, words: Iterable[str]) -> None:
        self.size += 1
        self.first, self.newest = min(self.first, headline.at), max(self.newest, headline.at)
        self._add_feeds((headline.feed_id,))
        for word in words:
            self.words[word] = self.words.get(word, 0) + 1

    def take(self, other: "_Story") -> None:
        self.size += other.size
        self.first, self.newest = min(self.first, other.first), max(self.newest, other.newest)
        self._add_feeds(other.feeds)
        for word, count in other.words.items():
            self.words[word] = self.words.get(word, 0) + count
        self.vector_size = 0

    def is_near(self, first: Instant, newest: Instant) -> bool:
        apart = max(first - self.newest, self.first - newest)
        return apart <= SPAN and max(self.newest, newest) - min(self.first, first) <= LONGEST

    def is_only_of(self, feed_id: int) -> bool:
        return self.feeds == (feed_id,)

    def forget_rare(self) -> list[str]:
        """Drop the rarer half of the words when there are too many: a long story repeats only few of them."""
        if len(self.words) <= _MAX_STORY_WORDS:
            return []
        rare = sorted(self.words, key=lambda word: (self.words[word], word))[: len(self.words) // 2]
        for word in rare:
            del self.words[word]
        return rare

    def _add_feeds(self, feeds: Iterable[int]) -> None:
        for feed_id in feeds:
            if feed_id not in self.feeds and len(self.feeds) < _MAX_FEEDS:
                self.feeds = (*self.feeds, feed_id)


def title_words(title: str) -> Mapping[str, float]:
    """The stemmed content words, each with its weight when it is shared with another title.

    A number alone is no evidence (0.0). In CJK text two bigrams count as one word (0.5 each).
    """
    return dict(islice(_weighted_words(title), _MAX_WORDS))


def _weighted_words(title: str) -> Iterator[tuple[str, float]]:
    for word in index_text(title[:400]).split():
        if len(word) < 2 or word in _STOPWORDS:
            continue
        yield intern(word[:_STEM_LENGTH]), 0.5 if is_cjk(word) else 0.0 if word.isdecimal() else 1.0


# --- Views of a story

KEPT = 30 * DAY
"""Counted from the last new entry. The entries stay; only the grouping is deleted."""
MAX_OUTLETS = 100
MAX_ONLY_HERE = 2

_MIN_SENTENCE = 40
_MAX_SENTENCE_LENGTH = 320
_MAX_SENTENCES = 80
_MIN_NEW_SHARE = 0.6
_MIN_NEW_WORDS = 4


@record
class StorySource:
    """An entry of a story, as shown in lists."""

    entry_id: int
    feed_id: int
    feed: str
    icon_id: int | None
    title: str
    language: str
    at: Instant


@record
class StorySummary:
    id: int
    first_at: Instant
    newest_at: Instant
    entries: int
    feeds: int
    unread: int
    sources: tuple[StorySource, ...] = ()
    """The first few only."""

    @property
    def headline(self) -> StorySource:
        return self.sources[central([source.title for source in self.sources])]


@record
class Outlet:
    row: EntryRow
    feed: str
    icon_id: int | None
    only_here: tuple[str, ...] = ()
    """Sentences with information that no other outlet has."""
    analysis: Analysis | None = None


@record
class Story:
    id: int
    outlets: tuple[Outlet, ...]
    """In order of publication."""
    apart: tuple[Outlet, ...] = ()
    """Entries that this user removed from the story."""

    @property
    def headline(self) -> EntryRow:
        outlets = self.outlets or self.apart
        return outlets[central([outlet.row.title for outlet in outlets])].row

    @property
    def feeds(self) -> int:
        return len({outlet.row.feed_id for outlet in self.outlets})

    @property
    def unread(self) -> int:
        return sum(not outlet.row.states.read for outlet in self.outlets)


@record
class ResolvedStory:
    """The changes to store after placing some entries."""

    homes: Mapping[int, int]
    """Entry id to story id, for entries in a story."""
    merges: Mapping[int, int]
    """Merged story id to the id of the remaining story."""
    newest: Mapping[int, Instant]


def settle(placed: Iterable[tuple[Headline, Placed]]) -> ResolvedStory:
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


def central(titles: Sequence[str]) -> int:
    """The index of the title that shares most words with the others; the first one on a tie."""
    words_by_title = [title_words(title) for title in titles]
    counts = Counter(word for title in words_by_title for word in title)
    scores = [sum(counts[word] - 1 for word in title) / (len(title) + 3) for title in words_by_title]
    return max(range(len(titles)), key=lambda index: scores[index])


def only_here(texts: Mapping[int, Sequence[str]]) -> dict[int, tuple[str, ...]]:
    """For each text, the sentences most of whose words appear in no other text."""
    words_by_text = {
        key: {word for sentence in sentences for word in _sentence_words(sentence)}
        for key, sentences in texts.items()
    }
    if sum(bool(words) for words in words_by_text.values()) < 2:
        return {}
    text_counts = Counter(word for words in words_by_text.values() for word in words)
    return {key: _own_sentences(sentences, text_counts) for key, sentences in texts.items()}


def _own_sentences(sentences: Sequence[str], text_counts: Mapping[str, int]) -> tuple[str, ...]:
    scored: list[tuple[float, int]] = []
    for index, sentence in enumerate(sentences[:_MAX_SENTENCES]):
        if not _MIN_SENTENCE <= len(sentence) <= _MAX_SENTENCE_LENGTH:
            continue
        words = _sentence_words(sentence)
        new = sum(text_counts[word] == 1 for word in words)
        if new >= _MIN_NEW_WORDS and new >= _MIN_NEW_SHARE * len(words):
            scored.append((-new / (len(words) + 4), index))
    best = sorted(index for _, index in sorted(scored)[:MAX_ONLY_HERE])
    return tuple(sentences[index] for index in best)


def _sentence_words(sentence: str) -> frozenset[str]:
    return frozenset(title_words(sentence))
