"""Starred entries as JSON, in the form that Google Reader gave it and others kept.

Google Takeout, FreshRSS and Inoreader write `{"items": […]}`; Feedly writes the same items, sometimes as a
bare list, with moments in milliseconds.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from reedbed.domain.errors import Invalid
from reedbed.domain.libraries import (
    MOST_FEEDS,
    MOST_KEPT,
    MOST_TEXT,
    STARRED_JSON,
    ForeignEntry,
    ForeignFeed,
    Library,
)
from reedbed.domain.times import LATEST, SECOND, Instant
from reedbed.ingest.libraries.values import listed, mapping, text

_NOT_STARRED = "This JSON file holds no list of starred entries."
_IN_SECONDS = 100_000_000_000
"""A larger number counts milliseconds: this many seconds is the year 5138."""
_LABEL = "/label/"
_MOST_LABELS = 20


def read_starred(body: bytes) -> Library:
    try:
        document: Any = orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise Invalid("This file is no whole JSON document.", field="file") from error
    items = listed(mapping(document).get("items", document))
    kept = tuple(_entries(items))
    if not kept:
        raise Invalid(_NOT_STARRED, field="file")
    return Library(STARRED_JSON, _feeds(kept), kept)


def _entries(items: Iterable[Any]) -> Iterator[ForeignEntry]:
    count, size = 0, 0
    for item in items:
        entry = _entry(mapping(item))
        if entry is None:
            continue
        count, size = count + 1, size + len(entry.content)
        if count > MOST_KEPT or size > MOST_TEXT:
            raise Invalid(f"This file holds too much: at most {MOST_KEPT} entries are taken.", field="file")
        yield entry


def _entry(item: Mapping[str, Any]) -> ForeignEntry | None:
    url = _address(item)
    title = text(item.get("title"))
    if url is None and not title:
        return None
    origin = mapping(item.get("origin"))
    stream = text(origin.get("feedUrl")) or text(origin.get("streamId")).removeprefix("feed/")
    guid = text(item.get("guid")) or text(item.get("originId"))
    return ForeignEntry(
        feed_key=stream if stream.startswith(("http://", "https://")) else "",
        feed_title=text(origin.get("title")),
        guid=guid or None,
        url=url,
        title=title,
        content=_content(item),
        author=text(item.get("author")) or None,
        published=_moment(item.get("published")),
        tags=_labels(item),
    )


def _address(item: Mapping[str, Any]) -> str | None:
    for name in ("canonical", "alternate"):
        for link in listed(item.get(name)):
            if href := text(mapping(link).get("href")):
                return href
    return text(item.get("canonicalUrl")) or text(item.get("url")) or None


def _content(item: Mapping[str, Any]) -> str:
    for name in ("content", "summary"):
        part = item.get(name)
        if said := text(part) or text(mapping(part).get("content")):
            return said
    return ""


def _labels(item: Mapping[str, Any]) -> tuple[str, ...]:
    said = [
        one if isinstance(one, str) else text(mapping(one).get("label")) for one in listed(item.get("tags"))
    ]
    streams = [one for one in listed(item.get("categories")) if isinstance(one, str)]
    labels = [one.partition(_LABEL)[2] for one in streams if _LABEL in one]
    return tuple(dict.fromkeys(label for label in (*labels, *said) if label and "/" not in label))[
        :_MOST_LABELS
    ]


def _feeds(kept: Iterable[ForeignEntry]) -> tuple[ForeignFeed, ...]:
    """The feeds they come from. They are not followed for it: to star is not to follow."""
    named = {entry.feed_key: entry.feed_title for entry in kept if entry.feed_key}
    return tuple(ForeignFeed(key, key, title) for key, title in list(named.items())[:MOST_FEEDS])


def _moment(value: Any) -> Instant | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= LATEST:
        return None
    return value * SECOND if value < _IN_SECONDS else value
