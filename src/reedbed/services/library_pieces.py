"""A library in pieces small enough for one transaction each, and as bytes while they wait for their turn."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from reedbed.domain.libraries import ForeignEntry, ForeignFeed, Library, ReadMark
from reedbed.domain.records import record

T = TypeVar("T")

FEEDS_AT_ONCE = 100
READS_AT_ONCE = 500
KEPT_AT_ONCE = 50
MOST_TEXT = 1_000_000
"""Characters of kept entries in one piece, if there is more than one entry in it."""


@record
class Feeds:
    items: tuple[ForeignFeed, ...]


@record
class Reads:
    items: tuple[ReadMark, ...]


@record
class Kept:
    items: tuple[ForeignEntry, ...]


Piece = Feeds | Reads | Kept


def pieces_of(library: Library) -> Iterator[Piece]:
    """Feeds first: where entries belong is known when they are followed."""
    for feeds in _cut(library.feeds, FEEDS_AT_ONCE):
        yield Feeds(feeds)
    for reads in _cut(library.reads, READS_AT_ONCE):
        yield Reads(reads)
    for kept in _cut(library.kept, KEPT_AT_ONCE, lambda entry: len(entry.content)):
        yield Kept(kept)


def packed(piece: Piece) -> tuple[str, bytes]:
    return type(piece).__name__.lower(), zlib.compress(orjson.dumps(piece.items), level=1)


def unpacked(kind: str, data: bytes) -> Piece:
    rows: list[dict[str, Any]] = orjson.loads(zlib.decompress(data))
    match kind:
        case "feeds":
            return Feeds(tuple(map(_feed, rows)))
        case "reads":
            return Reads(tuple(ReadMark(**row) for row in rows))
        case _:
            return Kept(tuple(replace(ForeignEntry(**row), tags=tuple(row["tags"])) for row in rows))


def _cut(rows: Sequence[T], most: int, weight: Callable[[T], int] = lambda _: 0) -> Iterator[tuple[T, ...]]:
    some: list[T] = []
    weighed = 0
    for row in rows:
        if some and (len(some) == most or weighed + weight(row) > MOST_TEXT):
            yield tuple(some)
            some, weighed = [], 0
        some.append(row)
        weighed += weight(row)
    if some:
        yield tuple(some)


def _feed(row: Mapping[str, Any]) -> ForeignFeed:
    attributes = tuple((name, value) for name, value in row["attributes"])
    path, follow = tuple(row["path"]), row.get("follow", True)
    return ForeignFeed(row["key"], row["url"], row["title"], path, attributes, follow)
