"""Reading a feed is a job: asked for where something arrives or is switched on, run by a worker."""

from reedbed.domain.times import Instant
from reedbed.store import framing, jobs
from reedbed.store.database import Tx

FRAMING_JOB = "framing"


async def ask_feed_later(tx: Tx, feed_id: int, now: Instant) -> None:
    await jobs.add(tx, FRAMING_JOB, {"feed_id": feed_id}, now=now)


async def ask_if_wanted(tx: Tx, feed_id: int, now: Instant) -> None:
    """Something has arrived or changed in this feed."""
    if await framing.is_wanted(tx, feed_id):
        await ask_feed_later(tx, feed_id, now)
