"""Where a search stands in the order of lists."""

from collections.abc import Sequence

from reedbed.domain.paging import Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.times import Instant


@record
class Hit:
    place: Cursor
    """To go on behind it: a moment and an entry. With id 0 it is a key of the SQLite index, as a moment."""
    entry_id: int | None
    """None: the entry is gone."""


def ids_of(hits: Sequence[Hit]) -> tuple[int, ...]:
    return tuple(hit.entry_id for hit in hits if hit.entry_id is not None)


@record
class Span:
    order: Order
    after: Instant | None = None
    """At or after this moment."""
    before: Instant | None = None
    """Strictly before it."""
    beyond: Cursor | None = None
    """Only what the order shows after this place."""


@record
class Checked:
    good: set[int]
    cost: float
    """About so many µs."""
