"""Looking at a feed before following it."""

import asyncio
from dataclasses import replace

from reedbed.domain.discovery import Discovery
from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import NotAFeed, ParsedEntry, ParsedFeed
from reedbed.domain.fetching import Failed, Fetched, FetchRequest, Gone, NotModified, Throttled
from reedbed.domain.records import record
from reedbed.domain.texts import shown_line
from reedbed.domain.times import DAY, Instant
from reedbed.ingest.clean import clean_html
from reedbed.ingest.discover import discover
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.text import digest_content
from reedbed.ingest.typed_address import typed_addresses
from reedbed.services.credentials import Address, typed_login
from reedbed.services.runtime import Runtime
from reedbed.store import feeds, subscriptions

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
        feed_id = await feeds.by_url(tx, address) or await feeds.by_url(tx, address, user_id)
        known = await subscriptions.by_feed(tx, user_id, feed_id) if feed_id else None
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
