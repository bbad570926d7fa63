"""Write in batches: one short transaction each, with a pause in between so that others can write."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeVar

from reedbed.domain.batching import FIRST, TARGET_BATCH_MS, cut, next_size
from reedbed.store.engine.database import Database, Tx

R = TypeVar("R")
T = TypeVar("T")

MIN_REST = 0.002


class Batches:
    """Adapts the size of the next batch to the time the last one took."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._size, self._batch_cost = FIRST, 0.0
        self._pause = MIN_REST
        self.written = 0

    def take(self, waiting: list[T], size_of: Callable[[T], float]) -> list[T]:
        """Remove the next batch from `waiting` and return it."""
        count = cut(waiting, self._size, size_of)
        batch, waiting[:] = waiting[:count], waiting[count:]
        self._batch_cost = sum(map(size_of, batch))
        return batch

    async def write(self, work: Callable[[Tx], Awaitable[R]]) -> R:
        """Run `work` for the batch just taken, in a transaction that awaits nothing else."""
        began = perf_counter()

        async def timed(tx: Tx) -> R:
            nonlocal began
            began = perf_counter()
            return await work(tx)

        result = await self._db.write_now(timed)
        took = perf_counter() - began
        self.written += 1
        self._size = next_size(self._size, self._batch_cost, took * 1_000)
        if self._db.engine == "sqlite":
            # Other processes poll for the file lock, so pause for half the time it was held.
            self._pause = min(max(took / 2, MIN_REST), TARGET_BATCH_MS / 1_000)
        return result

    async def rest(self) -> None:
        await asyncio.sleep(self._pause)
