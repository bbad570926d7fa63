"""The door everything that receives mail uses: what may take long is read in a sandbox."""

import asyncio

from reedbed.domain.newsletters import Mail, NotAMail
from reedbed.ingest.mail.mime import read_mime
from reedbed.ingest.mail.wire import unpacked
from reedbed.ingest.sandbox import Sandbox

_HARMLESS_BYTES = 3_000_000
_HARMLESS_BOUNDARIES = 16
_MOST_DASHED_LINES = 10_000
"""Each may begin a part, and a part costs a parser far more than its bytes."""
_GAVE_UP = NotAMail("The mail could not be read within the time and memory allowed for one.")

_sandbox = Sandbox("reedbed.ingest.mail.sandbox")


async def read_mail(raw: bytes) -> Mail | NotAMail:
    """The mail in these bytes, whatever they do: a large or nested one is read in a process of its own."""
    if raw.count(b"\n--") > _MOST_DASHED_LINES:
        return NotAMail("This mail has too many parts.")
    if len(raw) <= _HARMLESS_BYTES and _boundaries(raw) <= _HARMLESS_BOUNDARIES:
        return await asyncio.to_thread(read_mime, raw)
    answer = await _sandbox.ask(raw)
    try:
        return unpacked(answer) if answer else _GAVE_UP
    except (ValueError, TypeError, KeyError):
        return _GAVE_UP


def _boundaries(raw: bytes) -> int:
    """No more parts within parts than this: the parser pays for each line at each depth."""
    folded = raw.lower()
    return folded.count(b"boundary") + folded.count(b"message/")
