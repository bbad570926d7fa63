"""Find and preview feeds before subscribing, and handle credentials in feed URLs."""

import asyncio
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import field, replace
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import NotAFeed, ParsedEntry, ParsedFeed, check_login, check_password, check_username
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, Gone, NotModified, Outcome, Throttled
from reedbed.domain.subscriptions import Discovery
from reedbed.domain.text import clean_line
from reedbed.domain.times import DAY, Instant
from reedbed.domain.urls import check_feed_url
from reedbed.ingest.discovery import BARE_LOGIN, discover, fetch_first, same_origin, url_from_typed, urls_from_typed
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import digest_content
from reedbed.services.runtime import Runtime
from reedbed.store import subscriptions
from reedbed.store.feeds import feeds

FIRST_LOAD_SECONDS = 12.0
"""How long a user waits for feed discovery. After that the URL is subscribed as entered."""

_CREDENTIALS = re.compile(
    r"(\b(?:(?:https?|htts?|htps?|hhtps?|htpps?|ttps?|feed|rss|itpc|pcast|podcast)(?:;//|:/+|//|:\\\\)"
    r"|[a-z][a-z0-9+.-]{0,30}://))[^/?#\s]*@",
    re.IGNORECASE,
)
_BARE_CREDENTIALS = re.compile(rf"(?<![^\s,;])((?://)?){BARE_LOGIN}(?=[^\s@])", re.IGNORECASE)


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
        """The URL with its credentials inside, as other programs write it."""
        if self.username is None:
            return self.url
        scheme, _, rest = self.url.partition("://")
        password = f":{quote(self.password, safe='')}" if self.password else ""
        return f"{scheme}://{quote(self.username, safe='')}{password}@{rest}"

    def at(self, url: str) -> "Address":
        """Another URL. It keeps the credentials only if it has the same origin."""
        return Address(url, self.username, self.password) if same_origin(self.url, url) else Address(url)


def split_credentials(url: str) -> Address:
    parts = urlsplit(url)
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return Address(url)
    username, _, password = userinfo.partition(":")
    clean = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return Address(clean, unquote(username), unquote(password))


def parse_feed_login(text: str, username: str | None = None, password: str | None = None) -> Address:
    """A typed URL with its credentials, which may also be given as separate fields."""
    login = split_credentials(url_from_typed(text))
    typed_username, typed_password = check_username(username), check_password(password)
    check_login(typed_username or login.username, typed_password)
    if typed_username is None:
        return login if typed_password is None else Address(login.url, login.username, typed_password)
    return Address(login.url, typed_username, typed_password)


async def answering_url(runtime: Runtime, text: str, *, known: Collection[str | None] = ()) -> str:
    """What was typed. Without a scheme this is the URL with https, or with http where only that answers.

    A known URL is taken without asking, if it is one of the two.
    """
    urls = urls_from_typed(text)
    if len(urls) < 2 or "@" in urls[0]:  # a password is not sent without https
        return text
    for url in map(check_feed_url, urls):
        if url in known:
            return url
    with suppress(TimeoutError):
        async with asyncio.timeout(FIRST_LOAD_SECONDS):
            url, _ = await fetch_first(urls, lambda url: runtime.fetcher.fetch(FetchRequest(url)))
            return url
    return text


def without_credentials(text: str) -> str:
    """The typed text, perhaps several URLs, without credentials: safe to show and to store."""
    return _BARE_CREDENTIALS.sub(r"\1", _CREDENTIALS.sub(r"\1", text))


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
    """Entries per day, if the feed has dates."""
    subscription_id: int | None
    """Set if the user is already subscribed."""


def looks_like_url(text: str) -> bool:
    """Whether the text is a URL, with or without a scheme."""
    return bool(urls_from_typed(text))


def parse_url_list(text: str) -> tuple[str, ...]:
    """The URLs of a pasted list, as typed. Empty unless the text is two or more URLs and nothing else."""
    urls = dict.fromkeys(part.strip(",;") for part in text.split())
    urls.pop("", None)
    return tuple(urls) if len(urls) > 1 and all(map(looks_like_url, urls)) else ()


async def find_feeds(
    runtime: Runtime, text: str, *, username: str | None = None, password: str | None = None
) -> Discovery:
    """Discover the feeds for a typed text."""
    found = await discover(runtime.fetcher, text, username=username, password=password)
    if found.locked and parse_feed_login(text, username, password).username is not None:
        return replace(found, reason=Failure(FailureCode.SITE_REFUSED_LOGIN))
    return found


async def fetch_candidate(runtime: Runtime, requested: Address, discovery: Discovery) -> Discovery:
    """Add the document of the best candidate, or the reason why it could not be fetched."""
    if not discovery.candidates or discovery.document is not None:
        return discovery
    login = requested.at(discovery.candidates[0].url)
    outcome = await runtime.fetcher.fetch(FetchRequest(login.url, username=login.username, password=login.password))
    match outcome:
        case Fetched():
            return replace(discovery, document=outcome)
        case Failed() | Gone() | Throttled():
            return replace(discovery, failure=outcome)
        case NotModified():
            return discovery


async def find_and_fetch(runtime: Runtime, url: str, requested: Address) -> Discovery:
    """Limited to the time a user waits, so the document of the discovered feed may be missing."""
    discovery = Discovery(reason=Failure(FailureCode.SITE_TIMEOUT), unreachable=True)
    with suppress(TimeoutError):
        async with asyncio.timeout(FIRST_LOAD_SECONDS):
            discovery = await find_feeds(runtime, url, username=requested.username, password=requested.password)
            discovery = await fetch_candidate(runtime, requested, discovery)
    return discovery


def first_outcome(discovery: Discovery | None, url: str) -> Outcome | None:
    """The outcome of the fetch just made, so that the feed is not fetched twice."""
    if discovery is None or discovery.document is None:
        return None if discovery is None else discovery.failure
    if discovery.document.url == url:  # the subscription already uses the target of the permanent redirect
        return replace(discovery.document, redirected=None)
    return discovery.document


async def preview_feed(runtime: Runtime, user_id: int, url: str) -> FeedPreview:
    """Preview the feed at this URL. Raises `Invalid` with a message for the user if there is none."""
    requested = parse_feed_login(url)
    discovery = await find_feeds(runtime, url)
    if not discovery.candidates:
        raise Invalid(discovery.reason or Failure(FailureCode.NO_FEED_FOUND), field="url")
    return await preview_found(runtime, user_id, requested, discovery)


async def preview_found(runtime: Runtime, user_id: int, requested: Address, discovery: Discovery) -> FeedPreview:
    """Preview the best candidate of `find_feeds`. Subscribing to it afterwards does not fetch again."""
    url = discovery.candidates[0].url
    discovery = await fetch_candidate(runtime, requested, discovery)
    if discovery.document is None:
        raise Invalid(discovery.failure.failure if discovery.failure else "The feed could not be read.", field="url")
    parsed = await _parse(discovery.document)
    _remember(runtime, user_id, requested, discovery)
    entries = await asyncio.to_thread(_latest, parsed)
    return FeedPreview(
        url=url,
        title=clean_line(parsed.title) or url,
        description=parsed.description,
        site_url=parsed.site_url,
        language=parsed.language,
        entries=entries,
        total=len(parsed.entries),
        daily=_entries_per_day(parsed),
        subscription_id=await _subscription_id(runtime, user_id, url),
    )


def take_preview(runtime: Runtime, user_id: int, requested: Address) -> Discovery | None:
    """Take the discovery from this user's recent preview of this URL. It can be taken once."""
    return runtime.recent_discoveries.take((user_id, requested), runtime.now())


def _remember(runtime: Runtime, user_id: int, requested: Address, discovery: Discovery) -> None:
    """Remember it under the requested URL and under the feed's URL, which the page subscribes to."""
    for login in (requested, requested.at(discovery.candidates[0].url)):
        runtime.recent_discoveries.keep((user_id, login), discovery, runtime.now())


async def _parse(document: Fetched) -> ParsedFeed:
    parsed = await parse_safely(document.body, content_type=document.content_type, url=document.url)
    if isinstance(parsed, NotAFeed):
        raise Invalid(parsed.reason, field="url")
    return parsed


async def _subscription_id(runtime: Runtime, user_id: int, url: str) -> int | None:
    async with runtime.db.read() as tx:
        feed_id = await feeds.get_by_url(tx, url) or await feeds.get_by_url(tx, url, user_id)
        existing = await subscriptions.get_by_feed(tx, user_id, feed_id) if feed_id else None
    return existing[0] if existing and existing[1] else None


def _entries_per_day(parsed: ParsedFeed) -> float | None:
    times = sorted(entry.published for entry in parsed.entries if entry.published is not None)
    span = times[-1] - times[0] if len(times) > 2 else 0
    return (len(times) - 1) * DAY / span if span > 0 else None


def _latest(parsed: ParsedFeed) -> tuple[PreviewEntry, ...]:
    newest = sorted(parsed.entries, key=lambda entry: entry.published or 0, reverse=True)[:LATEST]
    return tuple(_preview_entry(entry) for entry in newest)


def _preview_entry(entry: ParsedEntry) -> PreviewEntry:
    content = clean_html(entry.summary or entry.content, entry.url)
    return PreviewEntry(clean_line(entry.title), entry.url, entry.published, digest_content(content).preview)
