"""Copies a whole database to another one, between SQLite and PostgreSQL in either direction.

The target must be empty and the source must not be in use. A copy that fails leaves nothing behind: on
PostgreSQL it is one transaction, on SQLite a temporary file that is renamed when it is complete.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Boolean, Table, Text

from reedbed.domain.errors import CannotStart
from reedbed.domain.records import record
from reedbed.domain.times import SECOND
from reedbed.store import migrations
from reedbed.store.engine.connect import read_only, sqlite_path
from reedbed.store.engine.postgresql import ConnectionProbe, asyncpg
from reedbed.store.jobs import SILENT_FOR
from reedbed.store.tables import app_settings, host_turns, leases, metadata, processes, word_forms

BATCH_SIZE = 1_000
"""Rows per batch in memory."""

Rows = list[tuple[Any, ...]]

_NOT_COPIED = {host_turns.name, leases.name, processes.name, word_forms.name}
"""Tables that only concern running processes, or are made anew with the search index."""

SET_BY_MIGRATIONS = ("categories_below", "word_forms_below")
"""Settings that a migration writes into a new database. The copy replaces them."""


class SourceDatabase(Protocol):
    """A database with the current schema that no process is using."""

    async def count(self, table: Table) -> int: ...

    def rows(self, table: Table) -> AsyncGenerator[Rows]: ...

    async def last_ids(self) -> Mapping[Table, int]:
        """The last id that each table assigned, even if its row was deleted: ids are never reused."""
        ...


class TargetDatabase(Protocol):
    async def take(self, table: Table, rows: AsyncIterable[Rows]) -> None: ...

    async def count(self, table: Table) -> int: ...

    async def go_on_from(self, table: Table, last_id: int) -> None: ...

    async def keep(self) -> None:
        """Commit: all rows have arrived."""
        ...


def tables_to_copy() -> list[Table]:
    """All tables to copy, ordered so that referenced rows come first."""
    return [table for table in metadata.sorted_tables if table.name not in _NOT_COPIED]


def numbered_tables() -> list[Table]:
    """The tables that assign ids themselves."""
    return [table for table in tables_to_copy() if any(column.autoincrement is True for column in table.columns)]


def names(table: Table) -> Sequence[str]:
    return [column.name for column in table.columns]


def quoted(table: Table) -> str:
    return ", ".join(f'"{name}"' for name in names(table))


def check_version(version: str | None, url: str) -> None:
    if version != migrations.newest():
        raise CannotStart(
            f"The database at {url} has schema {version or 'none'} and this program needs "
            f"{migrations.newest()}. Run 'reedbed admin db migrate' on it first."
        )


def refuse_running(name: str) -> None:
    raise CannotStart(
        f"{name} still works on this database. Stop Reedbed first: what it writes now would not be moved."
    )


__all__ = ["Moved", "Tell", "copy_everything"]

Tell = Callable[[str, int, int], None]
"""Called for progress: table, rows of the batch just copied, total number of rows."""


@record
class Moved:
    rows: int
    tables: int


async def copy_everything(source_url: str, target_url: str, tell: Tell) -> Moved:
    async with _source(source_url) as source, _target(target_url) as target:
        counts = {table: await source.count(table) for table in tables_to_copy()}
        total = sum(counts.values())
        for table in counts:
            await target.take(table, _with_progress(source, table, total, tell))
        await _compare(target, counts)
        for table, last in (await source.last_ids()).items():
            await target.go_on_from(table, last)
        await target.keep()
    return Moved(total, len(counts))


async def _with_progress(
    source: SourceDatabase, table: Table, total: int, tell: Tell
) -> AsyncGenerator[list[tuple[object, ...]]]:
    async for batch in source.rows(table):
        yield batch
        tell(table.name, len(batch), total)


async def _compare(target: TargetDatabase, counts: dict[Table, int]) -> None:
    for table, expected in counts.items():
        copied = await target.count(table)
        if copied != expected:
            raise CannotStart(f"{table.name} has {expected} rows and {copied} arrived. Nothing was kept of the copy.")


def _source(url: str) -> AbstractAsyncContextManager[SourceDatabase]:
    return sqlite_source(url) if url.startswith("sqlite:") else postgresql_source(url)


@asynccontextmanager
async def _target(url: str) -> AsyncGenerator[TargetDatabase]:
    opening = sqlite_target(url) if url.startswith("sqlite:") else postgresql_target(url)
    async with opening as target:
        yield target


# --- PostgreSQL

CONNECT_SECONDS = 10
SILENCE_SECONDS = 10.0
"""Give up if the server does not respond to a probe for this long; statements may take any time."""
MIGRATION_SECONDS = 600.0
SILENT = (
    "PostgreSQL has stopped answering, so the move was given up. Nothing was kept of the copy. "
    "See that the server runs, then start the move again."
)


@asynccontextmanager
async def postgresql_source(url: str) -> AsyncGenerator["PostgresqlSource"]:
    async with _connected(url) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        source = PostgresqlSource(connection)
        await source.check()
        yield source


@asynccontextmanager
async def postgresql_target(url: str) -> AsyncGenerator["PostgresqlTarget"]:
    async with _connected(url) as connection:
        await _check_empty(connection)  # before the migration: it may be in use, with an older schema
    await _migrate(url)
    async with _connected(url) as connection:
        moving = connection.transaction()
        await moving.start()
        try:
            await _check_empty(connection)
            await connection.execute(f"DELETE FROM {app_settings.name}")  # noqa: S608  a name of our own
            yield PostgresqlTarget(connection, moving)
        except BaseException:
            with suppress(asyncpg.InterfaceError):  # the server is gone, and the transaction with it
                await moving.rollback()
            raise


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[Any]:
    try:
        connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS)
    except (asyncpg.PostgresError, OSError, TimeoutError, ValueError) as error:
        raise CannotStart(f"PostgreSQL cannot be reached: {error or 'it does not answer'}.") from error
    probe = _start_probe(url)
    probe.in_use[connection] = time.monotonic()  # so that the probe closes it when the server is silent
    try:
        yield connection
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        if probe.silent:
            raise CannotStart(SILENT) from error
        raise CannotStart(f"PostgreSQL refused: {error}. Nothing was kept of the copy.") from error
    finally:
        await probe.stop()
        await _close(connection)


def _start_probe(url: str) -> ConnectionProbe:
    async def connect() -> Any:
        return await asyncpg.connect(url, timeout=CONNECT_SECONDS)

    return ConnectionProbe(connect, silence=SILENCE_SECONDS, longest_wait=MIGRATION_SECONDS)


async def _migrate(url: str) -> None:
    """Run the migration in a child process, which can be killed while the server does not respond."""
    probe = _start_probe(url)
    try:
        async with probe.patience():
            await migrations.migrate_apart(url)
    except TimeoutError as error:
        raise CannotStart(SILENT) from error
    finally:
        await probe.stop()


async def _close(connection: Any) -> None:
    """Close without waiting for a server that is gone or does not respond."""
    try:
        await connection.close(timeout=CONNECT_SECONDS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        connection.terminate()


async def _check_empty(connection: Any) -> None:
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    existing = {name for (name,) in rows}
    for table in tables_to_copy():
        if table.name not in existing:
            continue
        others = f" WHERE key NOT IN {SET_BY_MIGRATIONS}" if table is app_settings else ""
        if await connection.fetchval(f'SELECT EXISTS (SELECT 1 FROM "{table.name}"{others})'):  # noqa: S608  ours
            raise CannotStart(f"The database to move into is not empty: {table.name} has rows. Make a new one for it.")


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
        query = (
            "SELECT name FROM processes"
            " WHERE abs(heartbeat_at - (extract(epoch FROM clock_timestamp()) * 1000)::bigint) < $1"
            " UNION ALL SELECT holder FROM leases WHERE expires_at > $2 LIMIT 1"
        )
        holder = await self._connection.fetchval(query, SILENT_FOR, int(time.time() * SECOND))
        if holder:
            refuse_running(holder)

    async def count(self, table: Table) -> int:
        return await _count(self._connection, table)

    async def rows(self, table: Table) -> AsyncGenerator[Rows]:
        batch: Rows = []
        query = f'SELECT {quoted(table)} FROM "{table.name}"'  # noqa: S608  names of our own
        async for row in self._connection.cursor(query, prefetch=BATCH_SIZE):
            batch.append(tuple(row))
            if len(batch) == BATCH_SIZE:
                yield batch
                batch = []
        if batch:
            yield batch

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
        """One COPY for the whole table, so that its rows may refer to each other in any order."""
        try:
            await self._connection.copy_records_to_table(
                table.name, records=_converted(table, rows), columns=names(table)
            )
        except (TypeError, ValueError, OverflowError) as error:  # SQLite stores any type in any column
            raise CannotStart(f"A row of {table.name} does not fit: {error}. Nothing was kept of the copy.") from error

    async def count(self, table: Table) -> int:
        return await _count(self._connection, table)

    async def go_on_from(self, table: Table, last_id: int) -> None:
        sequence = await _sequence(self._connection, table)
        await self._connection.execute("SELECT setval($1, $2, $3)", sequence, max(last_id, 1), last_id > 0)

    async def keep(self) -> None:
        await self._moving.commit()


async def _converted(table: Table, rows: AsyncIterable[Rows]) -> AsyncGenerator[tuple[Any, ...]]:
    converters = [_converter(column.type) for column in table.columns]
    async for batch in rows:
        for row in batch:
            yield tuple(convert(value) for convert, value in zip(converters, row, strict=True))


def _converter(kind: Any) -> Callable[[Any], Any]:
    """SQLite stores booleans as numbers, and texts with NUL, which PostgreSQL rejects."""
    if isinstance(kind, Boolean):
        return lambda value: None if value is None else bool(value)
    if isinstance(kind, Text):
        return lambda value: value.replace("\0", "") if isinstance(value, str) else value
    return lambda value: value


async def _count(connection: Any, table: Table) -> int:
    return await connection.fetchval(f'SELECT count(*) FROM "{table.name}"')  # noqa: S608  a name of our own


async def _sequence(connection: Any, table: Table) -> str:
    return await connection.fetchval("SELECT pg_get_serial_sequence($1, 'id')", table.name)


# --- SQLite


@asynccontextmanager
async def sqlite_source(url: str) -> AsyncGenerator["SqliteSource"]:
    path = sqlite_path(url)
    connection = _open(path)
    try:
        connection.execute("BEGIN")
        source = SqliteSource(connection, path)
        source.check()
        yield source
    except sqlite3.Error as error:
        raise CannotStart(f"{path} cannot be read: {error}.") from error
    finally:
        connection.close()


@asynccontextmanager
async def sqlite_target(url: str) -> AsyncGenerator["SqliteTarget"]:
    path = Path(sqlite_path(url))
    unfinished = _create_unfinished(path)
    try:
        await migrations.migrate(f"sqlite:///{unfinished}")
        connection = sqlite3.connect(unfinished, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA foreign_keys = OFF")  # checked once, at the end
            connection.execute("BEGIN")
            for table in tables_to_copy():
                connection.execute(f'DELETE FROM "{table.name}"')  # noqa: S608  a name of our own
            yield SqliteTarget(connection)
        finally:
            connection.close()
        unfinished.replace(path)
    except sqlite3.Error as error:
        raise CannotStart(f"The copy cannot be written to {path}: {error}. Nothing was kept of it.") from error
    finally:
        _delete(unfinished)


class SqliteSource:
    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path

    def check(self) -> None:
        try:
            row = self._connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError:
            row = None
        check_version(row[0] if row else None, self._path)
        now = int(time.time() * SECOND)
        query = (
            "SELECT name FROM processes WHERE abs(heartbeat_at - ?) < ?"
            " UNION ALL SELECT holder FROM leases WHERE expires_at > ? LIMIT 1"
        )
        holder = self._connection.execute(query, (now, SILENT_FOR, now)).fetchone()
        if holder:
            refuse_running(holder[0])

    async def count(self, table: Table) -> int:
        return _count_sqlite_rows(self._connection, table)

    async def rows(self, table: Table) -> AsyncGenerator[Rows]:
        cursor = self._connection.execute(f'SELECT {quoted(table)} FROM "{table.name}"')  # noqa: S608  ours
        while batch := await asyncio.to_thread(cursor.fetchmany, BATCH_SIZE):
            yield batch

    async def last_ids(self) -> Mapping[Table, int]:
        sequences = dict(self._connection.execute("SELECT name, seq FROM sqlite_sequence"))
        return {table: max(sequences.get(table.name, 0), self._largest(table)) for table in numbered_tables()}

    def _largest(self, table: Table) -> int:
        query = f'SELECT coalesce(max(id), 0) FROM "{table.name}"'  # noqa: S608  a name of our own
        return self._connection.execute(query).fetchone()[0]


class SqliteTarget:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def take(self, table: Table, rows: AsyncIterable[Rows]) -> None:
        placeholders = ", ".join("?" * len(table.columns))
        insert = f'INSERT INTO "{table.name}" ({quoted(table)}) VALUES ({placeholders})'  # noqa: S608  ours
        async for batch in rows:
            await asyncio.to_thread(self._write, insert, batch)

    async def count(self, table: Table) -> int:
        return _count_sqlite_rows(self._connection, table)

    def _write(self, insert: str, batch: Rows) -> None:
        # Close the cursor here: if another thread releases it later, that resets the running statement.
        self._connection.executemany(insert, batch).close()

    async def go_on_from(self, table: Table, last_id: int) -> None:
        if table.dialect_options["sqlite"]["autoincrement"]:
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
            self._connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table.name, last_id))

    async def keep(self) -> None:
        lost = self._connection.execute("PRAGMA foreign_key_check").fetchone()
        if lost is not None:
            raise CannotStart(f"A row of {lost[0]} refers to one of {lost[2]} that is not there. Nothing was kept.")
        self._connection.execute("COMMIT")


def _count_sqlite_rows(connection: sqlite3.Connection, table: Table) -> int:
    query = f'SELECT count(*) FROM "{table.name}"'  # noqa: S608  a name of our own
    return connection.execute(query).fetchone()[0]


def _open(path: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(read_only(path), uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise CannotStart(f"There is no database at {path}.") from error


def _create_unfinished(path: Path) -> Path:
    """Create the empty temporary file beside the target."""
    if path.exists() and path.stat().st_size:
        raise CannotStart(f"There is a file at {path} already. Name one that does not exist yet.")
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _delete(unfinished)
        unfinished.touch(mode=0o600)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written: {error.strerror}.") from error
    return unfinished


def _delete(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
