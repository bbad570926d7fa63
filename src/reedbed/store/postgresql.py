"""PostgreSQL through asyncpg: prepared statements by text, a bounded pool, short waits."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from sqlalchemy import text

from reedbed.domain.errors import Unavailable
from reedbed.store.database import NOTHING, PoolUse, Row, Tx, note_statement
from reedbed.store.postgresql_faults import LOCKED, asyncpg, explained
from reedbed.store.postgresql_pulse import Pulse
from reedbed.store.statements import POSTGRESQL, Params, Statement
from reedbed.store.vault import Vault

T = TypeVar("T")

CONNECT_TIMEOUT = 5
COMMAND_TIMEOUT = 60
LOCK_SECONDS = 6
"""Our own transactions hold locks for moments; longer waits are for somebody else's."""
VACUUM_TIMEOUT = 3_600
CLOSE_TIMEOUT = 3
_SHORTLY = Statement(
    text(
        "SELECT set_config('synchronous_commit', 'off', true),"
        " set_config('plan_cache_mode', 'force_generic_plan', true)"
    )
)


class PostgresqlTx:
    engine = "postgresql"

    def __init__(self, connection: Any, vault: Vault) -> None:
        self.vault = vault
        self._connection = connection

    async def all(self, statement: Statement, params: Params = NOTHING) -> Sequence[Row]:
        note_statement()
        compiled = statement.on(POSTGRESQL)
        return await self._connection.fetch(compiled.sql, *compiled.arguments(params))

    async def one(self, statement: Statement, params: Params = NOTHING) -> Row | None:
        note_statement()
        compiled = statement.on(POSTGRESQL)
        return await self._connection.fetchrow(compiled.sql, *compiled.arguments(params))

    async def value(self, statement: Statement, params: Params = NOTHING) -> Any:
        row = await self.one(statement, params)
        return None if row is None else row[0]

    async def run(self, statement: Statement, params: Params = NOTHING) -> int:
        note_statement()
        compiled = statement.on(POSTGRESQL)
        tag: str = await self._connection.execute(compiled.sql, *compiled.arguments(params))
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def run_each(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            return
        note_statement()
        compiled = statement.on(POSTGRESQL)
        await self._connection.executemany(compiled.sql, [compiled.arguments(row) for row in rows])

    async def each(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
        if not rows:
            return []
        note_statement()
        compiled = statement.on(POSTGRESQL)
        return await self._connection.fetchmany(compiled.sql, [compiled.arguments(row) for row in rows])


_ANALYZED_ROWS = "SELECT min(reltuples) FROM pg_class WHERE oid IN ('entries'::regclass, 'unread'::regclass)"
"""As ANALYZE last saw them; -1 before the first time."""


class PostgresqlDatabase:
    engine = "postgresql"

    def __init__(self, pool: Any, pulse: Pulse, vault: Vault) -> None:
        self._pool = pool
        self._vault = vault
        self._pulse = pulse

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[PostgresqlTx]:
        with explained():
            async with self._connection() as connection:
                yield PostgresqlTx(connection, self._vault)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[PostgresqlTx]:
        with explained():
            async with self._connection() as connection, connection.transaction():
                yield PostgresqlTx(connection, self._vault)

    async def write_at_once(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Without waiting for the disk either: lost with the machine's power, it is as if not yet done.

        What it locks others would else wait for until the disk has it, a tenth of a second now and then. And
        without planning each statement for what it is given: for a hundred ids PostgreSQL would rather read
        all that is unread than look each up, which takes ten times as long.
        """
        async with self.write() as tx:
            await tx.run(_SHORTLY)
            return await work(tx)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Any]:
        if self._pulse.silent:
            raise Unavailable("PostgreSQL has fallen silent. Try again in a moment.")
        try:
            async with self._pulse.patience():
                connection = await self._pool.acquire()
        except TimeoutError:
            if self._pulse.locked:
                raise Unavailable(LOCKED) from None
            raise
        self._pulse.in_use[connection] = time.monotonic()
        try:
            yield connection
        finally:
            del self._pulse.in_use[connection]
            await self._pool.release(connection)

    async def vacuum(self) -> None:
        """Freed space is used again by what comes; only the end of a table is given back to the disk."""
        with explained():
            # Not through `_connection`: what takes long here is no sign that the server has fallen silent.
            async with self._pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
                await connection.execute("VACUUM (ANALYZE)", timeout=VACUUM_TIMEOUT)

    async def analyze_after(self, new_rows: int) -> bool:
        """Autoanalyze would come up to a minute later; until then marking 5,000 entries takes seconds."""
        with explained():
            async with self._pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
                known = await connection.fetchval(_ANALYZED_ROWS)
                if new_rows * 2 < known:
                    return False
                await connection.execute("ANALYZE", timeout=VACUUM_TIMEOUT)
        return True

    def pool_use(self) -> PoolUse:
        return PoolUse(len(self._pulse.in_use), self._pool.get_max_size())

    async def close(self) -> None:
        await self._pulse.stop()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._pool.close()
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._pool.terminate()


async def open_postgresql(
    url: str, *, pool_size: int, must_answer: bool = True, vault: Vault | None = None
) -> PostgresqlDatabase:
    settings = {"application_name": "reedbed", "jit": "off", "lock_timeout": f"{LOCK_SECONDS}s"}

    async def connect() -> Any:
        return await asyncpg.connect(url, timeout=CONNECT_TIMEOUT, server_settings=settings)

    with explained():
        pool: Any = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=pool_size,
            timeout=CONNECT_TIMEOUT,
            command_timeout=COMMAND_TIMEOUT,
            reset=_keep_as_it_is,
            server_settings=settings,
        )
        if must_answer:
            await pool.fetchval("SELECT 1")
    return PostgresqlDatabase(pool, Pulse(connect), vault or Vault())


async def _keep_as_it_is(connection: Any) -> None:
    """We never change a connection's settings, so the reset round trip after each use buys nothing."""
