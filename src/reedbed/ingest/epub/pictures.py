"""Pictures for e-readers: JPEG and PNG of a screen's size, made of whatever a site sends; and plain covers.

`python -m reedbed.ingest.epub.pictures` is a process with limits, in which the decoders run. It reads pictures from
standard input, each after its length, and writes the new ones to standard output in the same way; nothing for one
that it cannot use.
"""

import io
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reedbed.domain.images import image_type
from reedbed.domain.records import record
from reedbed.ingest.sandbox import Sandbox, apply_limits

if TYPE_CHECKING:
    from PIL import Image

MAX_SIDE = 1_200
BATCH_SIZE, BATCH_BYTES = 16, 3_000_000
"""Pictures for one process."""
_MEMORY = 1 << 30
_MAX_PIXELS = 25_000_000
_MIN_SIDE = 3
_DRAWING_COLORS = 2_048
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP")
_NUMBER = struct.Struct(">I")

_sandbox = Sandbox("reedbed.ingest.epub.pictures", timeout=60)


@record
class BookPicture:
    data: bytes
    media_type: str


async def convert_safely(pictures: Sequence[bytes]) -> list[BookPicture | None]:
    """None for each that cannot be used. One that ends the process takes no other with it."""
    found = _split(await _sandbox.ask(*_framed(pictures)))
    if len(found) == len(pictures):
        return [_book_picture(data) for data in found]
    if len(pictures) == 1:
        return [None]
    half = len(pictures) // 2
    return [*await convert_safely(pictures[:half]), *await convert_safely(pictures[half:])]


def _book_picture(data: bytes) -> BookPicture | None:
    media_type = image_type(data)
    return BookPicture(data, media_type) if media_type in ("image/jpeg", "image/png") else None


def _framed(pictures: Sequence[bytes]) -> Iterator[bytes]:
    for data in pictures:
        yield _NUMBER.pack(len(data))
        yield data


def _split(frames: bytes) -> list[bytes]:
    found: list[bytes] = []
    place = 0
    while place + _NUMBER.size <= len(frames):
        (length,) = _NUMBER.unpack_from(frames, place)
        place += _NUMBER.size
        found.append(frames[place : place + length])
        place += length
    return found


def convert(data: bytes) -> bytes:
    """A JPEG or PNG; nothing if it is no picture, too large to decode, or a dot that counts readers."""
    from PIL import Image, ImageOps

    if image_type(data) is None:
        return b""
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if min(image.size) < _MIN_SIDE:
                return b""
            image.draft("RGB", (MAX_SIDE, MAX_SIDE))
            if image.width * image.height > _MAX_PIXELS:
                return b""
            keeps_lines = image.format in ("PNG", "GIF", "BMP")
            upright = ImageOps.exif_transpose(image)
            small = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
            small.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
            return _written(small, keeps_lines=keeps_lines)
    # Pillow's decoders raise nearly anything on damaged bytes.
    except Exception:
        return b""


def _written(image: "Image.Image", *, keeps_lines: bool) -> bytes:
    is_drawing = keeps_lines and image.getcolors(_DRAWING_COLORS) is not None
    if image.mode == "RGBA" or is_drawing:
        return _saved(image, "PNG")
    return _saved(image, "JPEG", quality=80, optimize=True)


def _saved(image: "Image.Image", kind: str, **options: object) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


# --- Covers

_COVER = (1_200, 1_800)
_PAPER, _INK, _GREEN = "#f4f3ea", "#262c26", "#2f6645"
_LINES = 6


def draw_cover(title: str, date: str) -> bytes:
    """A JPEG with reeds, the title and the date. A title in a script that the font lacks stands on the next page."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", _COVER, _PAPER)
    draw = ImageDraw.Draw(image)
    for number in range(17):
        x, height = 60 + number * 68, 330 + (number * 197) % 260
        draw.line((x, 1_800, x, 1_800 - height), fill=_GREEN, width=10)
        draw.ellipse((x - 15, 1_800 - height - 110, x + 15, 1_800 - height), fill=_GREEN)
    y = 260
    for line in _wrapped(title if _is_drawable(title) else "", 24)[:_LINES]:
        draw.text((100, y), line, font=ImageFont.load_default(92), fill=_INK)
        y += 112
    draw.text((104, y + 30), date if _is_drawable(date) else "", font=ImageFont.load_default(52), fill=_GREEN)
    draw.text((104, 130), "Reedbed", font=ImageFont.load_default(52), fill=_GREEN)
    return _saved(image, "JPEG", quality=85, optimize=True)


def _is_drawable(text: str) -> bool:
    return all(ord(char) < 0x180 or char in "–—‘’“”„…" for char in text)


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width)


def main() -> None:
    apply_limits(_MEMORY)
    for data in _split(sys.stdin.buffer.read()):
        made = convert(data)
        sys.stdout.buffer.write(_NUMBER.pack(len(made)) + made)


if __name__ == "__main__":
    main()
