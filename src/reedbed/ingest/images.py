"""Feed icons, small versions of proxied images, and a file cache for them."""

import asyncio
import io
import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched
from reedbed.ingest.discovery import decode_page, read_links
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.headers import RequestTarget, parse_target

if TYPE_CHECKING:
    from PIL import Image

log = structlog.get_logger()

# --- Icons

_SIDE = 64
_MAX_BYTES = 512 * 1024
_MAX_PAGE = 1024 * 1024
_MAX_PIXELS = 2048 * 2048
_MAX_TRIES = 4
_TOTAL_SECONDS = 45.0
_ACCEPT = "image/png, image/webp, image/x-icon, image/jpeg, image/gif;q=0.8, */*;q=0.1"
_ICO_MAGIC = b"\0\0\1\0"
_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
# Detected by content, never by file name; no other Pillow decoder is used.
_FORMATS = ("PNG", "ICO", "JPEG", "GIF", "WEBP", "BMP")


@record
class Icon:
    png: bytes


async def find_icon(fetcher: Fetcher, site_url: str | None, feed_icon: str | None) -> Icon | None:
    """The feed's own icon if it has a readable one, otherwise the site's."""
    try:
        async with asyncio.timeout(_TOTAL_SECONDS):
            return await _find(fetcher, site_url, feed_icon)
    except TimeoutError:
        return None


def make_icon(data: bytes) -> Icon | None:
    """None if it is not an image, too large, or a single pixel."""
    from PIL import Image

    if data.startswith(_ICO_MAGIC) and not _frames_fit(data):
        return None
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            image.draft("RGB", (2 * _SIDE, 2 * _SIDE))
            if image.width * image.height > _MAX_PIXELS or min(image.size) < 2:
                return None
            return Icon(_small_square(image))
    # Pillow's decoders raise nearly anything on damaged bytes.
    except Exception:
        return None


async def _find(fetcher: Fetcher, site_url: str | None, feed_icon: str | None) -> Icon | None:
    if feed_icon and (icon := await _fetch_icon(fetcher, feed_icon)) is not None:
        return icon
    if not site_url:
        return None
    for url in (await _site_icons(fetcher, site_url))[:_MAX_TRIES]:
        if (icon := await _fetch_icon(fetcher, url)) is not None:
            return icon
    return None


async def _site_icons(fetcher: Fetcher, site_url: str) -> list[str]:
    page = await fetcher.fetch_page(site_url, max_bytes=_MAX_PAGE)
    base, linked = site_url, ()
    if isinstance(page, Fetched):
        html = decode_page(page.body, page.content_type)
        links = await asyncio.to_thread(read_links, html, page.url)
        base, linked = page.url, links.icons
    default = parse_target("/favicon.ico", base)
    return [*linked, *([default.href] if isinstance(default, RequestTarget) else [])]


async def _fetch_icon(fetcher: Fetcher, url: str) -> Icon | None:
    outcome = await fetcher.fetch_page(url, max_bytes=_MAX_BYTES, accept=_ACCEPT)
    if not isinstance(outcome, Fetched):
        return None
    return await asyncio.to_thread(make_icon, outcome.body)


def _frames_fit(ico: bytes) -> bool:
    """The directory of an ICO file may declare 16 by 16 while the image inside has any size."""
    try:
        (count,) = struct.unpack_from("<H", ico, 4)
        offsets = [struct.unpack_from("<I", ico, 6 + 16 * entry + 12)[0] for entry in range(min(count, 256))]
        return all(_pixels(ico, offset) <= _MAX_PIXELS for offset in offsets)
    except struct.error:
        return False


def _pixels(ico: bytes, offset: int) -> int:
    if ico.startswith(_PNG_MAGIC, offset):
        width, height = struct.unpack_from(">II", ico, offset + 16)
    else:
        width, height = struct.unpack_from("<ii", ico, offset + 4)
    return abs(width) * abs(height)


def _small_square(image: "Image.Image") -> bytes:
    from PIL import Image

    small = image.convert("RGBA")
    small.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    square = Image.new("RGBA", (_SIDE, _SIDE), (0, 0, 0, 0))
    square.paste(small, ((_SIDE - small.width) // 2, (_SIDE - small.height) // 2))
    output = io.BytesIO()
    square.save(output, "PNG", optimize=True)
    return output.getvalue()


# --- Small versions

_MAX_DECODED = 12_000_000
"""Pixels in memory. A JPEG is reduced while it is decoded, so a larger one fits."""
_SMALL_ENOUGH = 6_000
"""Bytes that are not worth the work."""


def scale_down(data: bytes, width: int) -> bytes:
    """The picture in this width as WebP; unchanged if it is small already, too large to decode, or damaged."""
    from PIL import Image, ImageOps

    if len(data) <= _SMALL_ENOUGH:
        return data
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            image.draft("RGB", (width, width))
            if image.width * image.height > _MAX_DECODED or min(image.size) < 1:
                return data
            upright = ImageOps.exif_transpose(image)
            mode = "RGBA" if upright.has_transparency_data else "RGB"
            height = max(1, round(upright.height * width / upright.width))
            small = upright.convert(mode)
            if upright.width > width:
                small = small.resize((width, height))  # pyright: ignore[reportUnknownMemberType]
        output = io.BytesIO()
        small.save(output, "WEBP", quality=75)
    # Pillow's decoders raise nearly anything on damaged bytes.
    except Exception:
        return data
    return min(data, output.getvalue(), key=len)


# --- All icons in one picture

SHOWN_SIDE = 30
"""Pixels of an icon in the sheet, for 18 of a page, where screens have up to two for each."""
_CELL = SHOWN_SIDE + 2
"""With a border that repeats the outermost pixels, or scaling would mix in those of the neighbour."""
_COLUMNS = 20


@record
class IconSheet:
    """Where an icon stands is its column and row. A damaged icon has no place."""

    webp: bytes
    columns: int
    rows: int
    places: tuple[tuple[int, int] | None, ...]

    @property
    def scale(self) -> tuple[float, float]:
        """How many times the sheet is as wide and as high as an icon."""
        return self.columns * _CELL / SHOWN_SIDE, self.rows * _CELL / SHOWN_SIDE

    @staticmethod
    def offset(cell: int, cells: int) -> float:
        """`background-position` of a cell, as a part of what the sheet is wider than an icon."""
        return (cell * _CELL + 1) / (cells * _CELL - SHOWN_SIDE)


def draw_icon_sheet(pngs: Sequence[bytes]) -> IconSheet:
    """One picture is much smaller than one for each icon."""
    from PIL import Image

    small = [_cell(png) for png in pngs]
    cells = [cell for cell in small if cell is not None]
    columns = min(_COLUMNS, max(1, len(cells)))
    rows = max(1, -(-len(cells) // columns))
    sheet = Image.new("RGBA", (columns * _CELL, rows * _CELL))
    free = ((place % columns, place // columns) for place in range(len(cells)))
    places = tuple(None if cell is None else next(free) for cell in small)
    for cell, place in zip(small, places, strict=True):
        if cell is not None and place is not None:
            sheet.paste(cell, (place[0] * _CELL, place[1] * _CELL))
    output = io.BytesIO()
    sheet.save(output, "WEBP", quality=50, method=4)
    return IconSheet(output.getvalue(), columns, rows, places)


def _cell(png: bytes) -> "Image.Image | None":
    from PIL import Image

    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            icon = _scaled(_without_margin(image.convert("RGBA")), SHOWN_SIDE, SHOWN_SIDE)
    except OSError:
        return None
    cell = _scaled(icon, _CELL, _CELL)
    cell.paste(_scaled(icon, _CELL, SHOWN_SIDE), (0, 1))
    cell.paste(_scaled(icon, SHOWN_SIDE, _CELL), (1, 0))
    cell.paste(icon, (1, 1))
    return cell


def _scaled(icon: "Image.Image", width: int, height: int) -> "Image.Image":
    return icon.resize((width, height))  # pyright: ignore[reportUnknownMemberType]


def _without_margin(icon: "Image.Image") -> "Image.Image":
    """An icon smaller than the stored square stands in the middle of it; it is shown as large as the others."""
    from PIL import Image

    box = icon.getbbox()
    if box is None:
        return icon
    side = max(box[2] - box[0], box[3] - box[1])
    square = Image.new("RGBA", (side, side))
    square.paste(icon.crop(box), ((side - box[2] + box[0]) // 2, (side - box[3] + box[1]) // 2))
    return square


# --- Image cache

_FILL_AFTER_TRIMMING = 0.8


class ImageCache:
    """Caches images as files; if that fails, requests are only slower.

    Blocking: call it in a thread. Several processes may share a folder.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._total_bytes: int | None = None

    def get(self, url: str) -> bytes | None:
        path = self._path(url)
        try:
            data = path.read_bytes()
            os.utime(path)  # least recently used files are deleted first
        except OSError:
            return None
        return data

    def put(self, url: str, data: bytes) -> None:
        path = self._path(url)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.part")
            draft.write_bytes(data)
            draft.replace(path)
        except OSError as error:
            log.warning("a picture could not be kept", folder=str(self._folder), error=error.strerror)
            return
        self._total_bytes = (self._count_bytes() if self._total_bytes is None else self._total_bytes) + len(data)
        if self._total_bytes > self._max_bytes:
            self._total_bytes = self._trim()

    def _trim(self) -> int:
        total = self._count_bytes()
        for path, size in sorted(self._files(), key=lambda file: _last_used(file[0])):
            if total <= self._max_bytes * _FILL_AFTER_TRIMMING:
                break
            with suppress(OSError):
                path.unlink()
                total -= size
        return total

    def _count_bytes(self) -> int:
        return sum(size for _, size in self._files())

    def _files(self) -> list[tuple[Path, int]]:
        files: list[tuple[Path, int]] = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                files.append((path, path.stat().st_size))
        return files

    def _path(self, url: str) -> Path:
        name = sha256(url.encode("utf-8", "replace")).hexdigest()
        return self._folder / name[:2] / name


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
