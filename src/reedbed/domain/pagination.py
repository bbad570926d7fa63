"""Keyset cursors: where a page ended, in a form clients pass back and cannot misread.

A cursor holds the sort key of the last item, the order, and a fingerprint of the view it belongs to, so one
taken from another list, filter or order is refused instead of answering a wrong page.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import blake2s
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import Instant

Order = Literal["newest", "oldest"]

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

_VERSION = 1
_LAYOUT = struct.Struct(">BBqQ6s")
_HIGHEST = 2**63 - 1
"""No database numbers rows beyond."""
_ORDERS: tuple[Order, ...] = ("newest", "oldest")


@record
class Cursor:
    sort_at: Instant
    id: int


def encode_cursor(sort_at: Instant, id: int, order: Order, view: str) -> str:
    """`view` is any text that names the list and its filters, the same when the next page is asked for."""
    packed = _LAYOUT.pack(_VERSION, _ORDERS.index(order), sort_at, id, _fingerprint(view))
    return urlsafe_b64encode(packed).decode("ascii")


def decode_cursor(text: str, order: Order, view: str) -> Cursor:
    try:
        version, place, sort_at, id, fingerprint = _LAYOUT.unpack(urlsafe_b64decode(text.encode("ascii")))
    except (NotBase64, UnicodeError, struct.error, ValueError):
        raise _not_valid() from None
    if (version, place, fingerprint) != (_VERSION, _ORDERS.index(order), _fingerprint(view)):
        raise _not_valid()
    if id > _HIGHEST:
        raise _not_valid()
    return Cursor(sort_at=sort_at, id=id)


def page_limit(wanted: str | None) -> int:
    if wanted is None:
        return DEFAULT_LIMIT
    text = wanted.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_LIMIT):
        raise Invalid(f"The limit must be a whole number from 1 to {MAX_LIMIT}.", field="limit")
    return int(text)


def _fingerprint(view: str) -> bytes:
    return blake2s(view.encode("utf-8", "surrogatepass"), digest_size=6).digest()


def _not_valid() -> Invalid:
    return Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")
