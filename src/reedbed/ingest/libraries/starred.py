"""Starred entries as JSON, in the form that Google Reader gave it and others kept.

Google Takeout, FreshRSS and Inoreader write `{"items": […]}`; Feedly writes the same items, sometimes as a
bare list, with moments in milliseconds. FreshRSS writes lists of all entries of a feed in the same form.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from reedbed.domain.errors import Invalid
from reedbed.domain.libraries import (
    MOST_FEEDS,
    MOST_KEPT,
    MOST_READS,
    MOST_TEXT,
    STARRED_JSON,
    ForeignEntry,
    ForeignFeed,
    Library,
    ReadMark,
)
from reedbed.domain.times import LATEST, SECOND, Instant
from reedbed.ingest.libraries.values import listed, mapping, text

_NOT_STARRED = "This JSON file holds no list of starred entries."
_IN_SECONDS = 100_000_000_000
"""A larger number counts milliseconds: this many seconds is the year 5138."""
_LABEL = "/label/"
_MOST_LABELS = 20
_STATE = "/state/com.google/"
_STARRED = "starred"
_OTHER_LISTS = ("like", "broadcast", "created", "unread")
"""Marks in lists that are not of starred entries: liked, shared and written ones, and all of a feed."""
_FEED_LIST = "/state/org.freshrss/feed/"


class NothingStarred(Invalid):
    pass


def read_starred(body: bytes) -> Library:
    try:
        document: Any = orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise Invalid("This file is no whole JSON document.", field="file") from error
    items = [mapping(item) for item in listed(mapping(document).get("items", document))]
    only_marked = _FEED_LIST in text(mapping(document).get("id"))
    kept = tuple(_entries(items, only_marked=only_marked, some_marked=_is_marked(items)))
    reads = tuple(_reads(items))
    if not kept and not reads:
        raise NothingStarred(_NOT_STARRED, field="file")
    return Library(STARRED_JSON, _feeds(items, kept), kept, reads)


def _is_marked(items: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the list tells starred entries from others; one that does not holds starred ones only."""
    states = {state for item in items for state in _states(item)}
    return not states.isdisjoint((_STARRED, *_OTHER_LISTS))


def _states(item: Mapping[str, Any]) -> Iterator[str]:
    return (one.partition(_STATE)[2] for one in _streams(item) if _STATE in one)


def _streams(item: Mapping[str, Any]) -> list[str]:
    return [one for one in listed(item.get("categories")) if isinstance(one, str)]


def _entries(
    items: Iterable[Mapping[str, Any]], *, only_marked: bool, some_marked: bool
) -> Iterator[ForeignEntry]:
    count, size = 0, 0
    for item in items:
        states = set(_states(item))
        unmarked = not only_marked and not (some_marked and states)
        entry = _entry(item, starred=unmarked or _STARRED in states)
        if entry is None or not (entry.starred or entry.tags):
            continue
        count, size = count + 1, size + len(entry.content)
        if count > MOST_KEPT or size > MOST_TEXT:
            raise Invalid(f"This file holds too much: at most {MOST_KEPT} entries are taken.", field="file")
        yield entry


def _entry(item: Mapping[str, Any], *, starred: bool) -> ForeignEntry | None:
    url = _address(item)
    title = text(item.get("title"))
    if url is None and not title:
        return None
    return ForeignEntry(
        feed_key=_feed_key(item),
        feed_title=text(mapping(item.get("origin")).get("title")),
        guid=_guid(item),
        url=url,
        title=title,
        content=_content(item),
        author=text(item.get("author")) or None,
        published=_moment(item.get("published")),
        starred=starred,
        tags=_labels(item),
    )


def _feed_key(item: Mapping[str, Any]) -> str:
    origin = mapping(item.get("origin"))
    stream = text(origin.get("feedUrl")) or text(origin.get("streamId")).removeprefix("feed/")
    return stream if stream.startswith(("http://", "https://")) else ""


def _guid(item: Mapping[str, Any]) -> str | None:
    return text(item.get("guid")) or text(item.get("originId")) or None


def _reads(items: Iterable[Mapping[str, Any]]) -> Iterator[ReadMark]:
    count = 0
    for item in items:
        mark = ReadMark(_feed_key(item), _guid(item), _address(item))
        if "read" in _states(item) and mark.feed_key and (mark.guid or mark.url) and count < MOST_READS:
            count += 1
            yield mark


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
    folder = _folder(item)
    labels = [one.partition(_LABEL)[2] for one in _streams(item) if _LABEL in one and one != folder]
    return tuple(dict.fromkeys(label for label in (*labels, *said) if label and "/" not in label))[
        :_MOST_LABELS
    ]


def _folder(item: Mapping[str, Any]) -> str | None:
    """FreshRSS writes the category of the feed as the first label, right after the reading list."""
    streams = _streams(item)
    if len(streams) > 1 and streams[0] == "user/-/state/com.google/reading-list":
        return streams[1] if streams[1].startswith("user/-/label/") else None
    return None


def _feeds(items: Iterable[Mapping[str, Any]], kept: Iterable[ForeignEntry]) -> tuple[ForeignFeed, ...]:
    """The feeds they come from. They are not followed for it: to star is not to follow."""
    folders = {_feed_key(item): _folder(item) for item in items}
    titles = dict.fromkeys(key for key in folders if key) | {
        entry.feed_key: entry.feed_title for entry in kept if entry.feed_key
    }
    return tuple(
        ForeignFeed(key, key, title or "", _path(folders.get(key)), follow=False)
        for key, title in list(titles.items())[:MOST_FEEDS]
    )


def _path(folder: str | None) -> tuple[str, ...]:
    return (folder.partition(_LABEL)[2],) if folder else ()


def _moment(value: Any) -> Instant | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= LATEST:
        return None
    return value * SECOND if value < _IN_SECONDS else value
