"""From any address to the feeds behind it: what the site promises, what the page names, what one may try."""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import field, replace
from urllib.parse import urlsplit

from reedbed.domain.discovery import Candidate, Discovery
from reedbed.domain.feeds import ParsedFeed
from reedbed.domain.fetching import Failed, Fetched, FetchRequest, Gone, NotModified, Outcome, Throttled
from reedbed.domain.records import record
from reedbed.ingest.fetch import ACCEPT_FEED, Fetcher
from reedbed.ingest.known_sites import feeds_in_page, known_feeds, likely_feeds
from reedbed.ingest.page_links import decode_page, read_links
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.target import Target, parse_target
from reedbed.ingest.typed_address import typed_addresses

_TOTAL_SECONDS = 60.0
_PAUSE_SECONDS = 0.2
_MAX_TRIES = 16
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
            return await _Search(fetcher, pause, login).run(addresses)
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
    return isinstance(first, Target) and isinstance(second, Target) and first.origin == second.origin


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
    if not isinstance(target, Target):
        return None, typed
    has_login = bool(target.username or target.password)
    address = target.href if has_login else typed[0]
    if username is None and not has_login:
        return None, typed
    login = _Login(address, username or target.username, password or target.password)
    # Never tried over plain http after https has failed.
    return login, (address,)


class _Search:
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
            *(Candidate(anchor, source="anchor") for anchor in links.anchors),
            *(Candidate(address, source="guess") for address in _usual_addresses(page.url)),
        )
        return await self._try(guesses) or Discovery(reason=_NOTHING)

    async def _try(self, guesses: Iterable[Candidate]) -> Discovery | None:
        """The first that is a feed, asked one after the other; a host that wants peace gets it."""
        for guess in guesses:
            if guess.url in self._tried or len(self._tried) >= _MAX_TRIES:
                continue
            self._tried.add(guess.url)
            await asyncio.sleep(self._pause)
            outcome = await self._fetch(guess.url)
            if isinstance(outcome, Throttled) or (isinstance(outcome, Failed) and outcome.status is None):
                return None
            if isinstance(outcome, Fetched) and (feed := await _as_feed(outcome, guess.url)) is not None:
                named = Candidate(feed.url, feed.title or guess.title, feed.type, guess.source)
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


async def _as_feed(outcome: Fetched, address: str) -> Candidate | None:
    if not looks_like_feed(outcome.body):
        return None
    parsed = await parse_safely(outcome.body, content_type=outcome.content_type, url=outcome.url)
    if not isinstance(parsed, ParsedFeed):
        return None
    return Candidate(address, parsed.title, parsed.format, "direct")


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


def _titled(feeds: tuple[Candidate, ...], page_title: str) -> tuple[Candidate, ...]:
    return tuple(Candidate(feed.url, feed.title or page_title, feed.type, feed.source) for feed in feeds)
