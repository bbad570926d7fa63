"""Parse feeds safely: documents that may hang or crash the parser are parsed in a sandbox process.

`python -m reedbed.ingest.parse.sandbox` is that process. It reads a line of JSON (content_type, url) and the
body from standard input and writes JSON to standard output.
"""

import asyncio
import sys
from typing import Any, cast

import orjson

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import (
    Author,
    CheckSchedule,
    Enclosure,
    NotAFeed,
    ParsedEntry,
    ParsedFeed,
    RecordingTexts,
    TranscriptLink,
)
from reedbed.ingest.parse.document import DoubtfulResult, UnsafeDocument, read_body
from reedbed.ingest.parse.xml import MAX_BYTES
from reedbed.ingest.sandbox import Sandbox, apply_limits

Fields = dict[str, object]


def packed(outcome: ParsedFeed | NotAFeed) -> bytes:
    message = {"feed": outcome} if isinstance(outcome, ParsedFeed) else {"refusal": outcome.reason.dump()}
    return orjson.dumps(message, default=_to_plain)


def _to_plain(value: ParsedEntry | frozenset[int]) -> object:
    return value._asdict() if isinstance(value, ParsedEntry) else sorted(value)


def unpacked(data: bytes) -> ParsedFeed | NotAFeed:
    """Raise ValueError, TypeError or KeyError on anything but the output of `packed`."""
    message = cast(Fields, orjson.loads(data))
    if "refusal" in message:
        refusal = message["refusal"]
        return NotAFeed(Failure.load(str(refusal)))
    return _feed(cast(Fields, message["feed"]))


def _feed(fields: Fields) -> ParsedFeed:
    values = fields | {
        "entries": tuple(_entry(entry) for entry in _field_list(fields["entries"])),
        "authors": _authors(fields["authors"]),
        "rhythm": _check_schedule(cast(Fields, fields["rhythm"])),
    }
    return ParsedFeed(**values)  # pyright: ignore[reportArgumentType] - names and types are those of `packed`


def _entry(fields: Fields) -> ParsedEntry:
    values = fields | {
        "authors": _authors(fields["authors"]),
        "categories": tuple(cast(list[str], fields["categories"])),
        "enclosures": tuple(
            Enclosure(**enclosure)  # pyright: ignore[reportArgumentType] - as above
            for enclosure in _field_list(fields["enclosures"])
        ),
        "texts": _recording_texts(fields["texts"]),
    }
    return ParsedEntry(**values)  # pyright: ignore[reportArgumentType] - as above


def _recording_texts(fields: object) -> RecordingTexts | None:
    if fields is None:
        return None
    values = cast(dict[str, Any], fields)
    return RecordingTexts(
        tuple((str(start), str(title)) for start, title in values["chapters"]),
        values["chapters_url"],
        tuple(TranscriptLink(**link) for link in values["transcripts"]),
    )


def _authors(authors: object) -> tuple[Author, ...]:
    return tuple(Author(**author) for author in _field_list(authors))  # pyright: ignore[reportArgumentType] - as above


def _check_schedule(fields: Fields) -> CheckSchedule:
    interval = cast(int | None, fields["interval"])
    hours, days = cast(list[int], fields["skip_hours"]), cast(list[int], fields["skip_days"])
    return CheckSchedule(interval, frozenset(hours), frozenset(days))


def _field_list(values: object) -> list[Fields]:
    return cast(list[Fields], values)


MEMORY = 1 << 29


def main() -> None:
    apply_limits(MEMORY)
    request = cast(dict[str, str | None], orjson.loads(sys.stdin.buffer.readline()))
    body = sys.stdin.buffer.read()
    outcome = read_in_child(body, content_type=request["content_type"], url=request["url"] or "")
    sys.stdout.buffer.write(packed(outcome))


def read_in_child(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """Parse without the check for attacks, and with feedparser as well if the result is doubtful."""
    outcome = read_body(body, content_type=content_type, url=url, trusted=True)
    if not isinstance(outcome, DoubtfulResult):
        return NotAFeed(outcome.reason) if isinstance(outcome, UnsafeDocument) else outcome
    from reedbed.ingest.parse.fallback import read_with_feedparser

    other = read_with_feedparser(body, content_type=content_type, url=url)
    return _better(outcome.best, other)


def _better(ours: ParsedFeed | NotAFeed, other: ParsedFeed | NotAFeed) -> ParsedFeed | NotAFeed:
    if isinstance(other, NotAFeed):
        return ours
    if isinstance(ours, NotAFeed):
        return other
    return other if len(other.entries) > len(ours.entries) else ours


_THREAD_FROM_BYTES = 200_000
"""Parsing more bytes would block the event loop for more than a few milliseconds."""
_GAVE_UP = NotAFeed(Failure(FailureCode.DOCUMENT_TOO_EXPENSIVE))

_sandbox = Sandbox("reedbed.ingest.parse.sandbox")


async def parse_safely(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """Parse untrusted bytes. A parse that may hang or crash runs in its own process."""
    if len(body) < _THREAD_FROM_BYTES:
        outcome = read_body(body, content_type=content_type, url=url)
    else:
        outcome = await asyncio.to_thread(read_body, body, content_type=content_type, url=url)
    match outcome:
        case UnsafeDocument():
            return await _read_in_sandbox(body, content_type, url) or _GAVE_UP
        case DoubtfulResult():
            return await _read_in_sandbox(body, content_type, url) or outcome.best
        case _:
            return outcome


async def _read_in_sandbox(body: bytes, content_type: str | None, url: str) -> ParsedFeed | NotAFeed | None:
    """None if the process died or was killed."""
    request = orjson.dumps({"content_type": content_type, "url": url})
    output = await _sandbox.ask(request, b"\n", body[:MAX_BYTES])
    try:
        return unpacked(output) if output else None
    except (ValueError, TypeError, KeyError):
        return None


if __name__ == "__main__":
    main()
