"""From any address to the feeds behind it: what the site promises, what the page names, what one may try."""

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, cast
from urllib.parse import urlsplit

from reedbed.domain.feeds import ParsedFeed
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import (
    Failed,
    Fetched,
    FetchRequest,
    Gone,
    NotModified,
    Outcome,
    Throttled,
)
from reedbed.domain.subscriptions import Discovery, FeedCandidate
from reedbed.domain.urls import feed_address
from reedbed.ingest.http.client import ACCEPT_FEED, Fetcher
from reedbed.ingest.http.headers import RequestTarget, parse_target
from reedbed.ingest.known_sites import feeds_in_page, known_feeds, likely_feeds
from reedbed.ingest.parse import parse_safely

_MAX_HTML = 2 * 1024 * 1024
_MAX_LINKS = 500
_MAX_ANCHORS = 5000
_MAX_FEEDS = 20
_MAX_TRIES = 5
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
_FEED_WORDS = re.compile(r"\s*(?:subscribe (?:by|via|with) )?(?:rss|atom)(?:[ -]?feed)?s?\s*", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,4})x\d{1,4}", re.IGNORECASE)


@record
class PageLinks:
    title: str = ""
    feeds: tuple[FeedCandidate, ...] = ()
    """Named by the page itself, comments last."""
    anchors: tuple[str, ...] = ()
    """Worth a try."""
    icons: tuple[str, ...] = ()
    """The best for a small square first."""


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
    # The stubs know no target that leaves callbacks out, though lxml does.
    parser = etree.HTMLParser(target=cast(Any, reader), encoding="utf-8")
    try:
        parser.feed(html[:_MAX_HTML].encode("utf-8", "replace"))
        parser.close()
    except etree.LxmlError:
        # A page may be nonsense from its first letter; what was read before stays.
        pass
    return reader.result(url)


class _LinkReader:
    """Takes tags as they come and builds no tree: on trees, pages exist that take hours to read."""

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
            href, before = self._anchors[-1]
            if len(before) < _MAX_ANCHOR_TEXT:
                self._anchors[-1] = (href, before + text[:_MAX_ANCHOR_TEXT])

    def close(self) -> None:
        pass

    def result(self, url: str) -> PageLinks:
        target = parse_target(self._base.strip(), url)
        base = target.href if isinstance(target, RequestTarget) else url
        links = [link for attributes in self._links if (link := _Link.read(attributes, base)) is not None]
        return PageLinks(_tidy(self._title), _feeds(links), _anchors(self._anchors, base), _icons(links))


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
            title=_tidy(attributes.get("title", "")),
            sizes=attributes.get("sizes", ""),
        )


def _feeds(links: list[_Link]) -> tuple[FeedCandidate, ...]:
    found: dict[str, FeedCandidate] = {}
    for link in links:
        if _names_a_feed(link):
            found.setdefault(
                link.href, FeedCandidate(link.href, link.title, _FEED_TYPES.get(link.type, "json"), "link")
            )
    ordered = sorted(found.values(), key=lambda feed: "comment" in (feed.url + feed.title).lower())
    return tuple(ordered[:_MAX_FEEDS])


def _names_a_feed(link: _Link) -> bool:
    if "feed" in link.rel:
        return True
    if "alternate" not in link.rel or "stylesheet" in link.rel:
        return False
    # WordPress names its whole interface application/json; only what calls itself a feed is one.
    return link.type in _FEED_TYPES or (link.type == "application/json" and "feed" in link.href.lower())


def _anchors(anchors: list[tuple[str, str]], base: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for href, text in anchors:
        path = href.partition("#")[0].partition("?")[0]
        if not (_FEED_PATH.search(path) or _FEED_WORDS.fullmatch(text)):
            continue
        target = parse_target(href.strip(), base)
        if isinstance(target, RequestTarget) and target.href != base:
            found[target.href] = None
        if len(found) == _MAX_TRIES:
            break
    return tuple(found)


def _icons(links: list[_Link]) -> tuple[str, ...]:
    """64 pixels are wanted: what is at least that large first, the smallest of them before the rest."""
    icons = [
        link for link in links if link.rel & {"icon", "apple-touch-icon", "apple-touch-icon-precomposed"}
    ]
    drawn = [link for link in icons if "svg" not in link.type and not link.href.lower().endswith(".svg")]
    return tuple(dict.fromkeys(link.href for link in sorted(drawn, key=_icon_rank)))[:_MAX_TRIES]


def _icon_rank(link: _Link) -> tuple[bool, int]:
    sizes = [int(width) for width in _SIZE.findall(link.sizes)]
    width = max(sizes, default=180 if "apple-touch-icon" in link.rel else 32)
    return (width < 64, abs(width - 64))


def _tidy(text: str) -> str:
    return " ".join(text[: 4 * _MAX_TITLE].split())[:_MAX_TITLE]


_MAX_LENGTH = 2048
_WRAPPING = " \t\r\n\f\v\u00a0\u200b\ufeff<>\"'`“”„«»"
_FEED_SCHEMES = re.compile(r"(?:feed|rss|itpc|pcast|podcast)(?::(?=https?:)|:/*)", re.IGNORECASE)
_BROKEN_SCHEME = re.compile(
    r"(https?)(?:;//|:/{1,}|//|:\\\\)(?=[^/])|(?:htt|htp|hhtp|htpp|ttp)(s?)://", re.IGNORECASE
)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:(?!\d{1,5}(?:[/?#]|$))", re.IGNORECASE)
_HANDLE = re.compile(r"@?([\w.-]{1,64})@((?:[\w-]{1,63}\.){1,8}[\w-]{2,63})")
_HOST = re.compile(
    r"(?:[^\s/?#@]+\.[^\s/?#@.]+\.?|localhost|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#].*)?", re.IGNORECASE
)


def typed_addresses(text: str) -> tuple[str, ...]:
    """The addresses meant, most likely first; empty when the text can be none."""
    typed = text.strip(_WRAPPING)
    if not typed or len(typed) > _MAX_LENGTH:
        return ()
    if (handle := _HANDLE.fullmatch(typed)) is not None:
        return (f"https://{handle[2]}/@{handle[1]}",)
    typed = _FEED_SCHEMES.sub("", typed, count=1) if _FEED_SCHEMES.match(typed) else typed
    if (broken := _BROKEN_SCHEME.match(typed)) is not None:
        return (f"{(broken[1] or 'http' + (broken[2] or '')).lower()}://{typed[broken.end() :]}",)
    if _ANY_SCHEME.match(typed):
        return ()
    bare = typed.removeprefix("//")
    return (f"https://{bare}", f"http://{bare}") if _HOST.fullmatch(bare) else ()


def typed_address(text: str) -> str:
    """The address meant, checked and tidied. Raises `Invalid` when the text can be none."""
    meant = typed_addresses(text)
    return feed_address(meant[0] if meant else text)


_TOTAL_SECONDS = 60.0
_PAUSE_SECONDS = 0.2
_MAX_CANDIDATES = 16
_USUAL_PATHS = (
    "feed",
    "rss",
    "atom.xml",
    "feed.xml",
    "rss.xml",
    "index.xml",
    "feed.json",
    "feed/atom",
    "blog/feed",
)
_USUAL_PATHS_BELOW = ("feed", "feed.xml", "rss.xml", "atom.xml", "index.xml")
_FEED_ROOT = re.compile(rb"<(?:\w{1,20}:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_JSON_FEED = re.compile(rb"jsonfeed\.org\\?/version")
_SNIFFED = 4096

_NO_ADDRESS = "This is not the address of a page or feed."
_NOTHING = "No feed was found at this address."
_LOCKED = (
    "The site lets nobody in without a name and password. "
    "If you have them, write them into the address: https://name:password@example.org."
)
_THROTTLED = "The site asks for fewer requests. Try again in a few minutes."
_TOO_SLOW = "The site took too long to answer."


async def discover(
    fetcher: Fetcher,
    text: str,
    *,
    username: str | None = None,
    password: str | None = None,
    pause: float = _PAUSE_SECONDS,
) -> Discovery:
    """Credentials, also those in the address, are sent to its own origin only; no result holds them."""
    typed = typed_addresses(text)
    if not typed:
        return Discovery(reason=_NO_ADDRESS, nowhere=True)
    login, addresses = _login(typed, username, password)
    if known := known_feeds(addresses[0]):
        return Discovery(known)
    try:
        async with asyncio.timeout(_TOTAL_SECONDS):
            return await _FeedSearch(fetcher, pause, login).run(addresses)
    except TimeoutError:
        return Discovery(reason=_TOO_SLOW, unreachable=True)


def looks_like_feed(body: bytes) -> bool:
    """A cheap look at the beginning; the parser has the last word."""
    head = body[:_SNIFFED].replace(b"\0", b"")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _JSON_FEED.search(head) is not None
    return _FEED_ROOT.search(head) is not None


def same_origin(one: str, other: str) -> bool:
    first, second = parse_target(one), parse_target(other)
    return (
        isinstance(first, RequestTarget)
        and isinstance(second, RequestTarget)
        and first.origin == second.origin
    )


@record
class _Login:
    address: str
    username: str
    password: str = field(repr=False)


def _login(
    typed: tuple[str, ...], username: str | None, password: str | None
) -> tuple[_Login | None, tuple[str, ...]]:
    """What to send to the origin of the address, and the addresses without it."""
    target = parse_target(typed[0])
    if not isinstance(target, RequestTarget):
        return None, typed
    has_login = bool(target.username or target.password)
    address = target.href if has_login else typed[0]
    if username is None and not has_login:
        return None, typed
    login = _Login(address, username or target.username, password or target.password)
    # Never tried over plain http after https has failed.
    return login, (address,)


class _FeedSearch:
    def __init__(self, fetcher: Fetcher, pause: float, login: _Login | None = None) -> None:
        self._fetcher = fetcher
        self._pause = pause
        self._login = login
        self._tried: set[str] = set()

    async def run(self, addresses: tuple[str, ...]) -> Discovery:
        outcome = await self._first_answer(addresses)
        if not isinstance(outcome, Fetched):
            return await self._without_page(addresses[0], outcome)
        if (feed := await _as_feed(outcome, _lasting_address(outcome, addresses))) is not None:
            return Discovery((feed,), document=outcome)
        return await self._from_page(outcome)

    async def _first_answer(self, addresses: tuple[str, ...]) -> Outcome:
        outcome: Outcome = Failed("permanent_error", _NO_ADDRESS)
        for address in addresses:
            self._tried.add(address)
            outcome = await self._fetch(address)
            if not isinstance(outcome, Failed) or outcome.status is not None:
                return outcome
        return outcome

    async def _fetch(self, address: str) -> Outcome:
        request = FetchRequest(address, accept=ACCEPT_FEED)
        if self._login is not None and same_origin(address, self._login.address):
            request = replace(request, username=self._login.username, password=self._login.password)
        return await self._fetcher.fetch(request)

    async def _without_page(self, address: str, outcome: Outcome) -> Discovery:
        """Some sites hide their pages from programs and still hand out the feed."""
        if isinstance(outcome, Failed) and outcome.status is not None:
            found = await self._try(likely_feeds(address))
            if found is not None:
                return found
        failure = None if isinstance(outcome, Fetched | NotModified) else outcome
        return Discovery(reason=_why_not(outcome), unreachable=_may_heal(outcome), failure=failure)

    async def _from_page(self, page: Fetched) -> Discovery:
        html = decode_page(page.body, page.content_type)
        if feeds := feeds_in_page(page.url, html) or known_feeds(page.url):
            return Discovery(feeds)
        links = await asyncio.to_thread(read_links, html, page.url)
        if links.feeds:
            return Discovery(_titled(links.feeds, links.title))
        guesses = (
            *likely_feeds(page.url),
            *(FeedCandidate(anchor, source="anchor") for anchor in links.anchors),
            *(FeedCandidate(address, source="guess") for address in _usual_addresses(page.url)),
        )
        return await self._try(guesses) or Discovery(reason=_NOTHING)

    async def _try(self, guesses: Iterable[FeedCandidate]) -> Discovery | None:
        """The first that is a feed, asked one after the other; a host that wants peace gets it."""
        for guess in guesses:
            if guess.url in self._tried or len(self._tried) >= _MAX_CANDIDATES:
                continue
            self._tried.add(guess.url)
            await asyncio.sleep(self._pause)
            outcome = await self._fetch(guess.url)
            if isinstance(outcome, Throttled) or (isinstance(outcome, Failed) and outcome.status is None):
                return None
            if isinstance(outcome, Fetched) and (feed := await _as_feed(outcome, guess.url)) is not None:
                named = FeedCandidate(feed.url, feed.title or guess.title, feed.type, guess.source)
                return Discovery((named,), document=outcome)
        return None


def _why_not(outcome: Outcome) -> str:
    """A feed that was followed may be gone; an address somebody just typed was perhaps never one."""
    status = 410 if isinstance(outcome, Gone) else getattr(outcome, "status", None)
    if status in (404, 410):
        return f"There is nothing at this address: the site answered {status}. Check it for a typing error."
    if isinstance(outcome, Failed) and outcome.kind == "unauthorized":
        return _LOCKED
    if isinstance(outcome, Throttled):
        return _THROTTLED
    return getattr(outcome, "message", _NOTHING)


def _may_heal(outcome: Outcome) -> bool:
    """A server in trouble may answer tomorrow; an address we must not ask, or that is gone, will not."""
    match outcome:
        case Throttled():
            return True
        case Failed():
            return outcome.kind != "permanent_error" or outcome.status is not None
        case _:
            return False


async def _as_feed(outcome: Fetched, address: str) -> FeedCandidate | None:
    if not looks_like_feed(outcome.body):
        return None
    parsed = await parse_safely(outcome.body, content_type=outcome.content_type, url=outcome.url)
    if not isinstance(parsed, ParsedFeed):
        return None
    return FeedCandidate(address, parsed.title, parsed.format, "direct")


def _lasting_address(outcome: Fetched, addresses: tuple[str, ...]) -> str:
    """A temporary redirect may lead elsewhere tomorrow: then the address that was typed is the one."""
    if outcome.redirected is not None and not outcome.redirected.permanent:
        scheme = urlsplit(outcome.url).scheme
        return next((address for address in addresses if address.startswith(f"{scheme}:")), addresses[0])
    return outcome.url


def _usual_addresses(page_url: str) -> list[str]:
    split = urlsplit(page_url)
    origin = f"{split.scheme}://{split.netloc}"
    folder = split.path.rpartition("/")[0] if not split.path.endswith("/") else split.path.rstrip("/")
    below = [f"{origin}{folder}/{path}" for path in _USUAL_PATHS_BELOW] if folder else []
    return below + [f"{origin}/{path}" for path in _USUAL_PATHS]


def _titled(feeds: tuple[FeedCandidate, ...], page_title: str) -> tuple[FeedCandidate, ...]:
    return tuple(FeedCandidate(feed.url, feed.title or page_title, feed.type, feed.source) for feed in feeds)
