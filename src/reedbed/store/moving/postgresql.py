"""PostgreSQL as an end of a move: read in one snapshot, written in one transaction."""

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from sqlalchemy import Boolean, Table, Text

from reedbed.domain.errors import CannotStart
from reedbed.domain.times import SECOND
from reedbed.store import migrations
from reedbed.store.moving.places import (
    AT_ONCE,
    Rows,
    check_version,
    moved_tables,
    names,
    numbered_tables,
    quoted,
    refuse_running,
)
from reedbed.store.postgresql import asyncpg
from reedbed.store.postgresql_pulse import Pulse

CONNECT_SECONDS = 10
SILENCE_SECONDS = 10.0
"""Without a sign of life from the server the move is given up; how long a statement takes does not matter."""
MIGRATION_SECONDS = 600.0
SILENT = (
    "PostgreSQL has stopped answering, so the move was given up. Nothing was kept of the copy. "
    "See that the server runs, then start the move again."
)


@asynccontextmanager
async def source(url: str) -> AsyncGenerator["PostgresqlSource"]:
    async with (
        _connected(url) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        place = PostgresqlSource(connection)
        await place.check()
        yield place


@asynccontextmanager
async def target(url: str) -> AsyncGenerator["PostgresqlTarget"]:
    async with _connected(url) as connection:
        await _check_empty(connection)  # before it is migrated: it may be somebody's, of an older version
    await _migrate(url)
    async with _connected(url) as connection:
        moving = connection.transaction()
        await moving.start()
        try:
            await _check_empty(connection)
            yield PostgresqlTarget(connection, moving)
        except BaseException:
            with suppress(asyncpg.InterfaceError):  # the server is gone, and with it what it was told
                await moving.rollback()
            raise


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[Any]:
    try:
        connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS)
    except (asyncpg.PostgresError, OSError, TimeoutError, ValueError) as error:
        raise CannotStart(f"PostgreSQL cannot be reached: {error or 'it does not answer'}.") from error
    pulse = _pulse(url)
    pulse.in_use[connection] = time.monotonic()  # terminated once the server is silent
    try:
        yield connection
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        if pulse.silent:
            raise CannotStart(SILENT) from error
        raise CannotStart(f"PostgreSQL refused: {error}. Nothing was kept of the copy.") from error
    finally:
        await pulse.stop()
        await _close(connection)


def _pulse(url: str) -> Pulse:
    async def connect() -> Any:
        return await asyncpg.connect(url, timeout=CONNECT_SECONDS)

    return Pulse(connect, silence=SILENCE_SECONDS, longest_wait=MIGRATION_SECONDS)


async def _migrate(url: str) -> None:
    """In a process of its own, which can be killed while the server does not answer."""
    pulse = _pulse(url)
    try:
        async with pulse.patience():
            await migrations.migrate_apart(url)
    except TimeoutError as error:
        raise CannotStart(SILENT) from error
    finally:
        await pulse.stop()


async def _close(connection: Any) -> None:
    """A server that is gone, or stands still, does not hear the goodbye."""
    try:
        await connection.close(timeout=CONNECT_SECONDS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        connection.terminate()


async def _check_empty(connection: Any) -> None:
    found = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    there = {name for (name,) in found}
    for table in moved_tables():
        if table.name not in there:
            continue
        if await connection.fetchval(f'SELECT EXISTS (SELECT 1 FROM "{table.name}")'):  # noqa: S608  ours
            raise CannotStart(
                f"The database to move into is not empty: {table.name} has rows. Make a new one for it."
            )


class PostgresqlSource:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def check(self) -> None:
        try:
            async with self._connection.transaction():
                version = await self._connection.fetchval("SELECT version_num FROM alembic_version")
        except asyncpg.UndefinedTableError:
            version = None
        check_version(version, "this address")
        query = "SELECT holder FROM leases WHERE expires_at > $1"
        holder = await self._connection.fetchval(query, int(time.time() * SECOND))
        if holder:
            refuse_running(holder)

    async def count(self, table: Table) -> int:
        return await _count(self._connection, table)

    async def rows(self, table: Table) -> AsyncGenerator[Rows]:
        some: Rows = []
        query = f'SELECT {quoted(table)} FROM "{table.name}"'  # noqa: S608  names of our own
        async for row in self._connection.cursor(query, prefetch=AT_ONCE):
            some.append(tuple(row))
            if len(some) == AT_ONCE:
                yield some
                some = []
        if some:
            yield some

    async def last_ids(self) -> Mapping[Table, int]:
        return {table: await self._last_id(table) for table in numbered_tables()}

    async def _last_id(self, table: Table) -> int:
        sequence = await _sequence(self._connection, table)
        query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"  # noqa: S608  ours
        return await self._connection.fetchval(query)


class PostgresqlTarget:
    def __init__(self, connection: Any, moving: Any) -> None:
        self._connection = connection
        self._moving = moving

    async def take(self, table: Table, rows: AsyncIterable[Rows]) -> None:
        """One COPY for all of a table, so that its rows may refer to each other in any order."""
        try:
            await self._connection.copy_records_to_table(
                table.name, records=_each(table, rows), columns=names(table)
            )
        except (TypeError, ValueError, OverflowError) as error:  # SQLite keeps anything in any column
            raise CannotStart(
                f"A row of {table.name} does not fit: {error}. Nothing was kept of the copy."
            ) from error

    async def count(self, table: Table) -> int:
        return await _count(self._connection, table)

    async def go_on_from(self, table: Table, last_id: int) -> None:
        sequence = await _sequence(self._connection, table)
        await self._connection.execute("SELECT setval($1, $2, $3)", sequence, max(last_id, 1), last_id > 0)

    async def keep(self) -> None:
        await self._moving.commit()


async def _each(table: Table, rows: AsyncIterable[Rows]) -> AsyncGenerator[tuple[Any, ...]]:
    fit = [_fitting(column.type) for column in table.columns]
    async for some in rows:
        for row in some:
            yield tuple(make(value) for make, value in zip(fit, row, strict=True))


def _fitting(kind: Any) -> Callable[[Any], Any]:
    """SQLite keeps truth as numbers, and NUL in texts, which PostgreSQL does not take."""
    if isinstance(kind, Boolean):
        return lambda value: None if value is None else bool(value)
    if isinstance(kind, Text):
        return lambda value: value.replace("\0", "") if isinstance(value, str) else value
    return lambda value: value


async def _count(connection: Any, table: Table) -> int:
    return await connection.fetchval(f'SELECT count(*) FROM "{table.name}"')  # noqa: S608  a name of our own


async def _sequence(connection: Any, table: Table) -> str:
    return await connection.fetchval("SELECT pg_get_serial_sequence($1, 'id')", table.name)
