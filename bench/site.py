"""A synthetic site for the crawl benchmarks: many feeds of 20 to 40 entries with markup as messy as the web's.

    python -m bench.site --feeds 1000

prints its address and serves `/f/<n>` (two RSS feeds for each Atom feed), `/list` (all addresses, one a line)
and `/advance?share=0.1`, which gives that share of the feeds one new entry each. All bodies are rendered
before the address is printed; the same numbers give the same bytes.
"""

import argparse
import asyncio
import hashlib
import io
import random
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from aiohttp import web
from PIL import Image

from tests.feedtext import CONTENT_TYPES, Channel, Entry, Format, render

FORMS: tuple[Format, ...] = ("rss", "rss", "atom")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = tuple(
    word
    for line in (
        "river bank water reed bird morning light wind people year city council report company market price",
        "night school music film team game season player health science study found early project open",
        "release version server page reader letter editor story paper photo summer winter road bridge train",
    )
    for word in line.split()
)
_SYLLABLES = tuple(first + second for first in "bcdfglmnprstv" for second in "aeiou")


def _vocabulary(size: int) -> tuple[str, ...]:
    """Common words and thousands of rarer ones, as texts have."""
    chance = random.Random(3)
    rare = ("".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(size))
    return (*WORDS, *dict.fromkeys(rare))


VOCABULARY = _vocabulary(5_000)
_WEIGHTS = tuple(accumulate(1 / (place + 10) for place in range(len(VOCABULARY))))


class Site:
    def __init__(self, feeds: int, seed: int) -> None:
        self._seed = seed
        self._round = 0
        self._base = ""
        self._counts = [random.Random(f"{seed}/{number}").randint(20, 40) for number in range(feeds)]
        self._newest = list(self._counts)
        self._answers: list[tuple[bytes, dict[str, str]]] = []

    def render_all(self, base: str) -> None:
        self._base = base
        self._answers = [self._render(number) for number in range(len(self._counts))]

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/f/{number}", self._feed),
            web.get("/s/{number}", self._page),
            web.get("/", self._page),
            web.get("/icon.png", self._icon),
            web.get("/list", self._list),
            web.get("/advance", self._advance),
        ]

    async def _feed(self, request: web.Request) -> web.Response:
        body, headers = self._answers[int(request.match_info["number"])]
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers)

    async def _page(self, request: web.Request) -> web.Response:
        html = '<!doctype html><title>A site</title><link rel="icon" href="/icon.png"><h1>A site</h1>'
        return web.Response(text=html, content_type="text/html")

    async def _icon(self, request: web.Request) -> web.Response:
        drawn = io.BytesIO()
        Image.new("RGB", (32, 32), "#335577").save(drawn, "PNG")
        return web.Response(body=drawn.getvalue(), content_type="image/png")

    async def _list(self, request: web.Request) -> web.Response:
        return web.Response(text="\n".join(f"{self._base}/f/{number}" for number in range(len(self._counts))))

    async def _advance(self, request: web.Request) -> web.Response:
        self._round += 1
        chance = random.Random(f"{self._seed}/round {self._round}")
        share = float(request.query["share"])
        changed = [number for number in range(len(self._counts)) if chance.random() < share]
        for number in changed:
            self._newest[number] += 1
            self._answers[number] = self._render(number)
        return web.Response(text=str(len(changed)))

    def _render(self, number: int) -> tuple[bytes, dict[str, str]]:
        newest, form = self._newest[number], FORMS[number % len(FORMS)]
        entries = [self._entry(number, place) for place in range(newest, newest - self._counts[number], -1)]
        channel = Channel(f"Feed {number}", f"{self._base}/s/{number}", f"{self._base}/f/{number}")
        body = render(form, channel, entries)
        tag = hashlib.sha256(body).hexdigest()[:16]
        return body, {"ETag": f'"{tag}"', "Content-Type": CONTENT_TYPES[form]}

    def _entry(self, number: int, place: int) -> Entry:
        chance = random.Random(f"{self._seed}/{number}/{place}")
        return Entry(
            key=f"{number}:{place}",
            title=_words(chance, 7).capitalize(),
            url=f"{self._base}/a/{number}/{place}",
            content="".join(_article(chance, number % 4)),
            published=EPOCH - timedelta(hours=self._counts[number] - place, seconds=number % 3600),
            author=_words(chance, 2).title(),
            tags=(chance.choice(WORDS), chance.choice(WORDS)),
        )


def _article(chance: random.Random, style: int) -> Iterator[str]:
    """About 2.5 KB: a picture, paragraphs with links and emphasis, a list, a quotation; written as people do.

    Of four feeds one is well-formed, one comes from an editor full of styles, one leaves end tags out, and one mixes
    scripts, share boxes, counting pixels and other alphabets into its text.
    """
    image = f"https://images.example.org/{chance.randrange(10**6)}.jpg"
    yield f'<figure><img src="{image}" alt="{_words(chance, 4)}" width="800" height="450"></figure>\n'
    open_tag, close_tag = _PARAGRAPHS[style]
    for number in range(6):
        yield (
            f"{open_tag}{_words(chance, 20)} <strong>{_words(chance, 3)}</strong> {_words(chance, 14)}, "
            f'<a href="https://example.org/{chance.randrange(10**6)}?utm_source=feed&amp;n={number}">'
            f"{_words(chance, 3)}</a> {_words(chance, 12)} &amp; <em>{_words(chance, 2)}</em>.{close_tag}\n"
        )
        if style == 3:
            yield _CLUTTER[number]
    yield f"<ul><li>{_words(chance, 8)}</li><li>{_words(chance, 8)}</li><li>{_words(chance, 6)}</li></ul>\n"
    yield f"<blockquote>{open_tag}{_words(chance, 18)}.{close_tag}</blockquote>\n"


_PARAGRAPHS = (
    ("<p>", "</p>"),
    ('<p style="margin:0;color:#333" class="wp-block-paragraph"><span data-token="x">', "</span></p>"),
    ("<p>", ""),
    ("<p>", "</p>"),
)
_CLUTTER = (
    '<script type="text/javascript">var shown = 1 < 2 && "yes";</script>\n',
    '<div class="share-buttons" onclick="track()"><a href="https://social.example/share?u=x">Share</a></div>\n',
    '<img src="https://count.example/pixel.gif?i=1" width="1" height="1" border="0">\n',
    "<p>Zürich, façade, “naïve” – Привет, 日本語のテキスト, emoji 🚀&nbsp;and more.</p>\n",
    "<style>.ad { display: none }</style><p>&nbsp;</p>\n",
    '<p><iframe src="https://player.example/embed/1" width="560" height="315"></iframe></p>\n',
)


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(VOCABULARY, cum_weights=_WEIGHTS, k=count))


async def serve(site: Site) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    app = web.Application()
    app.add_routes(site.routes())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    site.render_all(base)
    print(base, flush=True)
    await stop.wait()
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description="A synthetic site for the crawl benchmark.")
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    asyncio.run(serve(Site(options.feeds, options.seed)))


if __name__ == "__main__":
    main()
