"""Looking at a feed before following it."""

import asyncio
import re
from dataclasses import field, replace
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import (
    NotAFeed,
    ParsedEntry,
    ParsedFeed,
    check_login,
    check_password,
    check_username,
)
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, Gone, NotModified, Throttled
from reedbed.domain.subscriptions import Discovery
from reedbed.domain.text import shown_line
from reedbed.domain.times import DAY, Instant
from reedbed.ingest.discovery import discover, same_origin, typed_address, typed_addresses
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import digest_content
from reedbed.services.runtime import Runtime
from reedbed.store import subscriptions
from reedbed.store.feeds import feeds

_CREDENTIALS = re.compile(
    r"(\b(?:https?|htts?|htps?|hhtps?|htpps?|ttps?|feed|rss|itpc|pcast|podcast)(?:;//|:/+|//|:\\\\))[^/?#\s]*@",
    re.IGNORECASE,
)


@record
class Address:
    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def secret(self) -> bool:
        return self.username is not None

    @property
    def whole(self) -> str:
        """With the credentials in the address, as other programs write it."""
        if self.username is None:
            return self.url
        scheme, _, rest = self.url.partition("://")
        password = f":{quote(self.password, safe='')}" if self.password else ""
        return f"{scheme}://{quote(self.username, safe='')}{password}@{rest}"

    def at(self, url: str) -> "Address":
        """Another address; the credentials go with it on the same origin only."""
        return Address(url, self.username, self.password) if same_origin(self.url, url) else Address(url)


def split_credentials(url: str) -> Address:
    parts = urlsplit(url)
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return Address(url)
    username, _, password = userinfo.partition(":")
    clean = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return Address(clean, unquote(username), unquote(password))


def typed_login(text: str, username: str | None = None, password: str | None = None) -> Address:
    """A typed address with its credentials, which may also come in fields of their own."""
    address = split_credentials(typed_address(text))
    name, secret = check_username(username), check_password(password)
    check_login(name or address.username, secret)
    if name is None:
        return address if secret is None else Address(address.url, address.username, secret)
    return Address(address.url, name, secret)


def without_credentials(text: str) -> str:
    """What was typed, perhaps several addresses, as it may be shown and kept."""
    return _CREDENTIALS.sub(r"\1", text)


LATEST = 10


@record
class PreviewEntry:
    title: str
    url: str | None
    published: Instant | None
    summary: str


@record
class FeedPreview:
    url: str
    title: str
    description: str | None
    site_url: str | None
    language: str | None
    entries: tuple[PreviewEntry, ...]
    total: int
    daily: float | None
    """Entries a day, where the feed's dates tell."""
    subscription_id: int | None
    """Set when the user follows it already."""


def is_address(text: str) -> bool:
    """Whether this is the address of something, with or without its scheme."""
    return bool(typed_addresses(text))


def several_addresses(text: str) -> tuple[str, ...]:
    """A list that was pasted: addresses and nothing else, as they were typed. One of them is no list."""
    words = dict.fromkeys(word.strip(",;") for word in text.split())
    words.pop("", None)
    return tuple(words) if len(words) > 1 and all(map(is_address, words)) else ()


async def find_feeds(
    runtime: Runtime, text: str, *, username: str | None = None, password: str | None = None
) -> Discovery:
    """The feeds behind whatever somebody typed."""
    return await discover(runtime.fetcher, text, username=username, password=password)


async def fetch_candidate(runtime: Runtime, asked: Address, found: Discovery) -> Discovery:
    """With the document of the best candidate, or why it could not be fetched."""
    if not found.candidates or found.document is not None:
        return found
    address = asked.at(found.candidates[0].url)
    outcome = await runtime.fetcher.fetch(
        FetchRequest(address.url, username=address.username, password=address.password)
    )
    match outcome:
        case Fetched():
            return replace(found, document=outcome)
        case Failed() | Gone() | Throttled():
            return replace(found, failure=outcome)
        case NotModified():
            return found


async def preview_feed(runtime: Runtime, user_id: int, url: str) -> FeedPreview:
    """What following this address would bring. Raises `Invalid` in plain words when it is no feed."""
    asked = typed_login(url)
    found = await find_feeds(runtime, url)
    if not found.candidates:
        raise Invalid(found.reason or "No feed was found at this address.", field="url")
    return await preview_found(runtime, user_id, asked, found)


async def preview_found(runtime: Runtime, user_id: int, asked: Address, found: Discovery) -> FeedPreview:
    """The same for what `find_feeds` has found: its best candidate. Following it fetches nothing anew."""
    address = found.candidates[0].url
    found = await fetch_candidate(runtime, asked, found)
    if found.document is None:
        raise Invalid(getattr(found.failure, "message", "The feed could not be read."), field="url")
    parsed = await _parsed(found.document)
    _keep(runtime, user_id, asked, found)
    entries = await asyncio.to_thread(_latest, parsed)
    return FeedPreview(
        url=address,
        title=shown_line(parsed.title) or address,
        description=parsed.description,
        site_url=parsed.site_url,
        language=parsed.language,
        entries=entries,
        total=len(parsed.entries),
        daily=_daily(parsed),
        subscription_id=await _followed_as(runtime, user_id, address),
    )


def previewed(runtime: Runtime, user_id: int, asked: Address) -> Discovery | None:
    """What this user was shown of this address a moment ago, once."""
    return runtime.recent_discoveries.take((user_id, asked), runtime.now())


def _keep(runtime: Runtime, user_id: int, asked: Address, found: Discovery) -> None:
    """Under the address that was asked for, and under that of the feed, which the page follows."""
    for address in (asked, asked.at(found.candidates[0].url)):
        runtime.recent_discoveries.keep((user_id, address), found, runtime.now())


async def _parsed(document: Fetched) -> ParsedFeed:
    parsed = await parse_safely(document.body, content_type=document.content_type, url=document.url)
    if isinstance(parsed, NotAFeed):
        raise Invalid(parsed.reason, field="url")
    return parsed


async def _followed_as(runtime: Runtime, user_id: int, address: str) -> int | None:
    async with runtime.db.read() as tx:
        feed_id = await feeds.get_by_url(tx, address) or await feeds.get_by_url(tx, address, user_id)
        known = await subscriptions.get_by_feed(tx, user_id, feed_id) if feed_id else None
    return known[0] if known and known[1] else None


def _daily(parsed: ParsedFeed) -> float | None:
    moments = sorted(entry.published for entry in parsed.entries if entry.published is not None)
    span = moments[-1] - moments[0] if len(moments) > 2 else 0
    return (len(moments) - 1) * DAY / span if span > 0 else None


def _latest(parsed: ParsedFeed) -> tuple[PreviewEntry, ...]:
    newest = sorted(parsed.entries, key=lambda entry: entry.published or 0, reverse=True)[:LATEST]
    return tuple(_entry(entry) for entry in newest)


def _entry(entry: ParsedEntry) -> PreviewEntry:
    content = clean_html(entry.summary or entry.content, entry.url)
    return PreviewEntry(shown_line(entry.title), entry.url, entry.published, digest_content(content).preview)
