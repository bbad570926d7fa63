"""Labels of reader apps: they know one flat list, we have nested folders, and tags beside them.

A nested folder is called by its path, `Technology/Linux`. Apps may also name it by its last part alone.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from urllib.parse import unquote

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow
from reedbed.domain.pagination import Order
from reedbed.domain.records import record
from reedbed.domain.times import LATEST, SECOND, Instant

ITEM_PREFIX = "tag:google.com,2005:reader/item/"
MAX_ID = 2**63 - 1

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
    return number if 0 < number <= MAX_ID else None


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
        return FeedStream(number, "") if 0 < number <= MAX_ID else None
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
    return min(int(digits), MAX_ID), _ORDERS.get(plain[0])


@record
class TagEdit:
    read: bool | None = None
    starred: bool | None = None
    labels_on: tuple[str, ...] = ()
    labels_off: tuple[str, ...] = ()


# Adding the tag sets the state to this; removing it sets it to the opposite.
_READ_WHEN_ADDED: dict[Stream, bool] = {READ: True, UNREAD: False, KEPT_UNREAD: False}


def tag_edit(added: Sequence[str], removed: Sequence[str]) -> TagEdit:
    """Tags that mean nothing here are left out; a call that wants both of two opposites is refused."""
    on = [stream for text in added if (stream := parse_stream(text))]
    off = [stream for text in removed if (stream := parse_stream(text))]
    edit = TagEdit(
        read=_state(_READ_WHEN_ADDED, on, off),
        starred=_state({STARRED: True}, on, off),
        labels_on=_labels(on),
        labels_off=_labels(off),
    )
    if set(edit.labels_on) & set(edit.labels_off):
        raise _contradiction()
    return edit


def _state(when_added: dict[Stream, bool], on: Sequence[Stream], off: Sequence[Stream]) -> bool | None:
    wishes = {when_added[stream] for stream in on if stream in when_added}
    wishes |= {not when_added[stream] for stream in off if stream in when_added}
    if len(wishes) > 1:
        raise _contradiction()
    return wishes.pop() if wishes else None


def _labels(streams: Sequence[Stream]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stream.name for stream in streams if isinstance(stream, LabelStream)))


def _contradiction() -> Invalid:
    return Invalid("The same tag cannot be added and removed in one call.", field="a")


@record
class Labels:
    """What a user's labels mean."""

    folders: Mapping[int, str] = field(default_factory=dict[int, str])
    """Folder id to its label."""
    names: Mapping[int, str] = field(default_factory=dict[int, str])
    """Folder id to its own name."""
    tags: frozenset[str] = frozenset()

    def folder_ids(self, label: str) -> list[int]:
        by_path = [id for id, path in self.folders.items() if path == label]
        return by_path or [id for id, name in self.names.items() if name == label]

    def tag(self, label: str) -> str | None:
        """The tag of this name; tags have single spaces only."""
        name = " ".join(label.split())
        return name if name in self.tags else None


def labels_of(rows: Sequence[FolderRow], tags: Iterable[str] = ()) -> Labels:
    known = {row.id: row for row in rows}
    return Labels(
        folders={row.id: "/".join(_path(row, known)) for row in rows},
        names={row.id: row.name for row in rows},
        tags=frozenset(tags),
    )


def _path(row: FolderRow, known: Mapping[int, FolderRow]) -> list[str]:
    """Names from the top down; a circle of folders ends."""
    path, seen = [row.name], {row.id}
    above = row.parent_id
    while above is not None and above in known and above not in seen:
        seen.add(above)
        path.append(known[above].name)
        above = known[above].parent_id
    return path[::-1]
