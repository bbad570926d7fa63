"""Things that one process does for all: held by a lease with a heartbeat, taken over when its holder dies."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.times import SECOND, Millis
from reedbed.services.runtime import Runtime
from reedbed.store import leases

log = structlog.get_logger()

TTL: Millis = 60 * SECOND


async def acquire(runtime: Runtime, name: str, *, ttl: Millis = TTL) -> bool:
    async with runtime.db.write() as tx:
        return await leases.acquire(tx, name, runtime.name, runtime.now(), ttl)


async def heartbeat(runtime: Runtime, name: str, *, ttl: Millis = TTL) -> bool:
    """False when another process holds it now."""
    async with runtime.db.write() as tx:
        return await leases.heartbeat(tx, name, runtime.name, runtime.now(), ttl)


async def release(runtime: Runtime, name: str) -> None:
    async with runtime.db.write() as tx:
        await leases.release(tx, name, runtime.name)


async def while_alone(
    runtime: Runtime, name: str, work: Callable[[], Awaitable[None]], *, ttl: Millis = TTL
) -> bool:
    """Do this if no other process does it; False without doing it otherwise.

    The work is given up when the lease is lost, because then another process does it.
    """
    if not await acquire(runtime, name, ttl=ttl):
        return False
    working = asyncio.ensure_future(work())
    beating = asyncio.create_task(_beat(runtime, name, ttl, working))
    try:
        await working
    finally:
        beating.cancel()
        with suppress(Unavailable):
            await release(runtime, name)
    return True


async def _beat(runtime: Runtime, name: str, ttl: Millis, working: "asyncio.Future[None]") -> None:
    while True:
        await asyncio.sleep(ttl / 3 / SECOND)
        with suppress(Unavailable):
            if not await heartbeat(runtime, name, ttl=ttl):
                log.warning("another process took over", lease=name)
                working.cancel()
                return
