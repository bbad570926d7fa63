"""Long work on the database in batches: one short transaction each, with a pause so that others can write.

The cost of a batch is measured in entries without text; long texts count for more. So a batch of long texts
takes no longer than the batch of short texts before it, whose time determined the size.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate
from time import perf_counter
from typing import TypeVar

from reedbed.store.engine.database import Database, Tx

R = TypeVar("R")
T = TypeVar("T")

MIN_REST = 0.002
TARGET_BATCH_MS = 30.0
"""Target time for which a batch blocks other writers."""
TOO_LONG_MS = 100.0
"""Noticeable for users."""
FIRST = 10.0
MIN_SIZE, SMALL_SIZE, MAX_SIZE = 1.0, 40.0, 200.0
SIGNS = 2_000
"""This many characters of text cost as much as an entry without text."""


def weight(chars: int) -> float:
    return 1 + chars / SIGNS


def next_size(size: float, weighed: float, took_ms: float) -> float:
    """The size that fits the target time, from the cost and time of the last batch; changes by at most half.

    Starting and ending a batch takes time too, on a busy machine most of it. So a batch below
    `SMALL_SIZE` grows, and gets smaller only if it took too long.
    """
    fitting = weighed * TARGET_BATCH_MS / max(took_ms, 0.1)
    if fitting > size and weighed < size / 2:
        return size  # the last batch was only a remainder
    minimum = MIN_SIZE if took_ms > TOO_LONG_MS else SMALL_SIZE
    return min(max(fitting, size * 0.5, minimum), size * 1.5, MAX_SIZE)


def cut(waiting: Sequence[T], size: float, size_of: Callable[[T], float]) -> int:
    """How many items form the next batch: at least one, and such that no small remainder is left."""
    sums = list(accumulate(map(size_of, waiting)))
    share = sums[-1] / max(1, round(sums[-1] / size))
    return next((count for count, total in enumerate(sums, 1) if total >= share), len(sums))


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
