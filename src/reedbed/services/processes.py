"""Every process says that it lives. Workers set free what a dead one held, long before its leases run out."""

import asyncio
import time
from contextlib import suppress

import structlog

from reedbed import __version__
from reedbed.domain.errors import Unavailable
from reedbed.domain.hints import Hint
from reedbed.domain.times import SECOND, Instant, Millis
from reedbed.services.runtime import Runtime
from reedbed.store import processes
from reedbed.store.processes import Process

log = structlog.get_logger()

BEAT_SECONDS = 5.0
SILENT_FOR: Millis = 20 * SECOND
"""Who was not heard of for so long is dead. If it only slept, its late results are refused by the lease."""


async def live(runtime: Runtime, role: str) -> None:
    """Beat until cancelled, then take leave."""
    started_at, last_beat = runtime.now(), time.monotonic()
    try:
        while True:
            if runtime.steadiness.note(runtime.now()):
                log.warning("the clock jumped; nothing is deleted for its age within the next hour")
            # After a pause of ours, or of the database, the others look dead, too: let them speak first.
            heard_lately = time.monotonic() - last_beat < SILENT_FOR / SECOND / 2
            if await _beat(runtime, role, started_at, may_bury=role != "web" and heard_lately):
                last_beat = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)
    finally:
        with suppress(Unavailable):
            async with runtime.db.write() as tx:
                await processes.leave(tx, runtime.name)


async def everyone(runtime: Runtime) -> list[Process]:
    """Who runs, and what each has in hand."""
    async with runtime.db.read() as tx:
        return await processes.everyone(tx)


async def _beat(runtime: Runtime, role: str, started_at: Instant, *, may_bury: bool) -> bool:
    try:
        async with runtime.db.write() as tx:
            await processes.beat(tx, runtime.name, role=role, version=__version__, started_at=started_at)
            dead = await processes.bury(tx, SILENT_FOR) if may_bury else []
    except Unavailable as error:
        log.warning("this process could not say that it lives", error=error.message)
        return False
    for name in dead:
        log.warning("a process fell silent, its work is free", process=name)
    if dead:
        await runtime.bus.publish(Hint("wake"))
    return True
