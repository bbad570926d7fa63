import io
import resource
import struct
import zlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from PIL import Image

from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.ingest.images import Icon, find_icon, make_icon

from .conftest import LOOPBACK_ALLOWED
from .pages import Pages


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Pages]:
    async with Pages() as running:
        yield running


def _picture(kind: str = "PNG", size: tuple[int, int] = (32, 32), color: str = "green") -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, color).save(written, kind)
    return written.getvalue()


def _color(icon: Icon | None) -> object:
    assert icon is not None
    image = Image.open(io.BytesIO(icon.png))
    assert (image.format, image.size) == ("PNG", (64, 64))
    return image.convert("RGB").getpixel((32, 32))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "ICO", "BMP"])
@pytest.mark.parametrize("size", [(16, 16), (64, 64), (300, 100)])
def test_a_picture_of_any_usual_kind_becomes_a_small_png(kind: str, size: tuple[int, int]) -> None:
    red, green, blue = _color(make_icon(_picture(kind, size)))
    assert green > 100 > max(red, blue)


def test_a_large_photograph_is_drawn_without_reading_all_of_it() -> None:
    assert make_icon(_picture("JPEG", (5000, 5000))) is not None


def _png_that_claims(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(9999))) + chunk(b"IEND", b"")
    )


def _ico_around(inner: bytes) -> bytes:
    return struct.pack("<HHH", 0, 1, 1) + struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, len(inner), 22) + inner


@pytest.mark.parametrize(
    "picture",
    [
        b"",
        b"not a picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<?xml version='1.0'?><svg onload='alert(1)'/>",
        _picture(size=(1, 1)),
        _picture()[:60],
        _picture("JPEG")[:40],
        _png_that_claims(30000, 30000),
        _png_that_claims(2100, 2100),
        _ico_around(_png_that_claims(9000, 9000)),
        _ico_around(struct.pack("<IiiHHI", 40, 9000, 18000, 1, 32, 0) + bytes(100)),
        struct.pack("<HHH", 0, 1, 65535),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
        _picture("TIFF"),
    ],
)
def test_what_cannot_be_drawn_is_no_icon(picture: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert make_icon(picture) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024


async def test_the_feeds_own_picture_comes_first(site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {"/own.png": _picture(color="red"), "/favicon.ico": _picture("ICO", color="blue")}
    icon = await find_icon(fetcher, site.url(), site.url("/own.png"))
    assert _color(icon) == (255, 0, 0)
    assert site.asked == ["/own.png"]


async def test_the_page_names_its_picture(site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {
        "/": b'<link rel="icon" href="/x.png"><link rel="icon" type="image/svg+xml" href="/x.svg">',
        "/x.png": _picture(color="red"),
    }
    assert _color(await find_icon(fetcher, site.url(), site.url("/broken.png"))) == (255, 0, 0)


async def test_the_usual_place_is_the_last_resort(site: Pages, fetcher: Fetcher) -> None:
    site.pages |= {"/blog/x": b"<html>", "/favicon.ico": _picture("ICO", (32, 32), "blue")}
    assert _color(await find_icon(fetcher, site.url("/blog/x"), None)) == (0, 0, 255)


async def test_a_site_without_a_picture_has_no_icon(site: Pages, fetcher: Fetcher) -> None:
    assert await find_icon(fetcher, site.url(), None) is None
    assert await find_icon(fetcher, None, None) is None


async def test_a_picture_beyond_the_limit_is_not_fetched(site: Pages) -> None:
    site.pages["/big.png"] = _picture() + bytes(600 * 1024)
    fetcher = Fetcher(LOOPBACK_ALLOWED)
    assert await find_icon(fetcher, None, site.url("/big.png")) is None
    await fetcher.close()


async def test_a_private_picture_is_not_fetched(site: Pages) -> None:
    site.pages["/own.png"] = _picture()
    fetcher = Fetcher(Guard())
    assert await find_icon(fetcher, site.url(), site.url("/own.png")) is None
    await fetcher.close()
    assert site.asked == []
