"""Names that Google Reader apps use: items, streams, moments and continuations. Old, loose, and all in use.

An item is a number. Apps send it as `tag:google.com,2005:reader/item/` with hexadecimal digits, padded or
not, as 16 bare hexadecimal digits, as `-/hex`, or as a decimal.
"""

import math
import re
from urllib.parse import unquote

from reedbed.domain.errors import Invalid
from reedbed.domain.paging import Order
from reedbed.domain.records import record
from reedbed.domain.times import LATEST, SECOND, Instant

ITEM_PREFIX = "tag:google.com,2005:reader/item/"
LARGEST_ID = 2**63 - 1

_ORDERS: dict[str, Order] = {"o": "oldest", "n": "newest"}
_HEX = re.compile(r"[0-9a-f]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,19}")


def long_id(entry_id: int) -> str:
    return f"{ITEM_PREFIX}{entry_id:016x}"


def parse_item_id(text: str) -> int | None:
    """The entry's id, or None for what cannot be one of ours."""
    plain = unquote(text).strip().lower()
    hexadecimal = _as_hexadecimal(plain)
    if hexadecimal is not None:
        number = int(hexadecimal, 16) if _HEX.fullmatch(hexadecimal) else 0
    elif _DECIMAL.fullmatch(plain):
        number = int(plain)
    else:
        # NetNewsWire used to send hexadecimal digits without padding: a letter gives them away.
        number = int(plain, 16) if _HEX.fullmatch(plain) else 0
    return number if 0 < number <= LARGEST_ID else None


def _as_hexadecimal(plain: str) -> str | None:
    for prefix in (ITEM_PREFIX, "-/"):
        if plain.startswith(prefix):
            return plain.removeprefix(prefix)
    return plain if len(plain) == 16 else None


@record
class StateStream:
    name: str


@record
class LabelStream:
    """A folder, or a tag, or both: apps know one kind of label."""

    name: str


@record
class FeedStream:
    feed_id: int | None
    url: str


Stream = StateStream | LabelStream | FeedStream

READING_LIST = StateStream("reading-list")
READ = StateStream("read")
UNREAD = StateStream("unread")
STARRED = StateStream("starred")
KEPT_UNREAD = StateStream("kept-unread")
EMPTY_STATES = frozenset(
    {"kept-unread", "tracking-kept-unread", "broadcast", "broadcast-friends", "like", "created"}
)
"""Kept by Google for itself: accepted, and without effect."""
STATES = EMPTY_STATES | {"reading-list", "read", "unread", "starred"}

_STATE = re.compile(r"user/[^/]*/state/com\.google/([a-z-]+)/?")
_LABEL = re.compile(r"user/[^/]*/label/(.+)", re.DOTALL)
_ONE_SLASH = re.compile(r"(https?):/(?=[^/])")


def parse_stream(text: str) -> Stream | None:
    """None for what no app means: an unknown stream must never become a wider one."""
    plain = text.strip().lstrip("/")
    if state := _STATE.fullmatch(plain):
        return StateStream(state[1]) if state[1] in STATES else None
    if label := _LABEL.fullmatch(plain):
        name = label[1].strip()
        return LabelStream(name) if name else None
    if plain.startswith("feed/"):
        return _feed_stream(plain)
    return None


def _feed_stream(plain: str) -> FeedStream | None:
    """`feed/12`, `feed/http://…`, and Reeder's `feed/feed/…`."""
    rest = plain.removeprefix("feed/").removeprefix("feed/").strip()
    if _DECIMAL.fullmatch(rest):
        number = int(rest)
        return FeedStream(number, "") if 0 < number <= LARGEST_ID else None
    # A proxy that tidies paths leaves one slash of the two.
    return FeedStream(None, _ONE_SLASH.sub(r"\1://", rest, count=1)) if rest else None


def stream_name(stream: Stream) -> str:
    match stream:
        case StateStream(name):
            return state_name(name)
        case LabelStream(name):
            return label_name(name)
        case FeedStream(feed_id, url):
            return f"feed/{feed_id or url}"


def state_name(name: str) -> str:
    return f"user/-/state/com.google/{name}"


def label_name(name: str) -> str:
    return f"user/-/label/{name}"


def feed_name(feed_id: int) -> str:
    return f"feed/{feed_id}"


def parse_oldest(text: str) -> Instant | None:
    """`ot`: seconds, which NetNewsWire sends with a fraction."""
    return _milliseconds(text, "ot")


def parse_newest(text: str) -> Instant | None:
    """`nt`: a whole second is meant to its end, for it is one of our moments, cut off."""
    moment = _milliseconds(text, "nt")
    if moment is None or "." in text:
        return moment
    return min(moment + SECOND - 1, LATEST)


def _milliseconds(text: str, field: str) -> Instant | None:
    if not text.strip():
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise Invalid(f"{field} must be seconds since 1970.", field=field)
    return int(min(max(seconds * SECOND, 0), LATEST))


def parse_mark_until(text: str, now: Instant) -> Instant:
    """`ts` of mark-all-as-read: seconds, milli-, micro- or nanoseconds, told apart by their length.

    Coarse units mean the whole unit, because the moment came from one of our finer ones, cut off.
    """
    plain = text.strip().partition(".")[0]
    if not plain:
        return now
    if not _DECIMAL.fullmatch(plain):
        raise Invalid("ts must be a moment in microseconds.", field="ts")
    number = int(plain)
    if number == 0:
        return now
    digits = len(plain)
    if digits >= 19:
        return number // 1_000_000
    if digits >= 16:
        return number // 1_000
    return number if digits >= 13 else number * SECOND + SECOND - 1


def encode_continuation(last_id: int, order: Order) -> str:
    """Letters and digits only: Read You pastes it into an address as it is."""
    return f"{'o' if order == 'oldest' else 'n'}{last_id}"


def decode_continuation(text: str) -> tuple[int, Order | None]:
    """The last id, and the order if it says one."""
    plain = text.strip()
    digits = plain.lstrip("on")
    if len(plain) - len(digits) > 1 or not _DECIMAL.fullmatch(digits):
        raise Invalid("This continuation is not one of ours.", field="c")
    return min(int(digits), LARGEST_ID), _ORDERS.get(plain[0])
