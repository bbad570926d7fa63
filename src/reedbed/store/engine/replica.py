"""Reads from a PostgreSQL replica, for requests that tolerate slightly stale data (`allow_stale_reads`).

Writes and all other reads use the primary. If the replica does not respond, reads fall back to the primary.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.store.engine.database import Database, PoolUse, Tx

T = TypeVar("T")
log = structlog.get_logger()

_may_lag: ContextVar[bool] = ContextVar("may_lag", default=False)


def allow_stale_reads(*, allowed: bool) -> None:
    """Set whether later reads of this task may use the replica."""
    _may_lag.set(allowed)


class ReplicatedDatabase:
    def __init__(self, primary: Database, replica: Database) -> None:
        self._primary = primary
        self._replica = replica

    @property
    def engine(self) -> str:
        return self._primary.engine

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[Tx]:
        async with AsyncExitStack() as stack:
            yield await self._open(stack)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[Tx]:
        async with self._primary.write() as tx:
            yield tx

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        return await self._primary.write_now(work)

    async def analyze_after(self, new_rows: int) -> bool:
        return await self._primary.analyze_after(new_rows)

    async def vacuum(self) -> None:
        await self._primary.vacuum()

    def pool_use(self) -> PoolUse:
        primary, replica = self._primary.pool_use(), self._replica.pool_use()
        return PoolUse(primary.in_use + replica.in_use, primary.size + replica.size)

    async def close(self) -> None:
        await self._replica.close()
        await self._primary.close()

    async def _open(self, stack: AsyncExitStack) -> Tx:
        if _may_lag.get():
            try:
                return await stack.enter_async_context(self._replica.read())
            except Unavailable as error:
                log.warning("the replica does not answer, reading from the primary", error=error.message)
        return await stack.enter_async_context(self._primary.read())
