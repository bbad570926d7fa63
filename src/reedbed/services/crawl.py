"""The crawl's book: taking feeds in hand and putting them back."""

from collections.abc import Sequence

from reedbed.domain.due import DueFeed
from reedbed.domain.times import Instant
from reedbed.services.runtime import Runtime
from reedbed.store import fetch_state


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
