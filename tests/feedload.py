"""A synthetic load: very many feeds on loopback, the same bytes for the same numbers.

    python -m tests.feedload --feeds 1000 --entries 20 --port 7070

serves `/f/<n>` (every third RSS, Atom, JSON Feed), `/opml` (all of them in folders) and `/stats`, and
`/advance?share=0.1` gives a tenth of the feeds one new entry each. Bodies are rendered before they are
asked for, so that the server takes little of the machine while a reader is measured. The address is printed
when it is ready.
"""

import argparse
import asyncio
import hashlib
import random
import signal
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Self

from aiohttp import web

from tests.feedtext import CONTENT_TYPES, Channel, Entry, Format, render
from tests.serving import close

FORMS: tuple[Format, ...] = ("rss", "atom", "json")
# The load's own time; entries lie before it, so that none is in the future.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
FEEDS_PER_FOLDER = 40
WORDS_PER_PARAGRAPH = 60
SYLLABLES = ["an", "be", "cor", "da", "el", "fi", "gro", "ha", "in", "ju", "ka", "lo", "mi", "no", "or", "pe"]


@dataclass(frozen=True, slots=True)
class Rendered:
    body: bytes
    etag: str
    content_type: str


class FeedLoad:
    def __init__(self, feeds: int, entries: int, *, paragraphs: int = 4, seed: int = 1, port: int = 0) -> None:
        self.stats: Counter[str] = Counter()
        self._entries, self._paragraphs, self._seed, self._port = entries, paragraphs, seed, port
        self._newest = [entries] * feeds
        self._rendered: list[Rendered] = []
        self._round = 0
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/f/{number}", self._feed)
        app.router.add_get("/opml", self._opml)
        app.router.add_get("/stats", self._stats)
        app.router.add_get("/advance", self._advance)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=1024).start()
        self._port = self._runner.addresses[0][1]
        self._rendered = [self._render(number) for number in range(len(self._newest))]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await close(self._runner)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def feed_urls(self) -> list[str]:
        return [f"{self.url}/f/{number}" for number in range(len(self._newest))]

    def advance(self, share: float) -> int:
        """Give this share of the feeds, another one each round, a new entry; how many got one."""
        self._round += 1
        chance = random.Random(f"{self._seed}/{self._round}")
        changed = [number for number in range(len(self._newest)) if chance.random() < share]
        for number in changed:
            self._newest[number] += 1
            self._rendered[number] = self._render(number)
        return len(changed)

    def _render(self, number: int) -> Rendered:
        form = FORMS[number % len(FORMS)]
        newest = self._newest[number]
        entries = [self._entry(number, place) for place in range(newest, newest - self._entries, -1)]
        channel = Channel(f"Feed {number}", f"{self.url}/s/{number}", f"{self.url}/f/{number}")
        body = render(form, channel, entries)
        return Rendered(body, f'"{hashlib.sha256(body).hexdigest()[:16]}"', CONTENT_TYPES[form])

    def _entry(self, number: int, place: int) -> Entry:
        chance = random.Random(f"{self._seed}/{number}/{place}")
        content = "".join(f"<p>{_words(chance, WORDS_PER_PARAGRAPH)}.</p>" for _ in range(self._paragraphs))
        published = EPOCH - timedelta(hours=self._entries - place, seconds=number % 3600)
        title = _words(chance, 6).capitalize()
        return Entry(f"{number}:{place}", title, f"{self.url}/a/{number}/{place}", content, published)

    async def _feed(self, request: web.Request) -> web.Response:
        number = request.match_info["number"]
        if not number.isdecimal() or int(number) >= len(self._rendered):
            raise web.HTTPNotFound
        feed = self._rendered[int(number)]
        headers = {"ETag": feed.etag, "Content-Type": feed.content_type}
        if request.headers.get("If-None-Match") == feed.etag:
            self.stats["304"] += 1
            return web.Response(status=304, headers=headers)
        self.stats["200"] += 1
        self.stats["bytes"] += len(feed.body)
        return web.Response(body=feed.body, headers=headers)

    async def _opml(self, request: web.Request) -> web.Response:
        urls = self.feed_urls()
        folders = "".join(
            f'<outline text="Folder {start // FEEDS_PER_FOLDER}">'
            f"{''.join(map(_outline, urls[start : start + FEEDS_PER_FOLDER]))}</outline>"
            for start in range(0, len(urls), FEEDS_PER_FOLDER)
        )
        text = f'<?xml version="1.0"?><opml version="2.0"><head/><body>{folders}</body></opml>'
        return web.Response(text=text, content_type="text/x-opml")

    async def _stats(self, request: web.Request) -> web.Response:
        return web.json_response({"feeds": len(self._newest), "round": self._round, **self.stats})

    async def _advance(self, request: web.Request) -> web.Response:
        return web.json_response({"changed": self.advance(float(request.query.get("share", "0.1")))})


def _words(chance: random.Random, count: int) -> str:
    return " ".join("".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(count))


def _outline(url: str) -> str:
    return f'<outline type="rss" text="{escape(url)}" xmlUrl="{escape(url)}"/>'


async def serve(load: FeedLoad) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with load:
        print(load.url, flush=True)
        await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A synthetic load of feeds on loopback.")
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=20)
    parser.add_argument("--paragraphs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    load = FeedLoad(options.feeds, options.entries, paragraphs=options.paragraphs, seed=options.seed, port=options.port)
    asyncio.run(serve(load))


if __name__ == "__main__":
    main()
