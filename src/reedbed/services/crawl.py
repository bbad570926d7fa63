"""The crawl's book: taking feeds in hand and putting them back, and whose turn it is at a host."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from reedbed.domain.due import DueFeed
from reedbed.domain.times import SECOND, Instant
from reedbed.services.runtime import Runtime
from reedbed.store import fetch_state

_FIRST_LOOK_AGAIN = 0.05
_LAST_LOOK_AGAIN = 1.0


@asynccontextmanager
async def turn_at(runtime: Runtime, host: str) -> AsyncGenerator[None]:
    """One of the few requests in flight at this host, of all processes, when it is its turn.

    With a `host_delay` of 0 every request goes at once.
    """
    if not runtime.fetching.host_delay:
        yield
        return
    token = await _enter(runtime, host)
    try:
        wait = await runtime.pacer.reserve(host, runtime.fetching.host_delay)
        await asyncio.sleep(wait / SECOND)
        yield
    finally:
        await runtime.pacer.leave(host, token)


async def _enter(runtime: Runtime, host: str) -> str:
    policy, pause = runtime.fetching, _FIRST_LOOK_AGAIN
    while (token := await runtime.pacer.enter(host, policy.host_concurrency, policy.in_flight)) is None:
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LAST_LOOK_AGAIN)
    return token


async def claim(runtime: Runtime, *, limit: int, per_host: int) -> list[DueFeed]:
    async with runtime.db.write() as tx:
        return await fetch_state.claim_due(
            tx,
            runtime.name,
            runtime.now(),
            limit=limit,
            lease=runtime.fetching.lease,
            per_host=per_host,
        )


async def give_back(runtime: Runtime, turns: Sequence[tuple[int, Instant]]) -> None:
    """These were not checked; each is due again at its moment."""
    async with runtime.db.write() as tx:
        await fetch_state.give_back(tx, runtime.name, turns)


async def release(runtime: Runtime, feed_ids: Sequence[int]) -> None:
    """These were not checked and are due as before."""
    async with runtime.db.write() as tx:
        await fetch_state.release(tx, runtime.name, feed_ids)


async def next_due(runtime: Runtime) -> Instant | None:
    async with runtime.db.read() as tx:
        return await fetch_state.next_due(tx, runtime.now())
