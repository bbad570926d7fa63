"""PostgreSQL through asyncpg: prepared statements by text, a bounded pool, short waits."""

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg as untyped_asyncpg  # pyright: ignore[reportMissingTypeStubs]

from reedbed.domain.errors import Unavailable
from reedbed.store.database import NOTHING, Row, note_statement
from reedbed.store.statements import POSTGRESQL, Params, Statement

asyncpg: Any = untyped_asyncpg

ACQUIRE_TIMEOUT = 10
COMMAND_TIMEOUT = 60

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    OSError,
    TimeoutError,
)


class PostgresqlTx:
    engine = "postgresql"

    def __init__(self, connection: Any) -> None:
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


class PostgresqlDatabase:
    engine = "postgresql"

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[PostgresqlTx]:
        with _explained():
            async with self._pool.acquire(timeout=ACQUIRE_TIMEOUT) as connection:
                yield PostgresqlTx(connection)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[PostgresqlTx]:
        with _explained():
            async with self._pool.acquire(timeout=ACQUIRE_TIMEOUT) as connection, connection.transaction():
                yield PostgresqlTx(connection)

    async def close(self) -> None:
        await self._pool.close()


async def open_postgresql(url: str, *, pool_size: int) -> PostgresqlDatabase:
    with _explained():
        pool: Any = await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=pool_size,
            timeout=ACQUIRE_TIMEOUT,
            command_timeout=COMMAND_TIMEOUT,
            reset=_keep_as_it_is,
            server_settings={"application_name": "reedbed", "jit": "off", "lock_timeout": "15s"},
        )
    return PostgresqlDatabase(pool)


async def _keep_as_it_is(connection: Any) -> None:
    """We never change a connection's settings, so the reset round trip after each use buys nothing."""


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except _LOST as error:
        raise Unavailable("PostgreSQL does not answer. Try again in a moment.") from error
    except asyncpg.InterfaceError as error:
        # asyncpg says both "connection is closed" and "wrong number of arguments" with this class.
        if "clos" in str(error) or "released" in str(error):
            raise Unavailable("The connection to PostgreSQL was lost. Try again in a moment.") from error
        raise
