"""How far a refresh of many feeds is, told to the one who asked."""

from collections.abc import Sequence

from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.services.jobs import Done, Later, note_progress
from reedbed.services.runtime import Runtime
from reedbed.store import fetch_state, jobs
from reedbed.store.database import Tx
from reedbed.store.jobs import Job

JOB_KIND = "refresh"

_LOOK_EVERY = SECOND
_PATIENCE = 15 * MINUTE


async def follow(tx: Tx, feed_ids: Sequence[int], user_id: int, now: Instant) -> int:
    """A job that watches these feeds from now on."""
    return await jobs.add(tx, JOB_KIND, {"feeds": list(feed_ids), "since": now}, now=now, user_id=user_id)


async def tell_progress(runtime: Runtime, job: Job) -> Done | Later:
    """How many of the feeds have been checked since they were asked for."""
    asked: list[int] = job.payload["feeds"]
    now = runtime.now()
    async with runtime.db.read() as tx:
        waiting = await fetch_state.unchecked(tx, asked, job.payload["since"], now)
    done = len(asked) - waiting
    if done != job.report.get("done"):
        await note_progress(runtime, job, done, len(asked))
    if waiting == 0 or now > job.created_at + _PATIENCE:
        return Done({"done": done, "total": len(asked)})
    return Later(now + _LOOK_EVERY)
