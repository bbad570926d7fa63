"""A library as varied as the web: forty feeds on forty hosts, with icons of their own, in several languages.

The texts are sentences of the documentation and of the translations: they compress no better than real ones do.
"""

import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import cycle
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

from tests.feedsite import FeedSite

ROOT = Path(__file__).parents[2]
LOCALES = ROOT / "src/reedbed/web/locale"
FEEDS = 40
ENTRIES = 6
"""Of each feed."""
LANGUAGES = ("de", "fr", "ru", "ja", "zh_Hans")
NAMES = ("Chronicle", "Journal", "Notes", "Weekly", "Review", "Blog", "Dispatch", "Letters", "Almanac", "Workshop")
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*_#|]")
_TRANSLATION = re.compile(r'^msgstr "([^"%<]{40,})"$', re.MULTILINE)


@asynccontextmanager
async def varied_sites() -> AsyncIterator[list[FeedSite]]:
    async with AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(FeedSite(host=f"127.0.1.{number + 1}")) for number in range(FEEDS)]
        chance = random.Random(7)
        texts = [_english(), *map(_translated, LANGUAGES)]
        for text in texts:
            chance.shuffle(text)
        sources = [cycle(text) for text in texts]
        for number, site in enumerate(sites):
            _write(site, sources[number // 5 % len(LANGUAGES) + 1 if number % 5 == 4 else 0], number, chance)
        sites[0].publish_episode("An hour by the water, as a recording", feed="index")
        yield sites


def feed_of(site: FeedSite) -> str:
    return site.feed_url("index")


def _write(site: FeedSite, sentences: Iterator[str], number: int, chance: random.Random) -> None:
    words = [word.strip(".,:;()") for word in next(sentences).split() if len(word) > 4]
    site.feed("index", title=f"{' '.join(words[:2])[:24].title()} {chance.choice(NAMES)}")
    data, kind = _icon(number, chance)
    site.put("/favicon.ico", data, content_type=kind)
    for _ in range(ENTRIES):
        title = next(sentences)[: chance.randrange(35, 110)].rpartition(" ")[0] or next(sentences)[:20]
        paragraphs = "".join(f"<p>{next(sentences)}</p>" for _ in range(chance.randrange(3)))
        picture = f"<img src='{site.url}/{chance.getrandbits(64):x}.jpg' alt=''>" if chance.random() < 0.3 else ""
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or str(chance.getrandbits(24))
        published = datetime.now(UTC) - timedelta(minutes=chance.randrange(2, 3000))
        site.publish(title, feed="index", content=picture + paragraphs, url=f"{site.url}/{slug}", published=published)


def _english() -> list[str]:
    files = [ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = " ".join(_MARKUP.sub(r"\1", file.read_text()) for file in files)
    return [" ".join(one.split()) for one in re.split(r"(?<=[.:])\s+", text) if 50 < len(one) < 400 and "  " not in one]


def _translated(language: str) -> list[str]:
    return _TRANSLATION.findall((LOCALES / language / "LC_MESSAGES/reedbed.po").read_text())


# --- Icons: photographs, drawings with soft colours, and flat signs with a transparent ground, as PNG and ICO


def _icon(number: int, chance: random.Random) -> tuple[bytes, str]:
    picture = (_photograph, _sign, _drawing, _sign, _drawing)[number % 5](chance)
    data = BytesIO()
    if number % 4 == 3:
        picture.save(data, "ICO", sizes=[(16, 16), (32, 32)])
        return data.getvalue(), "image/x-icon"
    picture.save(data, "PNG")
    return data.getvalue(), "image/png"


def _photograph(chance: random.Random) -> Image.Image:
    large = Image.new("RGB", (128, 128), _colour(chance))
    draw = ImageDraw.Draw(large)
    for size in (90, 60, 40, 24, 12, 8, 5, 3):
        for _ in range(900 // size):
            x, y = chance.randrange(-size, 128), chance.randrange(-size, 128)
            draw.ellipse((x, y, x + size, y + chance.randrange(2, size + 2)), _colour(chance))
    return large.filter(ImageFilter.GaussianBlur(1.5)).resize((32, 32))


def _sign(chance: random.Random) -> Image.Image:
    sign = Image.new("RGBA", (128, 128), (0, 0, 0, 0))
    draw = ImageDraw.Draw(sign)
    draw.rounded_rectangle((2, 2, 126, 126), chance.choice((0, 20, 64)), _colour(chance))
    for _ in range(chance.randrange(2, 5)):
        draw.polygon([(chance.randrange(16, 112), chance.randrange(16, 112)) for _ in range(4)], _colour(chance))
    return sign.resize((32, 32))


def _drawing(chance: random.Random) -> Image.Image:
    start, end = _colour(chance), _colour(chance)
    drawing = Image.linear_gradient("L").resize((128, 128)).rotate(chance.randrange(360), fillcolor=128)
    coloured = Image.composite(Image.new("RGB", (128, 128), start), Image.new("RGB", (128, 128), end), drawing)
    draw = ImageDraw.Draw(coloured)
    for _ in range(4):
        ends: Sequence[int] = [chance.randrange(10, 118) for _ in range(4)]
        draw.line(ends, _colour(chance), width=chance.randrange(6, 22))
    draw.ellipse((30, 30, chance.randrange(60, 110), chance.randrange(60, 110)), _colour(chance))
    return coloured.resize((32, 32))


def _colour(chance: random.Random) -> tuple[int, int, int]:
    return chance.randrange(256), chance.randrange(256), chance.randrange(256)
