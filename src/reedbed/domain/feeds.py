"""Feeds: the parsed document, and the operator's fetch settings for one feed."""

import re
from dataclasses import field
from typing import NamedTuple
from urllib.parse import urlsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.domain.urls import check_feed_url


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


@record
class TranscriptLink:
    url: str
    type: str = ""
    language: str | None = None


@record
class RecordingTexts:
    """What a feed says about the chapters and transcripts of an entry's recording."""

    chapters: tuple[tuple[str, str], ...] = ()
    """Start and title, as the feed writes them (Podlove)."""
    chapters_url: str | None = None
    transcripts: tuple[TranscriptLink, ...] = ()


class ParsedEntry(NamedTuple):
    """An entry as parsed: URLs absolute, dates resolved, markup not sanitized.

    A tuple for speed, because one is created for every entry at every check.
    """

    guid: str | None
    url: str | None
    title: str
    """Plain text."""
    content: str
    """HTML of the feed with absolute URLs, not sanitized."""
    summary: str | None = None
    """HTML of a separate summary or teaser, if the feed has both."""
    external_url: str | None = None
    published: Instant | None = None
    updated: Instant | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    image: str | None = None
    language: str | None = None
    enclosures: tuple[Enclosure, ...] = ()
    comments_url: str | None = None
    texts: RecordingTexts | None = None


@record
class CheckSchedule:
    """The check interval a feed asks for: `ttl`, `sy:updatePeriod`/`Frequency`, `skipHours`, `skipDays`."""

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
    rhythm: CheckSchedule = field(default=CheckSchedule())
    truncated: bool = False
    """The document is incomplete or damaged; only the entries before the damage are included."""


@record
class NotAFeed:
    """The bytes are not a feed; `reason` says why."""

    reason: Failure


# --- Fetch settings

MAX_FAILURES = 1_000
MAX_USER_AGENT = 255
MAX_CREDENTIAL_LENGTH = 255

HIDDEN = "***"
_PRINTABLE_ASCII = re.compile(r"[\x20-\x7e]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@record
class FeedFetching:
    proxy: str | None = field(default=None, repr=False)
    """May contain a password; display `shown_proxy` instead."""
    user_agent: str | None = None
    username: str | None = None
    has_password: bool = False
    interval: Millis | None = None
    max_failures: int | None = None
    allow_duplicate_urls: bool = False

    @property
    def shown_proxy(self) -> str | None:
        if self.proxy is None or "@" not in self.proxy:
            return self.proxy
        scheme, _, remainder = self.proxy.partition("://")
        return f"{scheme}://{HIDDEN}@{remainder.rpartition('@')[2]}"


def check_proxy(text: str | None) -> str | None:
    """Scheme, host, port and optional credentials; None for no proxy."""
    if text is None or not text.strip():
        return None
    try:
        parts = urlsplit(check_feed_url(text))
    except Invalid:
        raise _invalid_proxy() from None
    if parts.path.strip("/") or parts.query:
        raise _invalid_proxy()
    return f"{parts.scheme}://{parts.netloc}"


def check_user_agent(text: str | None) -> str | None:
    """Only characters that a header can carry, so that it is never dropped silently."""
    if text is None or not (line := text.strip()):
        return None
    if len(line) > MAX_USER_AGENT or not _PRINTABLE_ASCII.fullmatch(line):
        raise Invalid(
            "The user agent must be one line of at most 255 plain letters, digits and signs.", field="user_agent"
        )
    return line


def check_username(text: str | None) -> str | None:
    if text is None or not (name := text.strip()):
        return None
    if len(name) > MAX_CREDENTIAL_LENGTH or ":" in name or _CONTROL.search(name):
        raise Invalid("The user name must be one line of at most 255 characters without a colon.", field="username")
    return name


def check_password(text: str | None) -> str | None:
    """Not trimmed: spaces may be part of it."""
    if not text:
        return None
    if len(text) > MAX_CREDENTIAL_LENGTH or _CONTROL.search(text):
        raise Invalid("The password must be one line of at most 255 characters.", field="password")
    return text


def check_login(username: str | None, password: str | None) -> None:
    if username is None and password is not None:
        raise Invalid("A password needs a user name.", field="username")


def check_failures(count: int | None) -> int | None:
    if count is not None and not 1 <= count <= MAX_FAILURES:
        raise Invalid("The number of failures must be between 1 and 1000.", field="max_failures")
    return count


def _invalid_proxy() -> Invalid:
    return Invalid("A proxy has an address like http://proxy.example:3128.", field="proxy")
