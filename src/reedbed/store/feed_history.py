"""What became of a feed's checks, as totals per hour."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, Instant, Millis
from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_history

_TOTALS = ("checks", "unchanged", "failures", "new_entries", "bytes", "took_ms")


@record
class Tally:
    """One check, or the sum of those in an hour."""

    feed_id: int
    hour: Instant
    checks: int = 1
    unchanged: int = 0
    failures: int = 0
    new_entries: int = 0
    bytes: int = 0
    took_ms: Millis = 0


_new = insert(feed_history).values({name: bindparam(name) for name in ("feed_id", "hour", *_TOTALS)})
_ADD = Statement(
    _new.on_conflict_do_update(
        index_elements=["feed_id", "hour"],
        set_={name: feed_history.c[name] + _new.excluded[name] for name in _TOTALS},
    )
)
_OF_FEED = Statement(
    select(feed_history.c.feed_id, feed_history.c.hour, *(feed_history.c[name] for name in _TOTALS))
    .where(feed_history.c.feed_id == bindparam("feed_id"), feed_history.c.hour >= bindparam("since"))
    .order_by(feed_history.c.hour)
)
_FORGET = Statement(delete(feed_history).where(feed_history.c.hour < bindparam("before")))


def hour_of(moment: Instant) -> Instant:
    return moment - moment % HOUR


async def add(tx: Tx, tallies: Sequence[Tally]) -> None:
    await tx.run_each(_ADD, [_params(tally) for tally in tallies])


async def of_feed(tx: Tx, feed_id: int, since: Instant) -> list[Tally]:
    """Oldest first; hours without a check are left out."""
    return [Tally(*row) for row in await tx.all(_OF_FEED, {"feed_id": feed_id, "since": since})]


async def forget(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


def _params(tally: Tally) -> dict[str, int]:
    return {
        "feed_id": tally.feed_id,
        "hour": tally.hour,
        "checks": tally.checks,
        "unchanged": tally.unchanged,
        "failures": tally.failures,
        "new_entries": tally.new_entries,
        "bytes": tally.bytes,
        "took_ms": tally.took_ms,
    }
