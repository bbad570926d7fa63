"""Digests: grouping recent entries into paragraphs, and rendering a digest as HTML and Markdown."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta, tzinfo
from html import escape
from typing import Literal, Protocol

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.stories.compare import Report, current_reports
from reedbed.domain.stories.index import Headline, StoryIndex, resolve
from reedbed.domain.stories.repeats import doubtful_repeats, find_repeats, item_vectors
from reedbed.domain.stories.words import title_words
from reedbed.domain.times import DAY, HOUR, Instant, from_datetime, to_datetime

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
    quote: str = ""
    """The words of a source that a model's sentence rests on."""


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
    return tuple(source_of(by_id[id_]) for id_ in cited_ids)


def source_of(entry: Citable) -> Source:
    return Source(entry.entry_id, entry.title, entry.feed, entry.at, entry.language)


MAX_ENTRIES = 100
TOP, MAX_TOP, MANY_OUTLETS = 4, 12, 4
"""The lead and the three items beside it, and more if so many outlets report them."""
MAX_FOLDERS, MAX_FEEDS, PER_FOLDER, MORE = 6, 4, 3, 8
MAX_INTEREST, MAX_CARE = 0.4, 1.0
LIKED_FEED, LIKED_ENTRY = 0.2, 0.65
"""Who cares so much likes to read a feed or an entry. An entry of which nothing is known has half of `MAX_CARE`."""
READ_PER_MINUTE = 1_400
"""Characters of an alphabet; one of a script without spaces takes as long as three."""
LEAD = 400
MAX_SOURCES = 10
SPAN = DAY
MAX_SPAN = 7 * DAY

NO_ENTRIES = "No articles found from the last 24 hours"
NOTHING_NEW = "There is nothing new since the last digest."
FAILED = Failure(FailureCode.DIGEST_FAILED)

_SHOUTING = re.compile(r"\b[A-Z]{4,}\b.*\b[A-Z]{4,}\b|!|\b[A-Z]{5,}:")
# Explains or judges an event instead of reporting it.
_BACKGROUND = re.compile(
    r"(?:why|how|what|opinion|comment|analysis|warum|wie|was|kommentar|analyse|pourquoi|opinión|análisis|por qué"
    r"|cómo|qué)\b",
    re.IGNORECASE,
)
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
    leads: tuple[str, ...] = ()
    """Clean sentences among the first ones."""
    place: int = 0
    """The folder's place in the sidebar."""
    image: str = ""


@record
class Paragraph:
    heading: str
    sentences: tuple[Sentence, ...]
    kind: str = ""
    """top, folder or more; empty in digests of version 0.1"""


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
    image: str = ""
    """The picture of the first item."""
    left_out: int = 0
    """Items that the digest leaves out."""
    liked_ids: tuple[int, ...] = ()
    """Sources that stand higher because the reader likes to read such entries."""


@record
class Digest:
    id: int
    user_id: int
    status: Status
    scope: DigestScope
    model: str
    language: str
    entries: int
    error: Failure | None
    since: Instant
    until: Instant
    created_at: Instant
    finished_at: Instant | None
    text: DigestText = field(default=DigestText())


Item = tuple[PromptContext, ...]
"""Entries about one event, the best first."""


@record
class KnownStories:
    """What is known about entries before a digest groups them."""

    homes: Mapping[int, int]
    """The story by entry, as the reader has corrected it."""
    apart: frozenset[int] = frozenset()
    """Entries that the reader has removed from their stories."""


NO_STORIES = KnownStories({})


def group(
    materials: Sequence[PromptContext],
    interest: Mapping[int, float] | None = None,
    cares: Mapping[int, float] | None = None,
    known: KnownStories = NO_STORIES,
) -> list[Item]:
    """Group entries about the same event, the most important first.

    `interest` is the reader's, by feed; `cares`, where it is known, by entry. `known` are the reader's stories.
    """
    items = _events(materials, known)
    newest = max((entry.at for entry in materials), default=0)
    vectors = item_vectors(headlines_of(items))
    with_near = [
        tuple(
            entry
            for other, near in zip(items, vectors, strict=True)
            if near is vector or vector.is_near(near)
            for entry in other
        )
        for vector in vectors
    ]
    ranked = sorted(
        zip(items, with_near, strict=True),
        key=lambda one: (-importance(one[1], interest or {}, newest, cares), -len(one[0]), -one[0][0].at),
    )
    return [item for item, _ in ranked]


def _events(materials: Sequence[PromptContext], known: KnownStories) -> list[Item]:
    """The reader's stories, with what is found to tell the same, and without what the reader has removed."""
    index, by_time = StoryIndex(), sorted(materials, key=lambda entry: entry.at)
    placed = [(headline, index.place(headline)) for headline in map(_headline, by_time)]
    found = resolve(placed).homes
    story_of_found: dict[int, int] = {}
    same: dict[int, int] = {}
    for entry in materials:
        id_ = entry.entry_id
        if id_ in found and id_ in known.homes and id_ not in known.apart:
            story_id = _root(same, known.homes[id_])
            other_id = _root(same, story_of_found.setdefault(found[id_], story_id))
            if other_id != story_id:
                same[story_id] = other_id
    groups: defaultdict[tuple[str, int], list[PromptContext]] = defaultdict(list)
    for entry in materials:
        id_ = entry.entry_id
        if id_ in known.apart:
            groups["apart", id_].append(entry)
        elif (story_id := known.homes.get(id_, story_of_found.get(found.get(id_, 0)))) is not None:
            groups["story", _root(same, story_id)].append(entry)
        else:
            groups["found", found.get(id_, id_)].append(entry)
    return [tuple(entries) for entries in groups.values()]


def _root(same: Mapping[int, int], story_id: int) -> int:
    while story_id in same:
        story_id = same[story_id]
    return story_id


def importance(
    item: Item, interest: Mapping[int, float], newest: Instant, cares: Mapping[int, float] | None = None
) -> float:
    """More outlets, newer, and what the reader cares about, or of feeds that the reader likes."""
    age = max(0, newest - max(entry.at for entry in item)) / HOUR
    liked = max(cares.get(entry.entry_id, 0.0) if cares else interest.get(entry.feed_id, 0.0) for entry in item)
    return math.log2(1 + _outlets(item)) + 0.5 * math.exp(-age / 12) + liked


def _outlets(item: Item) -> int:
    return len({entry.feed_id for entry in item})


def interest_of(stars: Mapping[int, int]) -> dict[int, float]:
    """From the entries of each feed that the reader has starred, read later or tagged lately."""
    return {feed_id: min(MAX_INTEREST, 0.1 * math.log2(1 + count)) for feed_id, count in stars.items()}


def liked_ids(
    entries: Iterable[PromptContext], interest: Mapping[int, float], cares: Mapping[int, float] | None = None
) -> frozenset[int]:
    """The entries that the reader likes to read, by the same measures as `importance`."""
    if cares:
        return frozenset(entry.entry_id for entry in entries if cares.get(entry.entry_id, 0.0) >= LIKED_ENTRY)
    return frozenset(entry.entry_id for entry in entries if interest.get(entry.feed_id, 0.0) >= LIKED_FEED)


def compose(items: Sequence[Item], apart: Collection[int] = ()) -> tuple[Paragraph, ...]:
    """A front page: the most important items, then the folders in the reader's order, then single lines.

    `apart` are the entries that the reader has removed from their stories.
    """
    distinct = _each_event_once([item for item in items if any(entry.title or entry.leads for entry in item)], apart)
    doubtful = doubtful_repeats(headlines_of(distinct), apart)
    certain = [item for place, item in enumerate(distinct) if place not in doubtful]
    tellable = [*certain, *(distinct[place] for place in sorted(doubtful))]
    # What many outlets report never comes below what one does.
    top = [*tellable[:TOP], *(item for item in tellable[TOP:MAX_TOP] if _outlets(item) >= MANY_OUTLETS)]
    others = [item for item in tellable[TOP:] if item not in top]
    parts = [Paragraph("", tuple(map(_sentence, top)), "top")] if top else []
    shown_ids: set[int] = set()
    for heading, of_folder in _sections([item for item in certain[TOP:] if item not in top]):
        shown = of_folder[:PER_FOLDER]
        shown_ids |= {item[0].entry_id for item in shown}
        parts.append(Paragraph(heading, tuple(map(_sentence, shown)), "folder"))
    more = [item for item in others if item[0].entry_id not in shown_ids][:MORE]
    if more:
        parts.append(Paragraph("", tuple(map(_calm_headline, more)), "more"))
    return tuple(parts)


def lead_image(paragraphs: Sequence[Paragraph], contexts: Iterable[PromptContext]) -> str:
    """Of an entry that the first sentence cites."""
    lead = paragraphs[0].sentences[0] if paragraphs else Sentence("", ())
    images = {context.entry_id: context.image for context in contexts}
    return next((image for id_ in lead.entry_ids if (image := images.get(id_, ""))), "")


def _each_event_once(items: Sequence[Item], apart: Collection[int]) -> list[Item]:
    """Each event once: a later item about it becomes more sources of the first one."""
    kept: dict[int, Item] = {}
    for index, (item, earlier) in enumerate(zip(items, find_repeats(headlines_of(items), apart), strict=True)):
        if earlier is None:
            kept[index] = item
        else:
            kept[earlier] = (*kept[earlier], *item)
    return list(kept.values())


def _sections(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """By folder, in the order of the sidebar; by feed if there is only one."""
    places = {entry.folder: entry.place for item in items for entry in item}
    by_folder = _by_name([item for item in items if item[0].folder], lambda item: item[0].folder)
    if by_folder:
        return sorted(by_folder.items(), key=lambda section: places[section[0]])[:MAX_FOLDERS]
    by_feed = _by_name(items, lambda item: item[0].feed)
    return list(by_feed.items())[:MAX_FEEDS] if len(by_feed) > 1 else []


def _sentence(item: Item) -> Sentence:
    """The clean sentence that says most of what the others say: of the first ones of each report that still holds."""
    spread = Counter(word for entry in _one_per_feed(item) for word in _words_of(entry))
    scored = [
        (_sentence_score(lead, place, entry, spread, len(item)), lead, entry)
        for entry in _current(item)
        for place, lead in enumerate(entry.leads)
    ]
    if not scored:
        return _calm_headline(item)
    _, text, best = max(scored, key=lambda one: one[0])
    return Sentence(text, _cited(best, item), best.language)


def _sentence_score(text: str, place: int, entry: PromptContext, spread: Counter[str], entries: int) -> float:
    words, title = set(title_words(text)), set(title_words(entry.title))
    shared = sum(spread[word] - 1 for word in words if spread[word]) / (len(words) + 4) / max(1, entries - 1)
    first = (0.25, 0.05, 0.0, 0.0)[min(place, 3)]
    background = 0.3 * (_BACKGROUND.match(entry.title) is not None)
    return shared + 0.15 * len(words & title) / (len(title) + 1) + first - 0.5 * shouts(entry) - background


def _calm_headline(item: Item) -> Sentence:
    best = next((entry for entry in _current(item) if entry.title and not shouts(entry)), item[0])
    return Sentence(best.title or best.line, _cited(best, item), best.language)


def _current(item: Item) -> Item:
    """Without reports of which later ones have changed the facts."""
    reports = [Report(entry.title, entry.text, entry.at) for entry in item]
    return tuple(item[index] for index in current_reports(reports))


def shouts(entry: PromptContext) -> bool:
    return _SHOUTING.search(entry.title) is not None or "!" in entry.text[:300]


def _cited(best: PromptContext, item: Item) -> tuple[int, ...]:
    others = (entry.entry_id for entry in sorted(item, key=shouts))
    return tuple(dict.fromkeys((best.entry_id, *others)))[:MAX_SOURCES]


def _one_per_feed(item: Item) -> Iterable[PromptContext]:
    return {entry.feed_id: entry for entry in item}.values()


def _words_of(entry: PromptContext) -> set[str]:
    return set(title_words(f"{entry.title} {entry.text[:500]}"))


def _by_name(items: Sequence[Item], name: Callable[[Item], str]) -> dict[str, list[Item]]:
    items_by_name: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        items_by_name[name(item)].append(item)
    return items_by_name


def headlines_of(items: Sequence[Item]) -> list[list[Headline]]:
    return [list(map(_headline, item)) for item in items]


def _headline(entry: PromptContext) -> Headline:
    title, lead = entry.title or entry.line, entry.text[:LEAD]
    return Headline(entry.entry_id, entry.feed_id, title, entry.at, lead=lead, language=entry.language)


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


# --- Rendering


def minutes_to_read(text: DigestText) -> int:
    titles = {source.entry_id: source.title for source in text.sources}
    sentences = [sentence for paragraph in text.paragraphs for sentence in paragraph.sentences]
    leads = (titles.get(id_, "") for sentence in sentences for id_ in sentence.entry_ids[:1])
    read = "".join((*leads, *(sentence.text for sentence in sentences)))
    return max(1, round(sum(3 if "\u2e80" <= char <= "\uffef" else 1 for char in read) / READ_PER_MINUTE))


def digest_title(digest: Digest) -> str:
    day = to_datetime(digest.until)
    return f"The day in short, {day.day}.{day.month}.{day.year}"


def digest_html(digest: Digest, base_url: str) -> str:
    """Plain HTML without external images or styles, so that opening it cannot be tracked."""
    parts = [f"<p>{escape(digest_statistics(digest))}</p>"]
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


def _html_sentence(sentence: Sentence, numbers: Mapping[int, int], base_url: str) -> str:
    links = (
        f' <a href="{escape(base_url)}/entry/{id_}">[{numbers[id_]}]</a>'
        for id_ in sentence.entry_ids
        if id_ in numbers
    )
    return escape(_line(sentence.text)) + "".join(links)


def digest_markdown(digest: Digest, base_url: str) -> str:
    day = to_datetime(digest.until).date().isoformat()
    parts = [f"# Digest, {day}", digest_statistics(digest)]
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


def digest_statistics(digest: Digest) -> str:
    text = digest.text
    counts = f"{digest.entries} entries from {text.feeds} feeds, in {text.items} items."
    return f"{counts} The model did not answer: these are lines of the entries." if text.fallback else counts


def _line(text: str) -> str:
    return " ".join(text.split())


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in _line(text))
