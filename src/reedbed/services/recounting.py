"""The daily look at the counts: a drift is an error in the program, repaired and logged."""

import structlog

from reedbed.domain.times import DAY
from reedbed.services.announcing import announce_counts
from reedbed.services.chore_runs import run_every
from reedbed.services.runtime import Runtime
from reedbed.store.drift import recount, users_to_recount

log = structlog.get_logger()


async def recount_each_day(runtime: Runtime) -> int:
    """Counting everything takes too long to do it with every sweep."""
    return await run_every(runtime, "recount", DAY, recount_everyone)


async def recount_everyone(runtime: Runtime) -> int:
    """How many counts were wrong; each user in a transaction of their own."""
    async with runtime.db.read() as tx:
        user_ids = await users_to_recount(tx)
    return sum([await _recount(runtime, user_id) for user_id in user_ids])


async def _recount(runtime: Runtime, user_id: int) -> int:
    async with runtime.db.write() as tx:
        drifts = await recount(tx, user_id)
    for drift in drifts:
        log.error(
            "count had drifted", user=user_id, feed=drift.feed_id, counted=drift.counted, real=drift.real
        )
    if drifts:
        await announce_counts(runtime, user_id)
    return len(drifts)
