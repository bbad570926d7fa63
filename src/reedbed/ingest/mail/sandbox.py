"""Read mails safely: large or deeply nested ones are parsed in a sandbox process.

`python -m reedbed.ingest.mail.sandbox` is that process: raw mail on standard input, JSON on standard output.
"""

import asyncio
import sys
from base64 import b64decode, b64encode
from dataclasses import fields
from typing import Any, cast

import orjson

from reedbed.domain.newsletters import InvalidMail, Mail, MailImage
from reedbed.ingest.mail.message import read_mime
from reedbed.ingest.sandbox import Sandbox, apply_limits

_NAMES = tuple(field.name for field in fields(Mail))


def packed(outcome: Mail | InvalidMail) -> bytes:
    if isinstance(outcome, InvalidMail):
        return orjson.dumps({"refusal": outcome.reason})
    values: dict[str, Any] = {name: getattr(outcome, name) for name in _NAMES}
    values["pictures"] = [(image.cid, b64encode(image.data).decode()) for image in outcome.pictures]
    return orjson.dumps({"mail": values})


def unpacked(data: bytes) -> Mail | InvalidMail:
    """Raise ValueError, TypeError or KeyError on anything but the output of `packed`."""
    message = cast(dict[str, Any], orjson.loads(data))
    if "refusal" in message:
        return InvalidMail(str(message["refusal"]))
    values = cast(dict[str, Any], message["mail"])
    values["pictures"] = tuple(MailImage(cid, b64decode(data)) for cid, data in values["pictures"])
    values["auth_results"] = tuple(values["auth_results"])
    return Mail(**values)


MEMORY = 1 << 30


def main() -> None:
    apply_limits(MEMORY)
    sys.stdout.buffer.write(packed(read_mime(sys.stdin.buffer.read())))


_HARMLESS_BYTES = 3_000_000
_HARMLESS_BOUNDARIES = 16
_MAX_DASHED_LINES = 10_000
"""Each may start a part, and a part costs the parser far more than its bytes."""
_GAVE_UP = InvalidMail("The mail could not be read within the time and memory allowed for one.")

_sandbox = Sandbox("reedbed.ingest.mail.sandbox")


async def read_mail(raw: bytes) -> Mail | InvalidMail:
    """Parse a mail; large or nested ones in a process of their own, which can be killed."""
    if raw.count(b"\n--") > _MAX_DASHED_LINES:
        return InvalidMail("This mail has too many parts.")
    if len(raw) <= _HARMLESS_BYTES and _boundaries(raw) <= _HARMLESS_BOUNDARIES:
        return await asyncio.to_thread(read_mime, raw)
    output = await _sandbox.ask(raw)
    try:
        return unpacked(output) if output else _GAVE_UP
    except (ValueError, TypeError, KeyError):
        return _GAVE_UP


def _boundaries(raw: bytes) -> int:
    """Upper bound of the nesting: the parser checks each line against the boundary of each level."""
    lowered = raw.lower()
    return lowered.count(b"boundary") + lowered.count(b"message/")


if __name__ == "__main__":
    main()
