"""Keyset cursors: the position after a page, in an opaque form that clients pass back. And ranges of files.

A cursor holds the sort key of the last item, the order, and a fingerprint of the view it belongs to, so a
cursor of another list, filter or order is rejected instead of returning a wrong page.
"""

import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import blake2s
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import Instant

Order = Literal["newest", "oldest"]
ListOrder = Literal["newest", "oldest", "important", "shortest", "interest"]
"""The orders of entry lists: by time, by the number of outlets that report the event, by length, or by what the user
usually reads."""

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

_VERSION = 1
_LAYOUT = struct.Struct(">BBqQ6s")
_MAX_ID = 2**63 - 1
"""The highest row id of any database."""
LIST_ORDERS: tuple[ListOrder, ...] = ("newest", "oldest", "important", "shortest", "interest")


@record
class Cursor:
    sort_at: Instant
    id: int


def encode_cursor(sort_at: Instant, id: int, order: ListOrder, view: str) -> str:
    """`view` is any text that identifies the list and its filters, the same for the next page."""
    packed = _LAYOUT.pack(_VERSION, LIST_ORDERS.index(order), sort_at, id, _fingerprint(view))
    return urlsafe_b64encode(packed).decode("ascii")


def decode_cursor(text: str, order: ListOrder, view: str) -> Cursor:
    try:
        version, order_index, sort_at, id, fingerprint = _LAYOUT.unpack(urlsafe_b64decode(text.encode("ascii")))
    except (NotBase64, UnicodeError, struct.error, ValueError):
        raise _invalid_cursor() from None
    if (version, order_index, fingerprint) != (_VERSION, LIST_ORDERS.index(order), _fingerprint(view)):
        raise _invalid_cursor()
    if id > _MAX_ID:
        raise _invalid_cursor()
    return Cursor(sort_at=sort_at, id=id)


def page_limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    clean_limit = text.strip()
    if not (
        clean_limit.isascii() and clean_limit.isdigit() and len(clean_limit) <= 4 and 1 <= int(clean_limit) <= MAX_LIMIT
    ):
        raise Invalid("The limit must be a whole number from 1 to %(limit)s.", field="limit", limit=MAX_LIMIT)
    return int(clean_limit)


def _fingerprint(view: str) -> bytes:
    return blake2s(view.encode("utf-8", "surrogatepass"), digest_size=6).digest()


def _invalid_cursor() -> Invalid:
    return Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")


# --- Parts of files

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})\Z")


def byte_range(wanted: str | None, length: int) -> tuple[int, int] | None:
    """The first and the last byte; None for a range that makes no sense, which is ignored."""
    found = _RANGE.match((wanted or "").strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        return max(0, length - int(found[2])), length - 1
    first = int(found[1])
    if found[2] and int(found[2]) < first:
        return None
    return first, min(int(found[2]), length - 1) if found[2] else length - 1
