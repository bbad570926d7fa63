"""The Google Reader API: item ids, streams, timestamps, continuations, tag edits and labels.

Apps have one flat list of labels; Reedbed has nested folders and tags. A nested folder is labelled by its
path, `Technology/Linux`. Apps may also use its last part alone.
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

# --- Item ids

ITEM_PREFIX = "tag:google.com,2005:reader/item/"
MAX_ID = 2**63 - 1

_ORDERS: dict[str, Order] = {"o": "oldest", "n": "newest"}
_HEX = re.compile(r"[0-9a-f]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,19}")


def long_id(entry_id: int) -> str:
    return f"{ITEM_PREFIX}{entry_id:016x}"


def parse_item_id(text: str) -> int | None:
    """The entry's id, or None if the text is not a valid id."""
    plain = unquote(text).strip().lower()
    hexadecimal = _as_hexadecimal(plain)
    if hexadecimal is not None:
        number = int(hexadecimal, 16) if _HEX.fullmatch(hexadecimal) else 0
    elif _DECIMAL.fullmatch(plain):
        number = int(plain)
    else:
        # NetNewsWire used to send unpadded hexadecimal ids, recognizable by a letter.
        number = int(plain, 16) if _HEX.fullmatch(plain) else 0
    return number if 0 < number <= MAX_ID else None


def _as_hexadecimal(plain: str) -> str | None:
    for prefix in (ITEM_PREFIX, "-/"):
        if plain.startswith(prefix):
            return plain.removeprefix(prefix)
    return plain if len(plain) == 16 else None


# --- Streams


@record
class StateStream:
    name: str


@record
class LabelStream:
    """A folder, a tag or both: apps have only one kind of label."""

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
EMPTY_STATES = frozenset({"kept-unread", "tracking-kept-unread", "broadcast", "broadcast-friends", "like", "created"})
"""Internal states of Google: accepted, but without effect."""
STATES = EMPTY_STATES | {"reading-list", "read", "unread", "starred"}

_STATE = re.compile(r"user/[^/]*/state/com\.google/([a-z-]+)/?")
_LABEL = re.compile(r"user/[^/]*/label/(.+)", re.DOTALL)
_ONE_SLASH = re.compile(r"(https?):/(?=[^/])")


def parse_stream(text: str) -> Stream | None:
    """None for an unknown stream, which must never be treated as a larger one."""
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
    """Parse `feed/12`, `feed/http://…`, and Reeder's `feed/feed/…`."""
    name = plain.removeprefix("feed/").removeprefix("feed/").strip()
    if _DECIMAL.fullmatch(name):
        number = int(name)
        return FeedStream(number, "") if 0 < number <= MAX_ID else None
    # Proxies that normalize paths merge the two slashes.
    return FeedStream(None, _ONE_SLASH.sub(r"\1://", name, count=1)) if name else None


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


# --- Timestamps and continuations


def parse_oldest(text: str) -> Instant | None:
    """`ot`: seconds; NetNewsWire sends a fraction."""
    return _milliseconds(text, "ot")


def parse_newest(text: str) -> Instant | None:
    """`nt`: a whole second includes all of it, because it is one of our timestamps, truncated."""
    timestamp = _milliseconds(text, "nt")
    if timestamp is None or "." in text:
        return timestamp
    return min(timestamp + SECOND - 1, LATEST)


def _milliseconds(text: str, field: str) -> Instant | None:
    if not text.strip():
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise Invalid("%(name)s must be seconds since 1970.", field=field, name=field)
    return int(min(max(seconds * SECOND, 0), LATEST))


def parse_mark_until(text: str, now: Instant) -> Instant:
    """`ts` of mark-all-as-read: seconds, milli-, micro- or nanoseconds, distinguished by their length.

    A value in seconds includes the whole second, because it is one of our timestamps, truncated.
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
    """Only letters and digits, because Read You inserts it into a URL without escaping."""
    return f"{'o' if order == 'oldest' else 'n'}{last_id}"


def decode_continuation(text: str) -> tuple[int, Order | None]:
    """The last id, and the order if included."""
    plain = text.strip()
    digits = plain.lstrip("on")
    if len(plain) - len(digits) > 1 or not _DECIMAL.fullmatch(digits):
        raise Invalid("This continuation is not valid.", field="c")
    return min(int(digits), MAX_ID), _ORDERS.get(plain[0])


# --- Tags and labels


@record
class TagEdit:
    read: bool | None = None
    starred: bool | None = None
    labels_on: tuple[str, ...] = ()
    labels_off: tuple[str, ...] = ()


# Adding the tag sets the state to this; removing it sets it to the opposite.
_READ_WHEN_ADDED: dict[Stream, bool] = {READ: True, UNREAD: False, KEPT_UNREAD: False}


def tag_edit(added: Sequence[str], removed: Sequence[str]) -> TagEdit:
    """Unknown tags are ignored; contradictory tags raise `Invalid`."""
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
    values = {when_added[stream] for stream in on if stream in when_added}
    values |= {not when_added[stream] for stream in off if stream in when_added}
    if len(values) > 1:
        raise _contradiction()
    return values.pop() if values else None


def _labels(streams: Sequence[Stream]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stream.name for stream in streams if isinstance(stream, LabelStream)))


def _contradiction() -> Invalid:
    return Invalid("The same tag cannot be added and removed in one call.", field="a")


@record
class Labels:
    """The folders and tags behind a user's labels."""

    folders: Mapping[int, str] = field(default_factory=dict[int, str])
    """Folder id to its label."""
    names: Mapping[int, str] = field(default_factory=dict[int, str])
    """Folder id to its own name."""
    tags: frozenset[str] = frozenset()

    def folder_ids(self, label: str) -> list[int]:
        by_path = [folder_id for folder_id, path in self.folders.items() if path == label]
        return by_path or [folder_id for folder_id, name in self.names.items() if name == label]

    def tag(self, label: str) -> str | None:
        """The tag with this name; white space is collapsed, as in all tags."""
        name = " ".join(label.split())
        return name if name in self.tags else None


def labels_of(rows: Sequence[FolderRow], tags: Iterable[str] = ()) -> Labels:
    rows_by_id = {row.id: row for row in rows}
    return Labels(
        folders={row.id: "/".join(_path(row, rows_by_id)) for row in rows},
        names={row.id: row.name for row in rows},
        tags=frozenset(tags),
    )


def _path(row: FolderRow, rows_by_id: Mapping[int, FolderRow]) -> list[str]:
    """Folder names from the top down; stops at a cycle."""
    path, seen = [row.name], {row.id}
    parent_id = row.parent_id
    while parent_id is not None and parent_id in rows_by_id and parent_id not in seen:
        seen.add(parent_id)
        path.append(rows_by_id[parent_id].name)
        parent_id = rows_by_id[parent_id].parent_id
    return path[::-1]
