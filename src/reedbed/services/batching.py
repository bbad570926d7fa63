"""Writing in pieces: each in a transaction of its own, and after each a rest in which others write."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeVar

from reedbed.domain.batching import FIRST, PIECE_MS, cut, next_size
from reedbed.store.engine.database import Database, Tx

R = TypeVar("R")
T = TypeVar("T")

MIN_REST = 0.002


class Batches:
    """Learns from each piece how much the next one may be."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._size, self._weighed = FIRST, 0.0
        self._rest = MIN_REST
        self.written = 0

    def take(self, waiting: list[T], weigh: Callable[[T], float]) -> list[T]:
        """The next piece, taken off what waits."""
        count = cut(waiting, self._size, weigh)
        taken, waiting[:] = waiting[:count], waiting[count:]
        self._weighed = sum(map(weigh, taken))
        return taken

    async def write(self, work: Callable[[Tx], Awaitable[R]]) -> R:
        """Do the work on the piece that was taken, in a transaction that awaits nothing else."""
        began = perf_counter()

        async def timed(tx: Tx) -> R:
            nonlocal began
            began = perf_counter()
            return await work(tx)

        done = await self._db.write_now(timed)
        took = perf_counter() - began
        self.written += 1
        self._size = next_size(self._size, self._weighed, took * 1_000)
        if self._db.engine == "sqlite":
            # Another process asks only now and then whether the file is free: half as long as it was not.
            self._rest = min(max(took / 2, MIN_REST), PIECE_MS / 1_000)
        return done

    async def rest(self) -> None:
        await asyncio.sleep(self._rest)
