"""The parent's side of the sandbox, and the door the crawler uses."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from weakref import WeakKeyDictionary

import orjson

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.ingest.parse.document import Doubt, Suspect, read_body
from reedbed.ingest.parse.limits import MAX_BYTES
from reedbed.ingest.parse.wire import unpacked
from reedbed.ingest.sandboxing import bare_environment

_THREAD_FROM = 200_000
"""Bytes from which a parse would hold up the event loop for more than a few milliseconds."""
_WALL_SECONDS = 15.0
_AT_ONCE = 2
_GAVE_UP = NotAFeed("The document could not be read within the time and memory allowed for one feed.")

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


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
    async with _slot():
        answer = await _ask_sandbox(order + b"\n" + body[:MAX_BYTES])
    try:
        return unpacked(answer) if answer else None
    except (ValueError, TypeError, KeyError):
        return None


def _slot() -> asyncio.Semaphore:
    return _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE))


async def _ask_sandbox(order: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reedbed.ingest.parse.sandbox",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=bare_environment(),
    )
    try:
        answer, _ = await asyncio.wait_for(process.communicate(order), _WALL_SECONDS)
        return answer if process.returncode == 0 else b""
    except TimeoutError:
        return b""
    finally:
        await _put_down(process)


async def _put_down(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
