"""The parent's side of the sandbox, and the door everything that receives mail uses."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from weakref import WeakKeyDictionary

from reedbed.domain.newsletters import Mail, NotAMail
from reedbed.ingest.mail.mime import read_mime
from reedbed.ingest.mail.wire import unpacked
from reedbed.ingest.sandboxing import bare_environment

_HARMLESS_BYTES = 3_000_000
_HARMLESS_BOUNDARIES = 16
_MOST_DASHED_LINES = 10_000
"""Each may begin a part, and a part costs a parser far more than its bytes."""
_WALL_SECONDS = 15.0
_AT_ONCE = 2
_GAVE_UP = NotAMail("The mail could not be read within the time and memory allowed for one.")

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def read_mail(raw: bytes) -> Mail | NotAMail:
    """The mail in these bytes, whatever they do: a large or nested one is read in a process of its own."""
    if raw.count(b"\n--") > _MOST_DASHED_LINES:
        return NotAMail("This mail has too many parts.")
    if len(raw) <= _HARMLESS_BYTES and _boundaries(raw) <= _HARMLESS_BOUNDARIES:
        return await asyncio.to_thread(read_mime, raw)
    async with _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)):
        answer = await _ask_sandbox(raw)
    try:
        return unpacked(answer) if answer else _GAVE_UP
    except (ValueError, TypeError, KeyError):
        return _GAVE_UP


def _boundaries(raw: bytes) -> int:
    """No more parts within parts than this: the parser pays for each line at each depth."""
    folded = raw.lower()
    return folded.count(b"boundary") + folded.count(b"message/")


async def _ask_sandbox(raw: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reedbed.ingest.mail.sandbox",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=bare_environment(),
    )
    try:
        answer, _ = await asyncio.wait_for(process.communicate(raw), _WALL_SECONDS)
        return answer if process.returncode == 0 else b""
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
