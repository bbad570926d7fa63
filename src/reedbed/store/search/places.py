"""Where a search stands in the order of lists."""

from dataclasses import dataclass

from reedbed.domain.paging import Cursor, Order
from reedbed.domain.times import Instant


@dataclass(frozen=True, slots=True)
class Hit:
    place: Cursor
    """To go on behind it. With id 0 it is a key of the SQLite index, else a moment and an entry."""
    entry_id: int | None
    """None: the entry is gone."""


@dataclass(frozen=True, slots=True)
class Span:
    order: Order
    after: Instant | None = None
    """At or after this moment."""
    before: Instant | None = None
    """Strictly before it."""
    beyond: Cursor | None = None
    """Only what the order shows after this place."""
