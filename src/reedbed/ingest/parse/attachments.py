"""Read the enclosures and images of an entry."""

from collections.abc import Iterator
from dataclasses import replace

from reedbed.domain.feeds import Enclosure
from reedbed.domain.records import record
from reedbed.ingest.parse.markup import Context, text_of
from reedbed.ingest.parse.xml import MAX_LIST, MAX_NAME, Element

_IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif")
_MAX_LENGTH = 1 << 53


@record
class EntryImage:
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
        length=parse_whole_number(element.get("length") or element.get("fileSize")),
        title=title[:MAX_NAME] if title else None,
        duration=seconds(element.get("duration")),
    )


def is_image_element(element: Element, url: str) -> bool:
    medium, kind = element.get("medium"), element.get("type")
    if medium or kind:
        return medium == "image" or (kind or "").startswith("image/")
    return url.lower().partition("?")[0].endswith(_IMAGE_SUFFIXES)


def picture(element: Element, context: Context) -> EntryImage | None:
    """Read a thumbnail or image element with its URL in an attribute or as text."""
    url = context.address(element.get("url") or element.get("href") or text_of(element), element)
    return EntryImage(url, parse_whole_number(element.get("width")) or 0) if url else None


def media_parts(element: Element, context: Context) -> Iterator[tuple[str, Element]]:
    """Yield the elements inside `media:group` and `media:content` with their names, two levels deep."""
    for part in element:
        name = context.names.of(part)
        yield name, part
        if name in ("media:content", "media:group"):
            for inner in part:
                yield context.names.of(inner), inner


def distinct_enclosures(enclosures: tuple[Enclosure, ...], duration: int | None) -> tuple[Enclosure, ...]:
    """Keep one enclosure per URL and set the entry's duration on the first playable one."""
    by_url: dict[str, Enclosure] = {}
    for item in enclosures:
        previous = by_url.get(item.url)
        by_url[item.url] = _merged(previous, item) if previous else item
    result = list(by_url.values())[:MAX_LIST]
    for index, item in enumerate(result):
        if duration and item.duration is None and (item.type or "audio/").startswith(("audio/", "video/")):
            result[index] = replace(item, duration=duration)
            break
    return tuple(result)


def _merged(first: Enclosure, second: Enclosure) -> Enclosure:
    return replace(
        first,
        type=first.type or second.type,
        length=first.length or second.length,
        title=first.title or second.title,
        duration=first.duration or second.duration,
    )


def seconds(text: str | None) -> int | None:
    """Parse `3723`, `62:03` or `1:02:03`."""
    if not text:
        return None
    total = 0
    for part in text.strip().split(":")[:3]:
        number = part.partition(".")[0].strip()
        if not number.isascii() or not number.isdigit() or len(number) > 7:
            return None
        total = total * 60 + int(number)
    return total or None


def parse_whole_number(text: str | None) -> int | None:
    text = (text or "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 16:
        return None
    return min(int(text), _MAX_LENGTH)
