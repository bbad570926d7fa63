"""Digests: many entries told in a few paragraphs, every sentence with the entries that say it.

Ten reports of one event are one item: entries are grouped as stories are before anything is told. Without a
model, each item is told by a line of its own report, under the name of its folder or feed.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime, timedelta, tzinfo

from reedbed.domain.cited import Scope, Sentence, Source, Status
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.stories import settle
from reedbed.domain.story_index import Headline, StoryIndex
from reedbed.domain.times import DAY, Instant, from_datetime, to_datetime

MOST_ENTRIES = 100
MOST_PARAGRAPHS = 5
LEAST_PARAGRAPHS = 3
MOST_SENTENCES = 4
MOST_SOURCES = 10
SPAN = DAY
LONGEST_SPAN = 7 * DAY

NO_ENTRIES = "No articles found from the last 24 hours"
NOTHING_NEW = "There is nothing new since the last digest."
FAILED = "Failed to generate summary. Please try again later."

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\Z", re.ASCII)


def minute_of(time: str) -> int:
    """Of the day at which a digest comes."""
    clock = _CLOCK.match(time)
    if clock is None:
        raise Invalid("The time must look like 07:30.", field="time")
    return int(clock[1]) * 60 + int(clock[2])


@record
class Material:
    """An entry as a digest needs it."""

    entry_id: int
    title: str
    line: str
    text: str
    feed_id: int
    feed: str
    folder: str
    """The folder's name, or empty."""
    at: Instant
    language: str = ""


@record
class Paragraph:
    heading: str
    sentences: tuple[Sentence, ...]


@record
class DigestText:
    paragraphs: tuple[Paragraph, ...] = ()
    sources: tuple[Source, ...] = ()
    feeds: int = 0
    items: int = 0
    dropped: int = 0
    """Sentences that were left out because no entry supported them."""
    fallback: bool = False
    """A model was to be asked, but did not answer: the entries' own lines stand in for it."""


@record
class Digest:
    id: int
    user_id: int
    status: Status
    scope: Scope
    model: str
    language: str
    entries: int
    error: str | None
    since: Instant
    until: Instant
    created_at: Instant
    finished_at: Instant | None
    text: DigestText = field(default=DigestText())


Item = tuple[Material, ...]
"""Reports of one event, the best first."""


def group(materials: Sequence[Material]) -> list[Item]:
    """Entries about one event together, the most reported first, then the newest."""
    index = StoryIndex()
    placed = [(one, index.place(one)) for one in map(_headline, materials)]
    homes = settle(placed).homes
    groups: defaultdict[int, list[Material]] = defaultdict(list)
    for one in materials:
        groups[homes.get(one.entry_id, one.entry_id)].append(one)
    items = [tuple(one) for one in groups.values()]
    return sorted(items, key=lambda item: (-len({one.feed_id for one in item}), -item[0].at))


def compose(items: Sequence[Item]) -> tuple[Paragraph, ...]:
    """Three to five paragraphs, as far as there is something to tell; each under its folder or feed."""
    told = [item for item in items if item[0].line]
    sections = _sections(told)
    paragraphs = [
        Paragraph(heading, tuple(_sentence(item) for item in inside[:MOST_SENTENCES]))
        for heading, inside in sections
    ]
    return tuple(paragraphs)


def next_time(minute: int, zone: tzinfo, now: Instant) -> Instant:
    """The next time a clock in this zone shows this minute of the day."""
    here = to_datetime(now).astimezone(zone)
    day = here.date()
    for ahead in range(3):
        wanted = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
        moment = from_datetime(wanted + timedelta(days=ahead))
        if moment > now:
            return moment
    return now + DAY


def _headline(material: Material) -> Headline:
    return Headline(material.entry_id, material.feed_id, material.title or material.line, material.at)


def _sections(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    by_folder = _by_name(items, lambda item: item[0].folder)
    named = by_folder if len(by_folder) > 1 else _by_name(items, lambda item: item[0].feed)
    sections = sorted(named.items(), key=lambda section: (section[0] == "", -len(section[1])))
    head, rest = sections[:MOST_PARAGRAPHS], sections[MOST_PARAGRAPHS:]
    if rest:
        # The last place is for all the others together.
        others = [item for _, inside in [head.pop(), *rest] for item in inside]
        head.append(("", others))
    return _split(head)


def _by_name(items: Sequence[Item], name: Callable[[Item], str]) -> dict[str, list[Item]]:
    named: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        named[name(item)].append(item)
    return named


def _split(sections: list[tuple[str, list[Item]]]) -> list[tuple[str, list[Item]]]:
    """A section with much to tell becomes two, until there are three paragraphs."""
    while sections and len(sections) < LEAST_PARAGRAPHS:
        place = max(range(len(sections)), key=lambda one: len(sections[one][1]))
        heading, inside = sections[place]
        if len(inside) < 2:
            break
        half = min(MOST_SENTENCES, (len(inside) + 1) // 2)
        sections[place : place + 1] = [(heading, inside[:half]), ("", inside[half:])]
    return sections


def _sentence(item: Item) -> Sentence:
    best = item[0]
    ids = dict.fromkeys(one.entry_id for one in item)
    return Sentence(best.line, tuple(ids)[:MOST_SOURCES], best.language)
