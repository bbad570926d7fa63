"""A parsed feed across a process border: JSON, never pickle, because what comes back is not trusted."""

from typing import cast

import orjson

from reedbed.domain.feeds import Author, Enclosure, NotAFeed, ParsedEntry, ParsedFeed, Rhythm

Fields = dict[str, object]


def packed(outcome: ParsedFeed | NotAFeed) -> bytes:
    key = "feed" if isinstance(outcome, ParsedFeed) else "refusal"
    return orjson.dumps({key: outcome}, default=_plain)


def _plain(value: ParsedEntry | frozenset[int]) -> object:
    return value._asdict() if isinstance(value, ParsedEntry) else sorted(value)


def unpacked(data: bytes) -> ParsedFeed | NotAFeed:
    """Raises ValueError, TypeError or KeyError on anything but what `packed` makes."""
    message = cast(Fields, orjson.loads(data))
    if "refusal" in message:
        refusal = cast(Fields, message["refusal"])
        return NotAFeed(str(refusal["reason"]))
    return _feed(cast(Fields, message["feed"]))


def _feed(fields: Fields) -> ParsedFeed:
    values = fields | {
        "entries": tuple(_entry(entry) for entry in _all(fields["entries"])),
        "authors": _authors(fields["authors"]),
        "rhythm": _rhythm(cast(Fields, fields["rhythm"])),
    }
    return ParsedFeed(**values)  # pyright: ignore[reportArgumentType] - names and types are those of `packed`


def _entry(fields: Fields) -> ParsedEntry:
    values = fields | {
        "authors": _authors(fields["authors"]),
        "categories": tuple(cast(list[str], fields["categories"])),
        "enclosures": tuple(
            Enclosure(**one)  # pyright: ignore[reportArgumentType] - as above
            for one in _all(fields["enclosures"])
        ),
    }
    return ParsedEntry(**values)  # pyright: ignore[reportArgumentType] - as above


def _authors(people: object) -> tuple[Author, ...]:
    return tuple(Author(**one) for one in _all(people))  # pyright: ignore[reportArgumentType] - as above


def _rhythm(fields: Fields) -> Rhythm:
    interval = cast(int | None, fields["interval"])
    hours, days = cast(list[int], fields["skip_hours"]), cast(list[int], fields["skip_days"])
    return Rhythm(interval, frozenset(hours), frozenset(days))


def _all(values: object) -> list[Fields]:
    return cast(list[Fields], values)
