"""A digest as text and as markup: for a letter and for a file."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta, tzinfo
from html import escape
from typing import Literal, Protocol

from reedbed.domain.email import Email
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.stories import Headline, StoryIndex, settle
from reedbed.domain.times import DAY, Instant, from_datetime, to_datetime

Status = Literal["pending", "ready", "failed"]


@record
class DigestScope:
    """The entries a text is told from; nothing set: everything."""

    folder_id: int | None = None
    tag: str | None = None
    q: str | None = None


@record
class Sentence:
    text: str
    entry_ids: tuple[int, ...]
    language: str = ""


@record
class Source:
    entry_id: int
    title: str
    feed: str
    at: Instant
    language: str = ""


class Citable(Protocol):
    """An entry that was read for a text."""

    @property
    def entry_id(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def feed(self) -> str: ...
    @property
    def at(self) -> Instant: ...
    @property
    def language(self) -> str: ...


def sources_of(sentences: Iterable[Sentence], entries: Iterable[Citable]) -> tuple[Source, ...]:
    """The cited entries in the order in which the sentences name them."""
    known = {one.entry_id: one for one in entries}
    cited = dict.fromkeys(id_ for sentence in sentences for id_ in sentence.entry_ids if id_ in known)
    found = (known[id_] for id_ in cited)
    return tuple(Source(one.entry_id, one.title, one.feed, one.at, one.language) for one in found)


MAX_ENTRIES = 100
MAX_PARAGRAPHS = 5
MIN_PARAGRAPHS = 3
MAX_SENTENCES = 4
MAX_SOURCES = 10
SPAN = DAY
MAX_SPAN = 7 * DAY

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
class PromptContext:
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
    scope: DigestScope
    model: str
    language: str
    entries: int
    error: str | None
    since: Instant
    until: Instant
    created_at: Instant
    finished_at: Instant | None
    text: DigestText = field(default=DigestText())


Item = tuple[PromptContext, ...]
"""Reports of one event, the best first."""


def group(materials: Sequence[PromptContext]) -> list[Item]:
    """Entries about one event together, the most reported first, then the newest."""
    index = StoryIndex()
    placed = [(one, index.place(one)) for one in map(_headline, materials)]
    homes = settle(placed).homes
    groups: defaultdict[int, list[PromptContext]] = defaultdict(list)
    for one in materials:
        groups[homes.get(one.entry_id, one.entry_id)].append(one)
    items = [tuple(one) for one in groups.values()]
    return sorted(items, key=lambda item: (-len({one.feed_id for one in item}), -item[0].at))


def compose(items: Sequence[Item]) -> tuple[Paragraph, ...]:
    """Three to five paragraphs, as far as there is something to tell; each under its folder or feed."""
    told = [item for item in items if item[0].line]
    sections = _sections(told)
    paragraphs = [
        Paragraph(heading, tuple(_sentence(item) for item in inside[:MAX_SENTENCES]))
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


def _headline(material: PromptContext) -> Headline:
    return Headline(material.entry_id, material.feed_id, material.title or material.line, material.at)


def _sections(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    by_folder = _by_name(items, lambda item: item[0].folder)
    named = by_folder if len(by_folder) > 1 else _by_name(items, lambda item: item[0].feed)
    sections = sorted(named.items(), key=lambda section: (section[0] == "", -len(section[1])))
    head, rest = sections[:MAX_PARAGRAPHS], sections[MAX_PARAGRAPHS:]
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
    while sections and len(sections) < MIN_PARAGRAPHS:
        place = max(range(len(sections)), key=lambda one: len(sections[one][1]))
        heading, inside = sections[place]
        if len(inside) < 2:
            break
        half = min(MAX_SENTENCES, (len(inside) + 1) // 2)
        sections[place : place + 1] = [(heading, inside[:half]), ("", inside[half:])]
    return sections


def _sentence(item: Item) -> Sentence:
    best = item[0]
    ids = dict.fromkeys(one.entry_id for one in item)
    return Sentence(best.line, tuple(ids)[:MAX_SOURCES], best.language)


def digest_email(to: str, digest: Digest, base_url: str, unsubscribe_url: str = "") -> Email:
    return Email(
        to,
        digest_title(digest),
        _plain(digest, base_url, unsubscribe_url),
        _markup(digest, base_url, unsubscribe_url),
        unsubscribe_url,
    )


def digest_title(digest: Digest) -> str:
    day = to_datetime(digest.until)
    return f"The day in short, {day.day}.{day.month}.{day.year}"


def digest_html(digest: Digest, base_url: str) -> str:
    """Plain markup without pictures or styles from elsewhere: nothing in it tells that it was opened."""
    parts = [f"<p>{escape(_facts(digest))}</p>"]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"<h2>{escape(_line(paragraph.heading))}</h2>")
        parts.append(f"<p>{' '.join(_cited(one, numbers, base_url) for one in paragraph.sentences)}</p>")
    sources = (
        f'<li><a href="{escape(base_url)}/entry/{one.entry_id}">{escape(_line(one.title))}</a>, '
        f"{escape(_line(one.feed))}</li>"
        for one in digest.text.sources
    )
    parts.append(f"<ol>{''.join(sources)}</ol>")
    return "\n".join(parts)


def _plain(digest: Digest, base_url: str, unsubscribe_url: str) -> str:
    lines = [_facts(digest), ""]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            lines += [_line(paragraph.heading).upper(), ""]
        for sentence in paragraph.sentences:
            cited = "".join(f" [{numbers[id_]}]" for id_ in sentence.entry_ids if id_ in numbers)
            lines.append(f"{_line(sentence.text)}{cited}")
        lines.append("")
    for source in digest.text.sources:
        where = f"{base_url}/entry/{source.entry_id}"
        lines.append(f"[{numbers[source.entry_id]}] {_line(source.title)}, {_line(source.feed)}\n    {where}")
    lines += ["", f"On the page: {base_url}/digests/{digest.id}"]
    if unsubscribe_url:
        lines.append(f"No more digests by mail: {unsubscribe_url}")
    return "\n".join([*lines, ""])


def _markup(digest: Digest, base_url: str, unsubscribe_url: str) -> str:
    parts = [
        digest_html(digest, base_url),
        f'<p><a href="{escape(base_url)}/digests/{digest.id}">On the page</a></p>',
    ]
    if unsubscribe_url:
        parts.append(f'<p><a href="{escape(unsubscribe_url)}">No more digests by mail</a></p>')
    return "<!doctype html>\n<html><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _cited(sentence: Sentence, numbers: Mapping[int, int], base_url: str) -> str:
    links = (
        f' <a href="{escape(base_url)}/entry/{id_}">[{numbers[id_]}]</a>'
        for id_ in sentence.entry_ids
        if id_ in numbers
    )
    return escape(_line(sentence.text)) + "".join(links)


def digest_markdown(digest: Digest, base_url: str) -> str:
    day = to_datetime(digest.until).date().isoformat()
    parts = [f"# Digest, {day}", _facts(digest)]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"## {_escaped(paragraph.heading)}")
        sentences = (
            _escaped(one.text) + "".join(f" [^{numbers[id_]}]" for id_ in one.entry_ids if id_ in numbers)
            for one in paragraph.sentences
        )
        parts.append(" ".join(sentences))
    notes = [
        f"[^{number}]: [{_escaped(one.title)}]({base_url}/entry/{one.entry_id}), {_escaped(one.feed)}"
        for number, one in enumerate(digest.text.sources, 1)
    ]
    return "\n\n".join([*parts, "\n".join(notes)]) + "\n"


def _facts(digest: Digest) -> str:
    text = digest.text
    facts = f"{digest.entries} entries from {text.feeds} feeds, told as {text.items} items."
    return f"{facts} The model did not answer: these are lines of the entries." if text.fallback else facts


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in _line(text))
