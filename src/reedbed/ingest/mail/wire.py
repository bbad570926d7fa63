"""A mail across a process border: JSON, never pickle, because what comes back is not trusted."""

from base64 import b64decode, b64encode
from dataclasses import fields
from typing import Any, cast

import orjson

from reedbed.domain.newsletters import Mail, NotAMail, Picture

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
    values["pictures"] = tuple(Picture(cid, b64decode(data)) for cid, data in values["pictures"])
    values["auth_results"] = tuple(values["auth_results"])
    return Mail(**values)
