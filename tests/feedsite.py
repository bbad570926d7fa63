"""A real web site with feeds, on loopback, for tests.

    async with FeedSite() as site:
        site.publish("Hello", key="a")
        ...                                   # let the program fetch site.feed_url()
        site.misbehave(status=503, retry_after=120)
        assert site.count() == 2

A feed exists from the first mention of its name and answers conditional requests. `feed=` chooses one,
`site.feed("news", form="atom")` its format. `serving.in_thread(FeedSite())` is for tests without a loop.
`tests/feedload.py` serves very many feeds, as a process of its own.
"""

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from typing import Any, Self

from aiohttp import web
from multidict import CIMultiDict

from tests.feedtext import CONTENT_TYPES, Channel, Entry, Format, render
from tests.serving import close

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    status: int


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Fault:
    """What a feed does instead of answering well; `times` counts down, None lasts until `behave()`."""

    status: int | None = None
    body: bytes | None = None
    content_type: str | None = None
    delay: float = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = None
    until: asyncio.Event | None = None

    @property
    def answers_well(self) -> bool:
        return self.status is None and self.body is None

    def applies(self) -> bool:
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


@dataclass(slots=True)
class Feed:
    name: str
    title: str
    form: Format = "rss"
    entries: dict[str, Entry] = field(default_factory=dict)
    validators: bool = True
    login: str | None = None
    trouble: Fault | None = None
    modified: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))


class FeedSite:
    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[RecordedRequest] = []
        self.arrived: list[str] = []  # paths, as they come; `requests` are those answered
        self._host, self._port = host, port
        self._feeds: dict[str, Feed] = {}
        self._pages: dict[str, Page] = {}
        self._clock = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        # A request that sleeps in a delay is cut off when the site closes, not waited for.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        listener = web.TCPSite(self._runner, self._host, self._port)
        await listener.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await close(self._runner)

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    def feed_url(self, feed: str = "main") -> str:
        return f"{self.url}/{feed}.feed"

    def feed(
        self,
        name: str = "main",
        *,
        form: Format | None = None,
        title: str | None = None,
        validators: bool | None = None,
    ) -> str:
        """Create a feed or change how it is written; its address."""
        feed = self._feed(name)
        feed.form = form or feed.form
        feed.title = title or feed.title
        feed.validators = feed.validators if validators is None else validators
        self._touch(feed)
        return self.feed_url(name)

    def publish(
        self,
        title: str,
        *,
        key: str | None = None,
        feed: str = "main",
        content: str | None = None,
        published: datetime | None = None,
        url: str | None = None,
        author: str | None = None,
        tags: Sequence[str] = (),
        more: str = "",
    ) -> Entry:
        """Add an entry, or change the one with the same key. Each is a minute younger than the last."""
        target = self._feed(feed)
        key = key or f"{feed}-{len(target.entries) + 1}"
        text = f"<p>{title}</p>" if content is None else content
        link = url or f"{self.url}/{feed}/{key}"
        entry = Entry(key, title, link, text, published or self._next_minute(), author, tuple(tags), more)
        target.entries[key] = entry
        self._touch(target)
        return entry

    def publish_episode(
        self, title: str, *, url: str = "", minutes: int = 30, kind: str = "audio/mpeg", more: str = "", **entry: Any
    ) -> Entry:
        """An entry with an audio or video file; unless its address is given, one that this site serves."""
        address = url or f"{self.url}/files/{title.replace(' ', '-')}.mp3"
        enclosure = f'<enclosure url="{escape(address)}" type="{kind}" length="1000"/>'
        length = f"<itunes:duration>{minutes * 60}</itunes:duration>"
        return self.publish(title, more=enclosure + length + more, **entry)

    def withdraw(self, key: str, *, feed: str = "main") -> None:
        del self._feed(feed).entries[key]
        self._touch(self._feed(feed))

    def misbehave(
        self,
        *,
        feed: str = "main",
        status: int | None = None,
        body: bytes | str | None = None,
        content_type: str | None = None,
        delay: float = 0,
        retry_after: int | str | None = None,
        headers: Mapping[str, str] | None = None,
        times: int | None = None,
        until: asyncio.Event | None = None,
    ) -> None:
        """Override the answer, until `behave()` or for the next `times` requests, in what is named here.

        `until` holds it back, for a site in the loop of the test.
        """
        extra = dict(headers or {}) | ({"Retry-After": str(retry_after)} if retry_after is not None else {})
        raw = body.encode() if isinstance(body, str) else body
        self._feed(feed).trouble = Fault(status, raw, content_type, delay, extra, times, until)

    def redirect(self, to: str, *, feed: str = "main", status: int = 301, times: int | None = None) -> None:
        self.misbehave(feed=feed, status=status, body=b"", headers={"Location": to}, times=times)

    def behave(self, *, feed: str = "main") -> None:
        self._feed(feed).trouble = None

    def protect(self, user: str, password: str, *, feed: str = "main") -> None:
        """Ask for basic authentication."""
        self._feed(feed).login = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def page(self, path: str, *, feeds: Sequence[str] = ("main",), body: str = "<h1>A site</h1>") -> str:
        """An HTML page that names feeds in its head; its address."""
        links = "".join(map(self._alternate, feeds))
        return self.put(path, f"<!doctype html><title>A site</title>{links}<body>{body}</body>")

    def put(
        self,
        path: str,
        body: bytes | str,
        *,
        content_type: str = HTML,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Any file at any path; its address."""
        raw = body.encode() if isinstance(body, str) else body
        self._pages["/" + path.lstrip("/")] = Page(raw, content_type, status, headers or {})
        return f"{self.url}/{path.lstrip('/')}"

    def seen(self, feed: str = "main") -> list[RecordedRequest]:
        return self.seen_at(f"/{feed}.feed")

    def seen_at(self, path: str) -> list[RecordedRequest]:
        return [request for request in self.requests if request.path == path]

    def count(self, feed: str = "main", *, status: int | None = None) -> int:
        return sum(status is None or request.status == status for request in self.seen(feed))

    def _feed(self, name: str) -> Feed:
        return self._feeds.setdefault(name, Feed(name, f"Feed {name}"))

    def _next_minute(self) -> datetime:
        self._clock += timedelta(minutes=1)
        return self._clock

    def _touch(self, feed: Feed) -> None:
        # HTTP dates have whole seconds: two changes within one must still differ.
        feed.modified = max(datetime.now(UTC).replace(microsecond=0), feed.modified + timedelta(seconds=1))

    def _alternate(self, name: str) -> str:
        feed = self._feed(name)
        kind = CONTENT_TYPES[feed.form].partition(";")[0]
        return f'<link rel="alternate" type="{kind}" title="{feed.title}" href="/{name}.feed">'

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.arrived.append(request.path)
        response = await self._respond(request)
        self.requests.append(
            RecordedRequest(
                request.method, request.path, request.query_string, CIMultiDict(request.headers), body, response.status
            )
        )
        return response

    async def _respond(self, request: web.Request) -> web.Response:
        if page := self._pages.get(request.path):
            if page.content_type.startswith("audio/") and "Range" in request.headers:
                return _part(page, request.http_range)
            return _response(page.status, page.body, page.content_type, page.headers)
        if feed := self._feeds.get(request.path.removeprefix("/").removesuffix(".feed")):
            return await self._respond_feed(request, feed)
        if entry := self._entry_at(request.path):
            return _response(200, _article(entry), HTML)
        return _response(404, b"not found", "text/plain")

    async def _respond_feed(self, request: web.Request, feed: Feed) -> web.Response:
        trouble = feed.trouble if feed.trouble and feed.trouble.applies() else Fault()
        if trouble.delay:
            await asyncio.sleep(trouble.delay)
        if trouble.until:
            await trouble.until.wait()
        if feed.login and request.headers.get("Authorization") != feed.login:
            return _response(401, b"who are you?", "text/plain", {"WWW-Authenticate": 'Basic realm="feed"'})
        document = self._document(feed)
        validators = _validators(document, feed) if feed.validators else {}
        if trouble.answers_well and validators and _is_fresh(request, validators):
            return web.Response(status=304, headers=validators)
        return _response(
            trouble.status or 200,
            document if trouble.body is None else trouble.body,
            trouble.content_type or CONTENT_TYPES[feed.form],
            {**(validators if trouble.answers_well else {}), **trouble.headers},
        )

    def _document(self, feed: Feed) -> bytes:
        newest_first = sorted(feed.entries.values(), key=lambda entry: entry.published, reverse=True)
        channel = Channel(feed.title, f"{self.url}/", self.feed_url(feed.name))
        return render(feed.form, channel, newest_first)

    def _entry_at(self, path: str) -> Entry | None:
        name, _, key = path.removeprefix("/").partition("/")
        feed = self._feeds.get(name)
        return feed.entries.get(key) if feed else None


def _validators(document: bytes, feed: Feed) -> dict[str, str]:
    tag = hashlib.sha256(document).hexdigest()[:16]
    return {"ETag": f'"{tag}"', "Last-Modified": format_datetime(feed.modified, usegmt=True)}


def _is_fresh(request: web.Request, validators: Mapping[str, str]) -> bool:
    """If-None-Match has the last word where it is sent (RFC 9110, 13.2.2)."""
    if wanted := request.headers.get("If-None-Match"):
        return validators["ETag"] in wanted
    return request.headers.get("If-Modified-Since") == validators["Last-Modified"]


def _article(entry: Entry) -> bytes:
    text = f"<!doctype html><title>{entry.title}</title><article><h1>{entry.title}</h1>{entry.content}</article>"
    return text.encode()


def _part(page: Page, wanted: slice) -> web.Response:
    start, stop, _ = wanted.indices(len(page.body))
    headers = {"Content-Range": f"bytes {start}-{stop - 1}/{len(page.body)}", "Accept-Ranges": "bytes"}
    return _response(206, page.body[start:stop], page.content_type, headers)


def _response(status: int, body: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": content_type, **(headers or {})})
