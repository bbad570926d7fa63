"""Enclosures and pictures: RSS, Atom links, Media RSS and iTunes."""

from collections.abc import Iterator
from dataclasses import replace

from reedbed.domain.feeds import Enclosure
from reedbed.domain.records import record
from reedbed.ingest.parse.context import Context
from reedbed.ingest.parse.limits import MAX_LIST, MAX_NAME
from reedbed.ingest.parse.text import text_of
from reedbed.ingest.parse.tree import Element

_PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif")
_MAX_LENGTH = 1 << 53


@record
class Picture:
    url: str
    width: int = 0


def enclosure(element: Element, context: Context, attribute: str) -> Enclosure | None:
    url = context.address(element.get(attribute), element)
    if url is None:
        return None
    title = element.get("title")
    return Enclosure(
        url=url,
        type=element.get("type") or None,
        length=whole_number(element.get("length") or element.get("fileSize")),
        title=title[:MAX_NAME] if title else None,
        duration=seconds(element.get("duration")),
    )


def is_picture(element: Element, url: str) -> bool:
    medium, kind = element.get("medium"), element.get("type")
    if medium or kind:
        return medium == "image" or (kind or "").startswith("image/")
    return url.lower().partition("?")[0].endswith(_PICTURE_ENDINGS)


def picture(element: Element, context: Context) -> Picture | None:
    """A thumbnail or image element, its address in an attribute or as text."""
    url = context.address(element.get("url") or element.get("href") or text_of(element), element)
    return Picture(url, whole_number(element.get("width")) or 0) if url else None


def media_parts(element: Element, context: Context) -> Iterator[tuple[str, Element]]:
    """The elements within `media:group` and `media:content`, with their names, two levels down."""
    for part in element:
        name = context.names.of(part)
        yield name, part
        if name in ("media:content", "media:group"):
            for inner in part:
                yield context.names.of(inner), inner


def distinct(enclosures: tuple[Enclosure, ...], duration: int | None) -> tuple[Enclosure, ...]:
    """Each address once; the episode's duration belongs to the first thing that plays."""
    by_url: dict[str, Enclosure] = {}
    for one in enclosures:
        known = by_url.get(one.url)
        by_url[one.url] = _merged(known, one) if known else one
    result = list(by_url.values())[:MAX_LIST]
    for index, one in enumerate(result):
        if duration and one.duration is None and (one.type or "audio/").startswith(("audio/", "video/")):
            result[index] = replace(one, duration=duration)
            break
    return tuple(result)


def _merged(known: Enclosure, other: Enclosure) -> Enclosure:
    return replace(
        known,
        type=known.type or other.type,
        length=known.length or other.length,
        title=known.title or other.title,
        duration=known.duration or other.duration,
    )


def seconds(text: str | None) -> int | None:
    """`3723`, `62:03` or `1:02:03`."""
    if not text:
        return None
    total = 0
    for part in text.strip().split(":")[:3]:
        number = part.partition(".")[0].strip()
        if not number.isascii() or not number.isdigit() or len(number) > 7:
            return None
        total = total * 60 + int(number)
    return total or None


def whole_number(text: str | None) -> int | None:
    text = (text or "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 16:
        return None
    return min(int(text), _MAX_LENGTH)
