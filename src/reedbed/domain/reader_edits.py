"""What an `edit-tag` call means: tags added and removed become states and labels."""

from collections.abc import Sequence

from reedbed.domain.errors import Invalid
from reedbed.domain.reader_ids import KEPT_UNREAD, READ, STARRED, UNREAD, LabelStream, Stream, parse_stream
from reedbed.domain.records import record


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
