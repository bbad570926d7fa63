"""A story: entries of several feeds about one event, as one reader sees them side by side."""

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
"""How far an entry may lie from the story it joins."""
LONGEST = 7 * DAY
"""How long a story can go on."""
MAX_STORIES = 20_000

# Chosen on headlines of one half of the measured stories; `bench/stories.py` prints both halves.
_SAME_EVENT = 0.22
_ONE_STORY = 0.27
_SAME_FEED = 0.6
"""A feed alone makes no event: its series have much the same titles, so only news of the same thing join."""

_LOOKING = 6
_LOOKED_AT = 24
_TELLING = 30
_MAX_WORDS = 24
_MAX_KEPT = 300
_MAX_FEEDS = 8
_TO_MERGE = 3
_MIN_SHARED = 2.0
_FEW_STORIES = 50
_STEM = 6
_STALE = 1.1

_NO_WORDS = frozenset(word for small in SMALL for word in fold(small).split())


@record
class Headline:
    entry_id: int
    feed_id: int
    title: str
    at: Instant
    is_private: bool = False
    """It may join a story of others, but what it says is not learnt and begins none."""


@record
class Placed:
    """Where an entry belongs; a story is named by the entry it began with."""

    story_id: int
    is_alone: bool
    merged: tuple[int, ...] = ()
    """Stories that have become part of this one."""


class StoryIndex:
    """The stories of the last days, in memory."""

    def __init__(self) -> None:
        self._stories: dict[int, _Story] = {}
        self._using: dict[str, dict[int, None]] = {}
        self._places = 0

    def __len__(self) -> int:
        return len(self._stories)

    def place(self, headline: Headline) -> Placed:
        """Find the entry's story or begin one, and learn from it."""
        self._places += 1
        words = title_words(headline.title)
        close = self._close(headline, words)
        if not close:
            if not headline.is_private and words:
                self._learn(headline.entry_id, headline, words)
            return Placed(headline.entry_id, is_alone=True)
        if headline.is_private:
            return Placed(close[0], is_alone=False)
        self._learn(close[0], headline, words)
        return self._joined(close)

    def restore(self, headline: Headline, story_id: int) -> None:
        """Learn from an entry whose place is known."""
        self._places += 1
        self._learn(story_id, headline, title_words(headline.title))

    def forget(self, before: Instant) -> None:
        """Stories without news since then; those that grew last are kept last."""
        old: list[int] = []
        for story_id, story in self._stories.items():
            if story.newest >= before:
                break
            old.append(story_id)
        for story_id in old:
            self._drop(story_id)

    def _close(self, headline: Headline, words: Mapping[str, float]) -> list[int]:
        """Stories of the same event, the closest first."""
        weights = {word: self._weight(word) for word in words}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        found: list[tuple[float, int]] = []
        for story_id in self._candidates(weights):
            story = self._stories[story_id]
            if not story.is_near(headline.at, headline.at):
                continue
            closeness = self._closeness(story, words, weights) / length
            if closeness >= (_SAME_FEED if story.is_only_of(headline.feed_id) else _SAME_EVENT):
                found.append((closeness, story_id))
        return [story_id for _, story_id in sorted(found, key=lambda one: (-one[0], one[1]))]

    def _candidates(self, weights: Mapping[str, float]) -> Iterable[int]:
        """The newest stories that use its rarest words."""
        found: dict[int, None] = {}
        for word in sorted(weights, key=lambda word: (-weights[word], word))[:_LOOKING]:
            found |= dict.fromkeys(islice(reversed(self._using.get(word, {})), _LOOKED_AT - len(found)))
            if len(found) >= _LOOKED_AT:
                break
        return found

    def _closeness(self, story: "_Story", words: Mapping[str, float], weights: Mapping[str, float]) -> float:
        telling = self._telling(story)
        shared = [word for word in words if word in telling]
        if sum(words[word] for word in shared) < _MIN_SHARED:
            return 0.0
        return sum(weights[word] * telling[word] for word in shared)

    def _weight(self, word: str) -> float:
        used_by = len(self._using.get(word, ())) or 1
        return math.log(1 + (len(self._stories) + _FEW_STORIES) / used_by)

    def _telling(self, story: "_Story") -> Mapping[str, float]:
        """The words a story is known by, as a vector of length one."""
        if (
            story.telling
            and story.size <= story.told_size * _STALE
            and self._places <= story.told_at * _STALE
        ):
            return story.telling
        weighed = {word: count / story.size * self._weight(word) for word, count in story.words.items()}
        heaviest = sorted(weighed.items(), key=lambda one: (-one[1], one[0]))[:_TELLING]
        length = math.sqrt(sum(weight * weight for _, weight in heaviest)) or 1.0
        story.telling = {word: weight / length for word, weight in heaviest}
        story.told_size, story.told_at = story.size, self._places
        return story.telling

    def _learn(self, story_id: int, headline: Headline, words: Iterable[str]) -> None:
        # Taken out and put back: what grew last stands last, in the stories and in each word's.
        story = self._stories.pop(story_id, None) or _Story(headline.at)
        self._stories[story_id] = story
        story.add(headline, words)
        for word in words:
            using = self._using.setdefault(word, {})
            using.pop(story_id, None)
            using[story_id] = None
        for word in story.forget_rare():
            self._unuse(word, story_id)
        if len(self._stories) > MAX_STORIES:
            self._drop(next(iter(self._stories)))

    def _joined(self, close: list[int]) -> Placed:
        home, merged = close[0], list[int]()
        for other in close[1 : 1 + _TO_MERGE]:
            if other in self._stories and self._is_one_story(home, other):
                home, gone = self._larger_first(home, other)
                self._merge(home, gone)
                merged.append(gone)
        return Placed(home, is_alone=False, merged=tuple(merged))

    def _is_one_story(self, one: int, other: int) -> bool:
        first, second = self._stories[one], self._stories[other]
        if not first.is_near(second.first, second.newest):
            return False
        mine, theirs = self._telling(first), self._telling(second)
        return sum(weight * theirs[word] for word, weight in mine.items() if word in theirs) >= _ONE_STORY

    def _larger_first(self, one: int, other: int) -> tuple[int, int]:
        sizes = self._stories[one].size, self._stories[other].size
        return (one, other) if (sizes[0], -one) >= (sizes[1], -other) else (other, one)

    def _merge(self, home: int, gone: int) -> None:
        other = self._stories[gone]
        self._drop(gone)
        self._stories[home].take(other)
        for word in other.words:
            self._using.setdefault(word, {})[home] = None
        for word in self._stories[home].forget_rare():
            self._unuse(word, home)

    def _drop(self, story_id: int) -> None:
        for word in self._stories.pop(story_id).words:
            self._unuse(word, story_id)

    def _unuse(self, word: str, story_id: int) -> None:
        using = self._using.get(word)
        if using is not None:
            using.pop(story_id, None)
            if not using:
                del self._using[word]


class _Story:
    __slots__ = ("feeds", "first", "newest", "size", "telling", "told_at", "told_size", "words")

    def __init__(self, at: Instant) -> None:
        self.first = self.newest = at
        self.size = 0
        self.words: dict[str, int] = {}
        self.feeds: tuple[int, ...] = ()
        self.telling: Mapping[str, float] = {}
        self.told_size = self.told_at = 0

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
        self.told_size = 0

    def is_near(self, first: Instant, newest: Instant) -> bool:
        apart = max(first - self.newest, self.first - newest)
        return apart <= SPAN and max(self.newest, newest) - min(self.first, first) <= LONGEST

    def is_only_of(self, feed_id: int) -> bool:
        return self.feeds == (feed_id,)

    def forget_rare(self) -> list[str]:
        """A long story returns to few words; those said once are let go when there are too many."""
        if len(self.words) <= _MAX_KEPT:
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
    """The words that say something, by their beginnings, with how much each counts as a word in common.

    A number is not evidence alone, and of signs written without blanks it takes two pairs for a word.
    """
    return dict(islice(_told(title), _MAX_WORDS))


def _told(title: str) -> Iterator[tuple[str, float]]:
    for word in index_text(title[:400]).split():
        if len(word) < 2 or word in _NO_WORDS:
            continue
        yield intern(word[:_STEM]), 0.5 if is_cjk(word) else 0.0 if word.isdecimal() else 1.0


KEPT = 30 * DAY
"""After its last news; the entries stay, they are only no longer told together."""
MAX_OUTLETS = 100
MAX_ONLY_HERE = 2

_MIN_SENTENCE = 40
_MAX_SENTENCE_LENGTH = 320
_MAX_SENTENCES = 80
_MIN_NEW = 0.6
_MIN_NEW_WORDS = 4


@record
class StorySource:
    """An entry of a story, as short as a list needs it."""

    entry_id: int
    feed_id: int
    feed: str
    icon_id: int | None
    title: str
    language: str
    at: Instant


@record
class StoryLine:
    id: int
    first_at: Instant
    newest_at: Instant
    entries: int
    feeds: int
    unread: int
    sources: tuple[StorySource, ...] = ()
    """The first ones."""

    @property
    def headline(self) -> StorySource:
        return self.sources[central([one.title for one in self.sources])]


@record
class Outlet:
    row: EntryRow
    feed: str
    icon_id: int | None
    only_here: tuple[str, ...] = ()
    """Sentences that say what no other outlet says."""
    analysis: Analysis | None = None


@record
class Story:
    id: int
    outlets: tuple[Outlet, ...]
    """The first to report it first."""
    apart: tuple[Outlet, ...] = ()
    """What this reader said is not the same story."""

    @property
    def headline(self) -> EntryRow:
        among = self.outlets or self.apart
        return among[central([one.row.title for one in among])].row

    @property
    def feeds(self) -> int:
        return len({one.row.feed_id for one in self.outlets})

    @property
    def unread(self) -> int:
        return sum(not one.row.states.read for one in self.outlets)


@record
class ResolvedStory:
    """What some placed entries change."""

    homes: Mapping[int, int]
    """The story of each entry that has one."""
    merges: Mapping[int, int]
    """Stories that are now part of another."""
    newest: Mapping[int, Instant]


def settle(placed: Iterable[tuple[Headline, Placed]]) -> ResolvedStory:
    homes: dict[int, int] = {}
    merges: dict[int, int] = {}
    newest: dict[int, Instant] = {}
    for headline, place in placed:
        for gone in place.merged:
            merges = {old: place.story_id if new == gone else new for old, new in merges.items()}
            merges[gone] = homes[gone] = place.story_id
        if not place.is_alone:
            # The entry a story began with learns only now that it has company.
            homes[place.story_id] = homes[headline.entry_id] = place.story_id
            newest[place.story_id] = max(headline.at, newest.get(place.story_id, headline.at))
    final = {entry_id: merges.get(story_id, story_id) for entry_id, story_id in homes.items()}
    return ResolvedStory(final, merges, {story: newest.get(story, 0) for story in set(final.values())})


def central(titles: Sequence[str]) -> int:
    """The place of the title that says most of what the others say; the first of equals."""
    words = [title_words(title) for title in titles]
    spread = Counter(word for one in words for word in one)
    worth = [sum(spread[word] - 1 for word in one) / (len(one) + 3) for one in words]
    return max(range(len(titles)), key=lambda place: worth[place])


def only_here(texts: Mapping[int, Sequence[str]]) -> dict[int, tuple[str, ...]]:
    """Of the sentences of each text, those most of whose words no other text has."""
    used = {key: {word for one in told for word in _sentence_words(one)} for key, told in texts.items()}
    if sum(bool(words) for words in used.values()) < 2:
        return {}
    by_how_many = Counter(word for words in used.values() for word in words)
    return {key: _own(told, by_how_many) for key, told in texts.items()}


def _own(told: Sequence[str], by_how_many: Mapping[str, int]) -> tuple[str, ...]:
    found: list[tuple[float, int]] = []
    for place, sentence in enumerate(told[:_MAX_SENTENCES]):
        if not _MIN_SENTENCE <= len(sentence) <= _MAX_SENTENCE_LENGTH:
            continue
        words = _sentence_words(sentence)
        new = sum(by_how_many[word] == 1 for word in words)
        if new >= _MIN_NEW_WORDS and new >= _MIN_NEW * len(words):
            found.append((-new / (len(words) + 4), place))
    best = sorted(place for _, place in sorted(found)[:MAX_ONLY_HERE])
    return tuple(told[place] for place in best)


def _sentence_words(sentence: str) -> frozenset[str]:
    return frozenset(title_words(sentence))
