"""The door the crawler uses: what may hang or crash a parser is read in a sandbox."""

import asyncio

import orjson

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.ingest.parse.document import Doubt, Suspect, read_body
from reedbed.ingest.parse.limits import MAX_BYTES
from reedbed.ingest.parse.wire import unpacked
from reedbed.ingest.sandbox import Sandbox

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
