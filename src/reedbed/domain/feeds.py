"""How one feed is fetched, as its operator says; what is not said is as for every other feed."""

import re
from dataclasses import field
from typing import NamedTuple
from urllib.parse import urlsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.domain.urls import feed_address


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
class CheckSchedule:
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
    rhythm: CheckSchedule = field(default=CheckSchedule())
    truncated: bool = False
    """The document broke off or was damaged; the entries before the damage are here."""


@record
class NotAFeed:
    """The bytes are no feed; `reason` is one plain sentence for the person who asked."""

    reason: str


MAX_FAILURES = 1_000
MAX_USER_AGENT = 255
MAX_CREDENTIAL_LENGTH = 255

HIDDEN = "***"
_SENDABLE = re.compile(r"[\x20-\x7e]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@record
class FeedFetching:
    proxy: str | None = field(default=None, repr=False)
    """May hold a password: `shown_proxy` is for people."""
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
        scheme, _, rest = self.proxy.partition("://")
        return f"{scheme}://{HIDDEN}@{rest.rpartition('@')[2]}"


def check_proxy(text: str | None) -> str | None:
    """Scheme, host and port, and credentials where there are some; nothing, for no proxy."""
    if text is None or not text.strip():
        return None
    try:
        parts = urlsplit(feed_address(text))
    except Invalid:
        raise _no_proxy() from None
    if parts.path.strip("/") or parts.query:
        raise _no_proxy()
    return f"{parts.scheme}://{parts.netloc}"


def check_user_agent(text: str | None) -> str | None:
    """What a header can hold, so that it is never left out silently."""
    if text is None or not (line := text.strip()):
        return None
    if len(line) > MAX_USER_AGENT or not _SENDABLE.fullmatch(line):
        raise Invalid(
            "The user agent must be one line of at most 255 plain letters, digits and signs.",
            field="user_agent",
        )
    return line


def check_username(text: str | None) -> str | None:
    if text is None or not (name := text.strip()):
        return None
    if len(name) > MAX_CREDENTIAL_LENGTH or ":" in name or _CONTROL.search(name):
        raise Invalid(
            "The user name must be one line of at most 255 characters without a colon.", field="username"
        )
    return name


def check_password(text: str | None) -> str | None:
    """As it was typed: spaces may belong to it."""
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


def _no_proxy() -> Invalid:
    return Invalid("A proxy has an address like http://proxy.example:3128.", field="proxy")
