"""The door everything that receives mail uses: what may take long is read in a sandbox."""

import asyncio
import sys
from base64 import b64decode, b64encode
from dataclasses import fields
from typing import Any, cast

import orjson

from reedbed.domain.newsletters import Mail, MailImage, NotAMail
from reedbed.ingest.mail.message import read_mime
from reedbed.ingest.sandbox import Sandbox, accept_limits

_NAMES = tuple(each.name for each in fields(Mail))


def packed(outcome: Mail | NotAMail) -> bytes:
    if isinstance(outcome, NotAMail):
        return orjson.dumps({"refusal": outcome.reason})
    values: dict[str, Any] = {name: getattr(outcome, name) for name in _NAMES}
    values["pictures"] = [(each.cid, b64encode(each.data).decode()) for each in outcome.pictures]
    return orjson.dumps({"mail": values})


def unpacked(data: bytes) -> Mail | NotAMail:
    """Raises ValueError, TypeError or KeyError on anything but what `packed` makes."""
    message = cast(dict[str, Any], orjson.loads(data))
    if "refusal" in message:
        return NotAMail(str(message["refusal"]))
    values = cast(dict[str, Any], message["mail"])
    values["pictures"] = tuple(MailImage(cid, b64decode(data)) for cid, data in values["pictures"])
    values["auth_results"] = tuple(values["auth_results"])
    return Mail(**values)


MEMORY = 1 << 30


def main() -> None:
    accept_limits(MEMORY)
    sys.stdout.buffer.write(packed(read_mime(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()


_HARMLESS_BYTES = 3_000_000
_HARMLESS_BOUNDARIES = 16
_MAX_DASHED_LINES = 10_000
"""Each may begin a part, and a part costs a parser far more than its bytes."""
_GAVE_UP = NotAMail("The mail could not be read within the time and memory allowed for one.")

_sandbox = Sandbox("reedbed.ingest.mail.sandbox")


async def read_mail(raw: bytes) -> Mail | NotAMail:
    """The mail in these bytes, whatever they do: a large or nested one is read in a process of its own."""
    if raw.count(b"\n--") > _MAX_DASHED_LINES:
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
