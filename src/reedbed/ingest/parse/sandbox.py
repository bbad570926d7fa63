"""The door the crawler uses: what may hang or crash a parser is read in a sandbox."""

import asyncio
import sys
from typing import cast

import orjson

from reedbed.domain.feeds import Author, CheckSchedule, Enclosure, NotAFeed, ParsedEntry, ParsedFeed
from reedbed.ingest.parse.document import Doubt, Suspect, read_body
from reedbed.ingest.parse.xml import MAX_BYTES
from reedbed.ingest.sandbox import Sandbox, accept_limits

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


def _rhythm(fields: Fields) -> CheckSchedule:
    interval = cast(int | None, fields["interval"])
    hours, days = cast(list[int], fields["skip_hours"]), cast(list[int], fields["skip_days"])
    return CheckSchedule(interval, frozenset(hours), frozenset(days))


def _all(values: object) -> list[Fields]:
    return cast(list[Fields], values)


MEMORY = 1 << 29


def main() -> None:
    accept_limits(MEMORY)
    order = cast(dict[str, str | None], orjson.loads(sys.stdin.buffer.readline()))
    body = sys.stdin.buffer.read()
    outcome = read_with_care(body, content_type=order["content_type"], url=order["url"] or "")
    sys.stdout.buffer.write(packed(outcome))


def read_with_care(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """The normaliser without its look for attacks, and feedparser where it is in doubt."""
    outcome = read_body(body, content_type=content_type, url=url, trusted=True)
    if not isinstance(outcome, Doubt):
        return (
            NotAFeed(f"The document is not read, because {outcome.reason}.")
            if isinstance(outcome, Suspect)
            else outcome
        )
    from reedbed.ingest.parse.fallback import read_with_feedparser

    other = read_with_feedparser(body, content_type=content_type, url=url)
    return _better(outcome.best, other)


def _better(ours: ParsedFeed | NotAFeed, other: ParsedFeed | NotAFeed) -> ParsedFeed | NotAFeed:
    if isinstance(other, NotAFeed):
        return ours
    if isinstance(ours, NotAFeed):
        return other
    return other if len(other.entries) > len(ours.entries) else ours


if __name__ == "__main__":
    main()


_THREAD_FROM = 200_000
"""Bytes from which a parse would hold up the event loop for more than a few milliseconds."""
_GAVE_UP = NotAFeed("The document could not be read within the time and memory allowed for one feed.")

_sandbox = Sandbox("reedbed.ingest.parse.sandbox")


async def parse_safely(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """The feed in these bytes, whatever they do: a parse that hangs or crashes dies in its own process."""
    if len(body) < _THREAD_FROM:
        outcome = read_body(body, content_type=content_type, url=url)
    else:
        outcome = await asyncio.to_thread(read_body, body, content_type=content_type, url=url)
    match outcome:
        case Suspect():
            return await _read_in_sandbox(body, content_type, url) or _GAVE_UP
        case Doubt():
            return await _read_in_sandbox(body, content_type, url) or outcome.best
        case _:
            return outcome


async def _read_in_sandbox(body: bytes, content_type: str | None, url: str) -> ParsedFeed | NotAFeed | None:
    """None if the sandbox died or had to be killed."""
    order = orjson.dumps({"content_type": content_type, "url": url})
    answer = await _sandbox.ask(order, b"\n", body[:MAX_BYTES])
    try:
        return unpacked(answer) if answer else None
    except (ValueError, TypeError, KeyError):
        return None
