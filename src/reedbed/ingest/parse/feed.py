"""Read the tree of an RSS, RDF or Atom feed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from reedbed.domain.feeds import Author, CheckSchedule, ParsedEntry, ParsedFeed
from reedbed.domain.times import HOUR, MINUTE, Millis
from reedbed.ingest.parse.entry import distinct, person, read_entry
from reedbed.ingest.parse.markup import (
    Context,
    language_of,
    normalize_language_tag,
    one_line,
    text_of,
    text_of_html,
    title_of,
)
from reedbed.ingest.parse.xml import MAX_CONTENT, MAX_ENTRIES, MAX_LIST, MAX_TITLE, Element

_FORMATS = {"rss": "rss", "rdf": "rdf", "feed": "atom", "entry": "atom", "channel": "rss"}
_ENTRIES = frozenset({"item", "entry"})
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PERIODS: dict[str, Millis] = {
    "hourly": HOUR,
    "daily": 24 * HOUR,
    "weekly": 7 * 24 * HOUR,
    "monthly": 30 * 24 * HOUR,
    "yearly": 365 * 24 * HOUR,
}
_MAX_INTERVAL: Millis = 366 * 24 * HOUR


@dataclass(slots=True)
class FeedDraft:
    """A feed while its children are being read."""

    context: Context
    title: str = ""
    site_url: str | None = None
    self_url: str | None = None
    hub_url: str | None = None
    description: str = ""
    language: str | None = None
    icon: str | None = None
    image: str | None = None
    authors: list[Author] = field(default_factory=list[Author])
    ttl: Millis | None = None
    period: Millis | None = None
    frequency: int = 1
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[int] = frozenset()
    items: list[Element] = field(default_factory=list[Element])


def read_feed(root: Element, *, url: str) -> ParsedFeed | None:
    """The feed under this root, or None if the document is not a feed."""
    context = Context(base=url, atom=False)
    match = _feed_root(root, context)
    if match is None:
        return None
    name, top = match
    kind = _FORMATS[name]
    context.atom = kind == "atom"
    draft = FeedDraft(context, language=language_of(top))
    if name == "entry":
        draft.items.append(top)
    else:
        _collect(draft, top)
    context.base = url or draft.self_url or draft.site_url or ""
    return _finished(draft, kind, [read_entry(item, context) for item in draft.items])


def _feed_root(root: Element, context: Context) -> tuple[str, Element] | None:
    """The root, or an element one or two levels below it, that is a feed."""
    level = [root]
    for _ in range(3):
        for element in level:
            name = context.names.of(element).rpartition(":")[2]
            if name in _FORMATS:
                return name, element
        level = [child for element in level for child in islice(element, 20)]
    return None


def _collect(draft: FeedDraft, parent: Element) -> None:
    name_of = draft.context.names.of
    for child in parent:
        name = name_of(child)
        if name in _ENTRIES:
            draft.items.append(child)
        elif name in ("channel", "feed") and name_of(parent) != name:
            draft.language = language_of(child) or draft.language
            _collect(draft, child)
        elif (handler := _HANDLERS.get(name)) is not None:
            handler(draft, child)


def _finished(draft: FeedDraft, kind: str, entries: list[ParsedEntry]) -> ParsedFeed:
    return ParsedFeed(
        format=kind,
        title=draft.title[:MAX_TITLE],
        entries=tuple(newest(entries)),
        site_url=draft.site_url,
        self_url=draft.self_url,
        hub_url=draft.hub_url,
        description=draft.description[:MAX_CONTENT] or None,
        language=draft.language,
        icon=draft.icon,
        image=draft.image,
        authors=distinct(draft.authors),
        rhythm=_check_schedule(draft),
    )


def newest(entries: list[ParsedEntry]) -> list[ParsedEntry]:
    """At most `MAX_ENTRIES` entries in document order; entries without a date count as old."""
    if len(entries) <= MAX_ENTRIES:
        return entries
    by_date = sorted(range(len(entries)), key=lambda index: -(_entry_time(entries[index])))
    return [entries[index] for index in sorted(by_date[:MAX_ENTRIES])]


def _entry_time(entry: ParsedEntry) -> int:
    return entry.published or entry.updated or 0


def _check_schedule(draft: FeedDraft) -> CheckSchedule:
    intervals = [interval for interval in (draft.ttl, _syndication_interval(draft)) if interval]
    return CheckSchedule(max(intervals, default=None), draft.skip_hours, draft.skip_days)


def _syndication_interval(draft: FeedDraft) -> Millis | None:
    return draft.period // draft.frequency if draft.period else None


def _on_title(draft: FeedDraft, element: Element) -> None:
    if not draft.title:
        draft.title = title_of(element, strict=draft.context.atom)


def _on_link(draft: FeedDraft, element: Element) -> None:
    href = element.get("href")
    if href is None:
        text = text_of(element).replace("&amp;", "&")
        draft.site_url = draft.site_url or draft.context.address(text, element)
        return
    url = draft.context.address(href, element)
    for rel in (element.get("rel") or "alternate").lower().split()[:4]:
        if rel == "self":
            draft.self_url = draft.self_url or url
        elif rel == "hub":
            draft.hub_url = draft.hub_url or url
        elif rel == "alternate" and "json" not in (element.get("type") or ""):
            draft.site_url = draft.site_url or url


def _on_description(draft: FeedDraft, element: Element) -> None:
    if not draft.description:
        draft.description = text_of_html(text_of(element))


def _on_language(draft: FeedDraft, element: Element) -> None:
    draft.language = normalize_language_tag(one_line(text_of(element))) or draft.language


def _on_icon(draft: FeedDraft, element: Element) -> None:
    draft.icon = draft.icon or draft.context.address(text_of(element), element)


def _on_logo(draft: FeedDraft, element: Element) -> None:
    draft.image = draft.image or draft.context.address(text_of(element), element)


def _on_image(draft: FeedDraft, element: Element) -> None:
    """RSS `<image>` with its children; in RDF the channel only refers to it."""
    for part in element:
        if draft.context.names.of(part) == "url":
            _on_logo(draft, part)


def _on_itunes_image(draft: FeedDraft, element: Element) -> None:
    url = draft.context.address(element.get("href") or element.get("url"), element)
    draft.image = url or draft.image


def _on_author(draft: FeedDraft, element: Element) -> None:
    author = person(element, draft.context)
    if author is not None and len(draft.authors) < MAX_LIST:
        draft.authors.append(author)


def _on_itunes_author(draft: FeedDraft, element: Element) -> None:
    if not draft.authors:
        _on_author(draft, element)


def _on_ttl(draft: FeedDraft, element: Element) -> None:
    minutes = _count(element)
    draft.ttl = min(minutes * MINUTE, _MAX_INTERVAL) if minutes else None


def _on_period(draft: FeedDraft, element: Element) -> None:
    draft.period = _PERIODS.get(text_of(element).lower())


def _on_frequency(draft: FeedDraft, element: Element) -> None:
    draft.frequency = max(1, _count(element) or 1)


def _on_skip_hours(draft: FeedDraft, element: Element) -> None:
    hours = (_count(part) for part in islice(element, 48))
    draft.skip_hours = frozenset(hour % 24 for hour in hours if hour is not None and hour <= 24)


def _on_skip_days(draft: FeedDraft, element: Element) -> None:
    names = [text_of(part).lower() for part in islice(element, 14)]
    draft.skip_days = frozenset(_DAYS.index(name) for name in names if name in _DAYS)


def _count(element: Element) -> int | None:
    text = text_of(element)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


_HANDLERS: dict[str, Callable[[FeedDraft, Element], None]] = {
    "title": _on_title,
    "dc:title": _on_title,
    "link": _on_link,
    "description": _on_description,
    "subtitle": _on_description,
    "tagline": _on_description,
    "dc:description": _on_description,
    "itunes:summary": _on_description,
    "language": _on_language,
    "dc:language": _on_language,
    "icon": _on_icon,
    "webfeeds:icon": _on_icon,
    "logo": _on_logo,
    "image": _on_image,
    "itunes:image": _on_itunes_image,
    "author": _on_author,
    "managingeditor": _on_author,
    "dc:creator": _on_author,
    "itunes:author": _on_itunes_author,
    "ttl": _on_ttl,
    "sy:updateperiod": _on_period,
    "sy:updatefrequency": _on_frequency,
    "skiphours": _on_skip_hours,
    "skipdays": _on_skip_days,
}
