"""Digests: grouping recent entries into paragraphs, and rendering a digest as email, HTML and Markdown."""

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
    """The entries that a digest or answer is based on; all entries if nothing is set."""

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
    """An entry that can be cited as a source."""

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
    """The cited entries in the order of their first citation."""
    by_id = {entry.entry_id: entry for entry in entries}
    cited_ids = dict.fromkeys(id_ for sentence in sentences for id_ in sentence.entry_ids if id_ in by_id)
    cited = (by_id[id_] for id_ in cited_ids)
    return tuple(Source(entry.entry_id, entry.title, entry.feed, entry.at, entry.language) for entry in cited)


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

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\Z", re.ASCII)


def minute_of(time: str) -> int:
    """Parse `07:30` as the minute of the day."""
    match = _TIME.match(time)
    if match is None:
        raise Invalid("The time must look like 07:30.", field="time")
    return int(match[1]) * 60 + int(match[2])


@record
class PromptContext:
    """An entry as input for a digest."""

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
    """The number of sentences removed because no entry supported them."""
    fallback: bool = False
    """The model did not answer, so lines of the entries are used instead."""


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
"""Entries about one event, the best first."""


def group(materials: Sequence[PromptContext]) -> list[Item]:
    """Group entries about the same event; the most reported events first, then the newest."""
    index = StoryIndex()
    placed = [(headline, index.place(headline)) for headline in map(_headline, materials)]
    story_ids = settle(placed).homes
    groups: defaultdict[int, list[PromptContext]] = defaultdict(list)
    for entry in materials:
        groups[story_ids.get(entry.entry_id, entry.entry_id)].append(entry)
    items = [tuple(entries) for entries in groups.values()]
    return sorted(items, key=lambda item: (-len({entry.feed_id for entry in item}), -item[0].at))


def compose(items: Sequence[Item]) -> tuple[Paragraph, ...]:
    """Three to five paragraphs if there are enough entries, each with its folder or feed as heading."""
    sections = _sections([item for item in items if item[0].line])
    return tuple(
        Paragraph(heading, tuple(_sentence(item) for item in section_items[:MAX_SENTENCES]))
        for heading, section_items in sections
    )


def next_time(minute: int, zone: tzinfo, now: Instant) -> Instant:
    """The next time at which the local time in this zone is this minute of the day."""
    local_now = to_datetime(now).astimezone(zone)
    day = local_now.date()
    for days in range(3):
        time_of_day = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
        timestamp = from_datetime(time_of_day + timedelta(days=days))
        if timestamp > now:
            return timestamp
    return now + DAY


def _headline(entry: PromptContext) -> Headline:
    return Headline(entry.entry_id, entry.feed_id, entry.title or entry.line, entry.at)


def _sections(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    by_folder = _by_name(items, lambda item: item[0].folder)
    by_heading = by_folder if len(by_folder) > 1 else _by_name(items, lambda item: item[0].feed)
    sections = sorted(by_heading.items(), key=lambda section: (section[0] == "", -len(section[1])))
    head, remaining = sections[:MAX_PARAGRAPHS], sections[MAX_PARAGRAPHS:]
    if remaining:
        # The last section collects all remaining items.
        others = [item for _, section_items in [head.pop(), *remaining] for item in section_items]
        head.append(("", others))
    return _split(head)


def _by_name(items: Sequence[Item], name: Callable[[Item], str]) -> dict[str, list[Item]]:
    items_by_name: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        items_by_name[name(item)].append(item)
    return items_by_name


def _split(sections: list[tuple[str, list[Item]]]) -> list[tuple[str, list[Item]]]:
    """Split the largest sections until there are three paragraphs."""
    while sections and len(sections) < MIN_PARAGRAPHS:
        index = max(range(len(sections)), key=lambda i: len(sections[i][1]))
        heading, section_items = sections[index]
        if len(section_items) < 2:
            break
        half = min(MAX_SENTENCES, (len(section_items) + 1) // 2)
        sections[index : index + 1] = [(heading, section_items[:half]), ("", section_items[half:])]
    return sections


def _sentence(item: Item) -> Sentence:
    best = item[0]
    ids = dict.fromkeys(entry.entry_id for entry in item)
    return Sentence(best.line, tuple(ids)[:MAX_SOURCES], best.language)


# --- Rendering


def digest_email(to: str, digest: Digest, base_url: str, unsubscribe_url: str = "") -> Email:
    return Email(
        to,
        digest_title(digest),
        _email_text(digest, base_url, unsubscribe_url),
        _email_html(digest, base_url, unsubscribe_url),
        unsubscribe_url,
    )


def digest_title(digest: Digest) -> str:
    day = to_datetime(digest.until)
    return f"The day in short, {day.day}.{day.month}.{day.year}"


def digest_html(digest: Digest, base_url: str) -> str:
    """Plain HTML without external images or styles, so that opening it cannot be tracked."""
    parts = [f"<p>{escape(_statistics(digest))}</p>"]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"<h2>{escape(_line(paragraph.heading))}</h2>")
        sentences = (_html_sentence(sentence, numbers, base_url) for sentence in paragraph.sentences)
        parts.append(f"<p>{' '.join(sentences)}</p>")
    sources = (
        f'<li><a href="{escape(base_url)}/entry/{source.entry_id}">{escape(_line(source.title))}</a>, '
        f"{escape(_line(source.feed))}</li>"
        for source in digest.text.sources
    )
    parts.append(f"<ol>{''.join(sources)}</ol>")
    return "\n".join(parts)


def _email_text(digest: Digest, base_url: str, unsubscribe_url: str) -> str:
    lines = [_statistics(digest), ""]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            lines += [_line(paragraph.heading).upper(), ""]
        for sentence in paragraph.sentences:
            citations = "".join(f" [{numbers[id_]}]" for id_ in sentence.entry_ids if id_ in numbers)
            lines.append(f"{_line(sentence.text)}{citations}")
        lines.append("")
    for source in digest.text.sources:
        url = f"{base_url}/entry/{source.entry_id}"
        lines.append(f"[{numbers[source.entry_id]}] {_line(source.title)}, {_line(source.feed)}\n    {url}")
    lines += ["", f"On the page: {base_url}/digests/{digest.id}"]
    if unsubscribe_url:
        lines.append(f"No more digests by mail: {unsubscribe_url}")
    return "\n".join([*lines, ""])


def _email_html(digest: Digest, base_url: str, unsubscribe_url: str) -> str:
    parts = [
        digest_html(digest, base_url),
        f'<p><a href="{escape(base_url)}/digests/{digest.id}">On the page</a></p>',
    ]
    if unsubscribe_url:
        parts.append(f'<p><a href="{escape(unsubscribe_url)}">No more digests by mail</a></p>')
    return "<!doctype html>\n<html><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _html_sentence(sentence: Sentence, numbers: Mapping[int, int], base_url: str) -> str:
    links = (
        f' <a href="{escape(base_url)}/entry/{id_}">[{numbers[id_]}]</a>'
        for id_ in sentence.entry_ids
        if id_ in numbers
    )
    return escape(_line(sentence.text)) + "".join(links)


def digest_markdown(digest: Digest, base_url: str) -> str:
    day = to_datetime(digest.until).date().isoformat()
    parts = [f"# Digest, {day}", _statistics(digest)]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"## {_escape_markdown(paragraph.heading)}")
        sentences = (
            _escape_markdown(sentence.text)
            + "".join(f" [^{numbers[id_]}]" for id_ in sentence.entry_ids if id_ in numbers)
            for sentence in paragraph.sentences
        )
        parts.append(" ".join(sentences))
    footnotes = [
        f"[^{number}]: [{_escape_markdown(source.title)}]({base_url}/entry/{source.entry_id}), "
        f"{_escape_markdown(source.feed)}"
        for number, source in enumerate(digest.text.sources, 1)
    ]
    return "\n\n".join([*parts, "\n".join(footnotes)]) + "\n"


def _statistics(digest: Digest) -> str:
    text = digest.text
    counts = f"{digest.entries} entries from {text.feeds} feeds, told as {text.items} items."
    return f"{counts} The model did not answer: these are lines of the entries." if text.fallback else counts


def _line(text: str) -> str:
    return " ".join(text.split())


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in _line(text))
