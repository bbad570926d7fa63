"""Find the feeds behind a URL or a text that a user typed.

In order: feeds of known sites, the document itself, `<link>` elements of the page, then links that look like
feeds and common feed paths, which are fetched to check them.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, cast
from urllib.parse import urlsplit

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import ParsedFeed
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, Gone, NotModified, Outcome, Throttled
from reedbed.domain.subscriptions import Discovery, FeedCandidate
from reedbed.domain.urls import check_feed_url
from reedbed.ingest.http.client import ACCEPT_FEED, Fetcher
from reedbed.ingest.http.headers import RequestTarget, parse_target
from reedbed.ingest.known_sites import feeds_in_page, known_feeds, likely_feeds
from reedbed.ingest.parse import parse_safely

# --- Links in a page

_MAX_HTML = 2 * 1024 * 1024
_MAX_LINKS = 500
_MAX_ANCHORS = 5000
_MAX_FEEDS = 20
_MAX_GUESSES = 5
_MAX_TITLE = 200
_MAX_ANCHOR_TEXT = 60

_FEED_TYPES = {
    "application/rss+xml": "rss",
    "application/rdf+xml": "rdf",
    "application/atom+xml": "atom",
    "application/feed+json": "json",
    "application/rss": "rss",
    "application/atom": "atom",
    "text/rss+xml": "rss",
    "text/rss": "rss",
    "text/atom+xml": "atom",
    "text/xml": "",
    "application/xml": "",
}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w:.-]{2,40})""", re.IGNORECASE)
_CHARSET_IN_TYPE = re.compile(r"charset\s*=\s*[\"']?([\w:.-]{2,40})", re.IGNORECASE)
_FEED_PATH = re.compile(
    r"(?:^|/)(?:rss|atom|feeds?)(?:\.xml|\.json|\.php)?/?$|\.(?:rss|atom|rdf)$|/index\.xml$", re.IGNORECASE
)
_FEED_LINK_TEXT = re.compile(r"\s*(?:subscribe (?:by|via|with) )?(?:rss|atom)(?:[ -]?feed)?s?\s*", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,4})x\d{1,4}", re.IGNORECASE)


@record
class PageLinks:
    title: str = ""
    feeds: tuple[FeedCandidate, ...] = ()
    """From `<link>` elements; comment feeds last."""
    anchors: tuple[str, ...] = ()
    """URLs of links that look like feeds."""
    icons: tuple[str, ...] = ()
    """Best match for a 64 pixel icon first."""


def decode_page(body: bytes, content_type: str | None) -> str:
    declared = _CHARSET_IN_TYPE.search(content_type or "")
    in_page = None if declared else _CHARSET.search(body[:2048])
    charset = declared[1] if declared else in_page[1].decode("ascii") if in_page else "utf-8"
    try:
        return body[:_MAX_HTML].decode(charset, "replace")
    except (LookupError, ValueError):
        return body[:_MAX_HTML].decode("utf-8", "replace")


def read_links(html: str, url: str) -> PageLinks:
    from lxml import etree

    reader = _LinkReader()
    # lxml accepts a target without all callbacks, but its stubs do not.
    parser = etree.HTMLParser(target=cast(Any, reader), encoding="utf-8")
    try:
        parser.feed(html[:_MAX_HTML].encode("utf-8", "replace"))
        parser.close()
    except etree.LxmlError:
        # The page may be invalid from the first character on; keep what was read before the error.
        pass
    return reader.result(url)


class _LinkReader:
    """Parser target that collects tags without building a tree: some pages take hours to parse as a tree."""

    def __init__(self) -> None:
        self._base = ""
        self._title = ""
        self._links: list[dict[str, str]] = []
        self._anchors: list[tuple[str, str]] = []
        self._inside = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "link" and len(self._links) < _MAX_LINKS:
            self._links.append(dict(attributes))
        elif tag == "base":
            self._base = self._base or attributes.get("href", "")
        elif tag == "a" and len(self._anchors) < _MAX_ANCHORS:
            self._anchors.append((attributes.get("href", ""), ""))
        if tag in ("a", "title"):
            self._inside = tag

    def end(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def data(self, text: str) -> None:
        if self._inside == "title" and len(self._title) < _MAX_TITLE:
            self._title += text[: 4 * _MAX_TITLE]
        elif self._inside == "a":
            href, previous = self._anchors[-1]
            if len(previous) < _MAX_ANCHOR_TEXT:
                self._anchors[-1] = (href, previous + text[:_MAX_ANCHOR_TEXT])

    def close(self) -> None:
        pass

    def result(self, url: str) -> PageLinks:
        target = parse_target(self._base.strip(), url)
        base = target.href if isinstance(target, RequestTarget) else url
        links = [link for attributes in self._links if (link := _Link.read(attributes, base)) is not None]
        return PageLinks(_clean_title(self._title), _feeds(links), _anchors(self._anchors, base), _icons(links))


@record
class _Link:
    href: str
    rel: frozenset[str]
    type: str
    title: str
    sizes: str

    @classmethod
    def read(cls, attributes: Mapping[str, str], base: str) -> "_Link | None":
        target = parse_target(attributes.get("href", "").strip(), base)
        if not isinstance(target, RequestTarget):
            return None
        return cls(
            href=target.href,
            rel=frozenset(attributes.get("rel", "").lower().split()),
            type=attributes.get("type", "").partition(";")[0].strip().lower(),
            title=_clean_title(attributes.get("title", "")),
            sizes=attributes.get("sizes", ""),
        )


def _feeds(links: list[_Link]) -> tuple[FeedCandidate, ...]:
    feeds_by_url: dict[str, FeedCandidate] = {}
    for link in links:
        if _is_feed_link(link):
            feeds_by_url.setdefault(
                link.href, FeedCandidate(link.href, link.title, _FEED_TYPES.get(link.type, "json"), "link")
            )
    ordered = sorted(feeds_by_url.values(), key=lambda feed: "comment" in (feed.url + feed.title).lower())
    return tuple(ordered[:_MAX_FEEDS])


def _is_feed_link(link: _Link) -> bool:
    if "feed" in link.rel:
        return True
    if "alternate" not in link.rel or "stylesheet" in link.rel:
        return False
    # WordPress links its REST API as application/json, so the URL must contain "feed".
    return link.type in _FEED_TYPES or (link.type == "application/json" and "feed" in link.href.lower())


def _anchors(anchors: list[tuple[str, str]], base: str) -> tuple[str, ...]:
    urls: dict[str, None] = {}
    for href, text in anchors:
        path = href.partition("#")[0].partition("?")[0]
        if not (_FEED_PATH.search(path) or _FEED_LINK_TEXT.fullmatch(text)):
            continue
        target = parse_target(href.strip(), base)
        if isinstance(target, RequestTarget) and target.href != base:
            urls[target.href] = None
        if len(urls) == _MAX_GUESSES:
            break
    return tuple(urls)


def _icons(links: list[_Link]) -> tuple[str, ...]:
    """Icons of at least 64 pixels first; within each group the closest to 64 pixels first."""
    icons = [link for link in links if link.rel & {"icon", "apple-touch-icon", "apple-touch-icon-precomposed"}]
    bitmaps = [link for link in icons if "svg" not in link.type and not link.href.lower().endswith(".svg")]
    return tuple(dict.fromkeys(link.href for link in sorted(bitmaps, key=_icon_rank)))[:_MAX_GUESSES]


def _icon_rank(link: _Link) -> tuple[bool, int]:
    sizes = [int(width) for width in _SIZE.findall(link.sizes)]
    width = max(sizes, default=180 if "apple-touch-icon" in link.rel else 32)
    return (width < 64, abs(width - 64))


def _clean_title(text: str) -> str:
    return " ".join(text[: 4 * _MAX_TITLE].split())[:_MAX_TITLE]


# --- Typed text to URLs

_MAX_TYPED_LENGTH = 2048
_SURROUNDING_CHARS = " \t\r\n\f\v\u00a0\u200b\ufeff<>\"'`“”„«»"
_FEED_SCHEMES = re.compile(r"(?:feed|rss|itpc|pcast|podcast)(?::(?=https?:)|:/*)", re.IGNORECASE)
# With its slashes it is an address whatever its host, also `feed://intranet/news`.
_FEED_ADDRESS = re.compile(r"(?:feed|rss|itpc|pcast|podcast)://(?![a-z]+:/)([^\s/?#][^\s]*)", re.IGNORECASE)
_BROKEN_SCHEME = re.compile(r"(https?)(?:;//|:/{1,}|//|:\\\\)(?=[^/])|(?:htt|htp|hhtp|htpp|ttp)(s?)://", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:(?!\d{1,5}(?:[/?#]|$))", re.IGNORECASE)
# `name:password@` before a host. Without the slashes of a URL, some schemes look the same.
BARE_LOGIN = r"(?!(?:mailto|acct|xmpp|sips?|im|news):)[^\s/?#@:]+:[^\s/?#@]*@"
_BARE_LOGIN = re.compile(BARE_LOGIN, re.IGNORECASE)
_HANDLE = re.compile(r"@?([\w.-]{1,64})@((?:[\w-]{1,63}\.){1,8}[\w-]{2,63})")
_HOST = re.compile(r"(?:[^\s/?#@]+\.[^\s/?#@.]+\.?|localhost|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#].*)?", re.IGNORECASE)


def urls_from_typed(text: str) -> tuple[str, ...]:
    """The URLs the user may have meant, most likely first; empty if the text cannot be a URL."""
    typed = text.strip(_SURROUNDING_CHARS)
    if not typed or len(typed) > _MAX_TYPED_LENGTH:
        return ()
    if (handle := _HANDLE.fullmatch(typed)) is not None:
        return (f"https://{handle[2]}/@{handle[1]}",)
    if (address := _FEED_ADDRESS.fullmatch(typed)) is not None:
        return (f"https://{address[1]}", f"http://{address[1]}")
    typed = _FEED_SCHEMES.sub("", typed, count=1) if _FEED_SCHEMES.match(typed) else typed
    if (broken := _BROKEN_SCHEME.match(typed)) is not None:
        return (f"{(broken[1] or 'http' + (broken[2] or '')).lower()}://{typed[broken.end() :]}",)
    bare = typed.removeprefix("//")
    login = _BARE_LOGIN.match(bare)
    if login is None and _ANY_SCHEME.match(typed):
        return ()
    host = bare[login.end() :] if login is not None else bare
    return (f"https://{bare}", f"http://{bare}") if _HOST.fullmatch(host) else ()


async def fetch_first(urls: Sequence[str], fetch: Callable[[str], Awaitable[Outcome]]) -> tuple[str, Outcome]:
    """The first URL that answers and its outcome; without any, the first one and the last failure."""
    outcome: Outcome = Failed("permanent_error", _NOT_A_URL)
    for url in urls:
        outcome = await fetch(url)
        if not isinstance(outcome, Failed) or outcome.status is not None:
            return url, outcome
    return urls[0], outcome


def url_from_typed(text: str) -> str:
    """The normalized URL the user most likely meant. Raise `Invalid` if the text cannot be a URL."""
    urls = urls_from_typed(text)
    return check_feed_url(urls[0] if urls else text)


# --- Discovery

_TOTAL_SECONDS = 60.0
_PAUSE_SECONDS = 0.2
_MAX_CANDIDATES = 16
_COMMON_PATHS = ("feed", "rss", "atom.xml", "feed.xml", "rss.xml", "index.xml", "feed.json", "feed/atom", "blog/feed")
_COMMON_SUBPATHS = ("feed", "feed.xml", "rss.xml", "atom.xml", "index.xml")
_FEED_ROOT = re.compile(rb"<(?:\w{1,20}:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_JSON_FEED = re.compile(rb"jsonfeed\.org\\?/version")
_SNIFF_BYTES = 4096

_NOT_A_URL = Failure(FailureCode.NOT_A_URL)
_NO_FEED_FOUND = Failure(FailureCode.NO_FEED_FOUND)
_NEEDS_LOGIN = Failure(FailureCode.SITE_NEEDS_LOGIN)
_THROTTLED = Failure(FailureCode.SITE_THROTTLED)
_TOO_SLOW = Failure(FailureCode.SITE_TIMEOUT)


async def discover(
    fetcher: Fetcher,
    text: str,
    *,
    username: str | None = None,
    password: str | None = None,
    pause: float = _PAUSE_SECONDS,
) -> Discovery:
    """Credentials, including those in the URL, are sent only to the URL's own origin and never returned."""
    typed = urls_from_typed(text)
    if not typed:
        return Discovery(reason=_NOT_A_URL, nowhere=True)
    login, urls = _login(typed, username, password)
    if feeds := known_feeds(urls[0]):
        return Discovery(feeds)
    try:
        async with asyncio.timeout(_TOTAL_SECONDS):
            return await _FeedSearch(fetcher, pause, login).run(urls)
    except TimeoutError:
        return Discovery(reason=_TOO_SLOW, unreachable=True)


def looks_like_feed(body: bytes) -> bool:
    """A cheap check of the first bytes; the parser decides."""
    head = body[:_SNIFF_BYTES].replace(b"\0", b"")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _JSON_FEED.search(head) is not None
    return _FEED_ROOT.search(head) is not None


def same_origin(url: str, other_url: str) -> bool:
    first, second = parse_target(url), parse_target(other_url)
    return isinstance(first, RequestTarget) and isinstance(second, RequestTarget) and first.origin == second.origin


@record
class _Login:
    url: str
    username: str
    password: str = field(repr=False)


def _login(typed: tuple[str, ...], username: str | None, password: str | None) -> tuple[_Login | None, tuple[str, ...]]:
    """Credentials for the origin of the first URL, and the URLs without them."""
    target = parse_target(typed[0])
    if not isinstance(target, RequestTarget):
        return None, typed
    has_login = bool(target.username or target.password)
    url = target.href if has_login else typed[0]
    if username is None and not has_login:
        return None, typed
    login = _Login(url, username or target.username, password or target.password)
    # Only one URL: credentials are not sent over plain http after https failed.
    return login, (url,)


class _FeedSearch:
    def __init__(self, fetcher: Fetcher, pause: float, login: _Login | None = None) -> None:
        self._fetcher = fetcher
        self._pause = pause
        self._login = login
        self._tried: set[str] = set()

    async def run(self, urls: tuple[str, ...]) -> Discovery:
        url, outcome = await fetch_first(urls, self._fetch)
        discovery = await self._found(url, outcome, urls)
        return discovery if url == urls[0] else replace(discovery, answered_url=url)

    async def _found(self, url: str, outcome: Outcome, urls: tuple[str, ...]) -> Discovery:
        if not isinstance(outcome, Fetched):
            return await self._without_page(url, outcome)
        if (feed := await _as_feed(outcome, _permanent_url(outcome, urls))) is not None:
            return Discovery((feed,), document=outcome)
        return await self._from_page(outcome)

    async def _fetch(self, url: str) -> Outcome:
        self._tried.add(url)
        request = FetchRequest(url, accept=ACCEPT_FEED)
        if self._login is not None and same_origin(url, self._login.url):
            request = replace(request, username=self._login.username, password=self._login.password)
        return await self._fetcher.fetch(request)

    async def _without_page(self, url: str, outcome: NotModified | Gone | Throttled | Failed) -> Discovery:
        """Some sites block programs from their pages but still serve the feed."""
        if isinstance(outcome, Failed) and outcome.status is not None:
            discovery = await self._try_guesses(likely_feeds(url))
            if discovery is not None:
                return discovery
        failure = None if isinstance(outcome, NotModified) else outcome
        return Discovery(reason=_failure_reason(outcome), unreachable=_is_temporary(outcome), failure=failure)

    async def _from_page(self, page: Fetched) -> Discovery:
        html = decode_page(page.body, page.content_type)
        if feeds := feeds_in_page(page.url, html) or known_feeds(page.url):
            return Discovery(feeds)
        links = await asyncio.to_thread(read_links, html, page.url)
        if links.feeds:
            return Discovery(_with_title(links.feeds, links.title))
        guesses = (
            *likely_feeds(page.url),
            *(FeedCandidate(anchor, source="anchor") for anchor in links.anchors),
            *(FeedCandidate(url, source="guess") for url in _common_feed_urls(page.url)),
        )
        return await self._try_guesses(guesses) or Discovery(reason=_NO_FEED_FOUND)

    async def _try_guesses(self, guesses: Iterable[FeedCandidate]) -> Discovery | None:
        """Fetch guesses one by one until one is a feed; stop if the host throttles or does not answer."""
        for guess in guesses:
            if guess.url in self._tried or len(self._tried) >= _MAX_CANDIDATES:
                continue
            await asyncio.sleep(self._pause)
            outcome = await self._fetch(guess.url)
            if isinstance(outcome, Throttled) or (isinstance(outcome, Failed) and outcome.status is None):
                return None
            if isinstance(outcome, Fetched) and (feed := await _as_feed(outcome, guess.url)) is not None:
                named = FeedCandidate(feed.url, feed.title or guess.title, feed.type, guess.source)
                return Discovery((named,), document=outcome)
        return None


def _failure_reason(outcome: NotModified | Gone | Throttled | Failed) -> Failure:
    """A 404 or 410 here means a mistyped URL rather than a feed that is gone."""
    match outcome:
        case Gone() | Failed(status=404):
            return Failure(FailureCode.NOTHING_AT_ADDRESS, {"status": outcome.status or 404})
        case Failed(kind="unauthorized"):
            return _NEEDS_LOGIN
        case Throttled():
            return _THROTTLED
        case _:
            return outcome.failure


def _is_temporary(outcome: Outcome) -> bool:
    """A failing server may recover; a URL that must not be fetched, or that is gone, will not."""
    match outcome:
        case Throttled():
            return True
        case Failed():
            return outcome.kind != "permanent_error" or outcome.status is not None
        case _:
            return False


async def _as_feed(outcome: Fetched, url: str) -> FeedCandidate | None:
    if not looks_like_feed(outcome.body):
        return None
    parsed = await parse_safely(outcome.body, content_type=outcome.content_type, url=outcome.url)
    if not isinstance(parsed, ParsedFeed):
        return None
    return FeedCandidate(url, parsed.title, parsed.format, "direct")


def _permanent_url(outcome: Fetched, urls: tuple[str, ...]) -> str:
    """After a temporary redirect keep the typed URL, because the redirect may change."""
    if outcome.redirected is not None and not outcome.redirected.permanent:
        scheme = urlsplit(outcome.url).scheme
        return next((url for url in urls if url.startswith(f"{scheme}:")), urls[0])
    return outcome.url


def _common_feed_urls(page_url: str) -> list[str]:
    split = urlsplit(page_url)
    origin = f"{split.scheme}://{split.netloc}"
    folder = split.path.rpartition("/")[0] if not split.path.endswith("/") else split.path.rstrip("/")
    below = [f"{origin}{folder}/{path}" for path in _COMMON_SUBPATHS] if folder else []
    return below + [f"{origin}/{path}" for path in _COMMON_PATHS]


def _with_title(feeds: tuple[FeedCandidate, ...], page_title: str) -> tuple[FeedCandidate, ...]:
    return tuple(FeedCandidate(feed.url, feed.title or page_title, feed.type, feed.source) for feed in feeds)
