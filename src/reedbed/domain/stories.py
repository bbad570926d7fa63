"""A story: entries of several feeds about one event, as one reader sees them side by side."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reedbed.domain.entries import EntryRow
from reedbed.domain.framing import Analysis
from reedbed.domain.records import record
from reedbed.domain.story_index import Headline, Placed, title_words
from reedbed.domain.times import DAY, Instant

KEPT = 30 * DAY
"""After its last news; the entries stay, they are only no longer told together."""
MOST_OUTLETS = 100
MOST_ONLY_HERE = 2

_SHORTEST_SENTENCE = 40
_LONGEST_SENTENCE = 320
_MOST_SENTENCES = 80
_LEAST_NEW = 0.6
_LEAST_NEW_WORDS = 4


@record
class Source:
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
    sources: tuple[Source, ...] = ()
    """The first ones."""

    @property
    def headline(self) -> Source:
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
class Settled:
    """What some placed entries change."""

    homes: Mapping[int, int]
    """The story of each entry that has one."""
    merges: Mapping[int, int]
    """Stories that are now part of another."""
    newest: Mapping[int, Instant]


def settle(placed: Iterable[tuple[Headline, Placed]]) -> Settled:
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
    return Settled(final, merges, {story: newest.get(story, 0) for story in set(final.values())})


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
    for place, sentence in enumerate(told[:_MOST_SENTENCES]):
        if not _SHORTEST_SENTENCE <= len(sentence) <= _LONGEST_SENTENCE:
            continue
        words = _sentence_words(sentence)
        new = sum(by_how_many[word] == 1 for word in words)
        if new >= _LEAST_NEW_WORDS and new >= _LEAST_NEW * len(words):
            found.append((-new / (len(words) + 4), place))
    best = sorted(place for _, place in sorted(found)[:MOST_ONLY_HERE])
    return tuple(told[place] for place in best)


def _sentence_words(sentence: str) -> frozenset[str]:
    return frozenset(title_words(sentence))
