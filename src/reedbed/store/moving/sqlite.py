"""SQLite as an end of a move. A new file is written beside its name and takes it when it is whole."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Table

from reedbed.domain.errors import CannotStart
from reedbed.domain.times import SECOND
from reedbed.store import migrations
from reedbed.store.moving.places import (
    AT_ONCE,
    Rows,
    check_version,
    moved_tables,
    numbered_tables,
    quoted,
    refuse_running,
)
from reedbed.store.opening import read_only, sqlite_path


@asynccontextmanager
async def source(url: str) -> AsyncGenerator["SqliteSource"]:
    path = sqlite_path(url)
    connection = _open(path)
    try:
        connection.execute("BEGIN")
        place = SqliteSource(connection, path)
        place.check()
        yield place
    except sqlite3.Error as error:
        raise CannotStart(f"{path} cannot be read: {error}.") from error
    finally:
        connection.close()


@asynccontextmanager
async def target(url: str) -> AsyncGenerator["SqliteTarget"]:
    path = Path(sqlite_path(url))
    unfinished = _make_room(path)
    try:
        await migrations.migrate(f"sqlite:///{unfinished}")
        connection = sqlite3.connect(unfinished, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA foreign_keys = OFF")  # looked at once, at the end
            connection.execute("BEGIN")
            for table in moved_tables():
                connection.execute(f'DELETE FROM "{table.name}"')  # noqa: S608  a name of our own
            yield SqliteTarget(connection)
        finally:
            connection.close()
        unfinished.replace(path)
    except sqlite3.Error as error:
        raise CannotStart(
            f"The copy cannot be written to {path}: {error}. Nothing was kept of it."
        ) from error
    finally:
        _drop(unfinished)


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
        holder = self._connection.execute("SELECT holder FROM leases WHERE expires_at > ?", (now,)).fetchone()
        if holder:
            refuse_running(holder[0])

    async def count(self, table: Table) -> int:
        return _count(self._connection, table)

    async def rows(self, table: Table) -> AsyncGenerator[Rows]:
        cursor = self._connection.execute(f'SELECT {quoted(table)} FROM "{table.name}"')  # noqa: S608  ours
        while some := await asyncio.to_thread(cursor.fetchmany, AT_ONCE):
            yield some

    async def last_ids(self) -> Mapping[Table, int]:
        given = dict(self._connection.execute("SELECT name, seq FROM sqlite_sequence"))
        return {table: max(given.get(table.name, 0), self._largest(table)) for table in numbered_tables()}

    def _largest(self, table: Table) -> int:
        query = f'SELECT coalesce(max(id), 0) FROM "{table.name}"'  # noqa: S608  a name of our own
        return self._connection.execute(query).fetchone()[0]


class SqliteTarget:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def take(self, table: Table, rows: AsyncIterable[Rows]) -> None:
        marks = ", ".join("?" * len(table.columns))
        insert = f'INSERT INTO "{table.name}" ({quoted(table)}) VALUES ({marks})'  # noqa: S608  ours
        async for some in rows:
            await asyncio.to_thread(self._write, insert, some)

    async def count(self, table: Table) -> int:
        return _count(self._connection, table)

    def _write(self, insert: str, some: Rows) -> None:
        # Closed here: a cursor that is let go of later, in another thread, resets the statement under way.
        self._connection.executemany(insert, some).close()

    async def go_on_from(self, table: Table, last_id: int) -> None:
        if table.dialect_options["sqlite"]["autoincrement"]:
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
            self._connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table.name, last_id))

    async def keep(self) -> None:
        lost = self._connection.execute("PRAGMA foreign_key_check").fetchone()
        if lost is not None:
            raise CannotStart(
                f"A row of {lost[0]} refers to one of {lost[2]} that is not there. Nothing was kept."
            )
        self._connection.execute("COMMIT")


def _count(connection: sqlite3.Connection, table: Table) -> int:
    query = f'SELECT count(*) FROM "{table.name}"'  # noqa: S608  a name of our own
    return connection.execute(query).fetchone()[0]


def _open(path: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(read_only(path), uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise CannotStart(f"There is no database at {path}.") from error


def _make_room(path: Path) -> Path:
    """An empty file beside the one to be written."""
    if path.exists() and path.stat().st_size:
        raise CannotStart(f"There is a file at {path} already. Name one that does not exist yet.")
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _drop(unfinished)
        unfinished.touch(mode=0o600)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written: {error.strerror}.") from error
    return unfinished


def _drop(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
