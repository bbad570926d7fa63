"""Reading a feed is a job: asked for where something arrives or is switched on, run by a worker."""

from collections.abc import Sequence

from reedbed.domain.times import Instant
from reedbed.store import framing, jobs
from reedbed.store.database import Tx

FRAMING_JOB = "framing"


async def ask_feed_later(tx: Tx, feed_id: int, now: Instant) -> None:
    await jobs.add(tx, FRAMING_JOB, {"feed_id": feed_id}, now=now)


async def ask_if_wanted(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """Something has arrived or changed in these feeds."""
    for feed_id in await framing.wanted(tx, feed_ids):
        await ask_feed_later(tx, feed_id, now)
