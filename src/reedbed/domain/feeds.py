"""What a feed document says, whatever its format."""

from dataclasses import field
from typing import NamedTuple

from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis


@record
class Author:
    name: str
    url: str | None = None
    email: str | None = None


@record
class Enclosure:
    url: str
    type: str | None = None
    length: int | None = None
    title: str | None = None
    duration: int | None = None
    """Seconds."""


class ParsedEntry(NamedTuple):
    """One entry as its feed wrote it: addresses absolute, dates resolved, markup still hostile.

    Made for every entry at every reading of a feed, so it is the kind of value that is made fastest.
    """

    guid: str | None
    url: str | None
    title: str
    """Plain text."""
    content: str
    """HTML as the feed gave it, relative addresses resolved, never sanitised here."""
    summary: str | None = None
    """HTML of a separate summary or teaser, where the feed gives both."""
    external_url: str | None = None
    published: Instant | None = None
    updated: Instant | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    image: str | None = None
    language: str | None = None
    enclosures: tuple[Enclosure, ...] = ()
    comments_url: str | None = None


@record
class Rhythm:
    """How often a feed asks to be read: `ttl`, `sy:updatePeriod`/`Frequency`, `skipHours`, `skipDays`."""

    interval: Millis | None = None
    skip_hours: frozenset[int] = frozenset()
    """UTC hours 0-23."""
    skip_days: frozenset[int] = frozenset()
    """Monday is 0."""


@record
class ParsedFeed:
    format: str
    """rss, rdf, atom or json."""
    title: str
    entries: tuple[ParsedEntry, ...]
    site_url: str | None = None
    self_url: str | None = None
    hub_url: str | None = None
    description: str | None = None
    language: str | None = None
    icon: str | None = None
    image: str | None = None
    authors: tuple[Author, ...] = ()
    rhythm: Rhythm = field(default=Rhythm())
    truncated: bool = False
    """The document broke off or was damaged; the entries before the damage are here."""


@record
class NotAFeed:
    """The bytes are no feed; `reason` is one plain sentence for the person who asked."""

    reason: str
