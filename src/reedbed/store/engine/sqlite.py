"""SQLite: one writer thread, a few reader threads, each with its own connection.

Statements run in the thread of their connection, so a slow query never stops the event loop. Writes begin
IMMEDIATE: with a deferred BEGIN, concurrent read-then-write transactions fail with "database is locked".
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import orjson

from reedbed.domain.errors import CannotStart, Unavailable
from reedbed.store.engine.database import NOTHING, PoolUse, Row, Tx, note_statement
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import SQLITE, Params, Statement


def vacuum_sqlite(path: Path) -> int:
    """How many bytes the file became smaller. The program may run meanwhile; it waits for a moment."""
    before = path.stat().st_size
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        raise CannotStart(f"The file could not be rewritten: {error}. Nothing was changed.") from error
    finally:
        connection.close()
    return max(0, before - path.stat().st_size)


T = TypeVar("T")

READERS = 4
BUSY_TIMEOUT_MS = 5_000
LOCKED = "The database is busy with another program. Try again in a moment."

BROUGHT_OVER_AFTER = 4_000
"""Rows changed since the log was last brought over into the file; nobody counts its pages."""
LONG_LOG, MAX_LOG_LENGTH = 8_000, 32_000
"""Pages. The log begins anew only when all of it is in the file, which never happens beside writers that do
not pause; so they do when it is long. At its longest a commit brings it over, if nothing else could."""


def _json(values: list[object]) -> str:
    """Lists arrive as text, the form that `among` reads on SQLite."""
    return orjson.dumps(values).decode()


sqlite3.register_adapter(list, _json)


def connect(path: str, *, readonly: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
        timeout=BUSY_TIMEOUT_MS / 1000,
    )
    connection.row_factory = sqlite3.Row
    for pragma in (
        "journal_mode = WAL",
        "synchronous = NORMAL",
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "foreign_keys = ON",
        "temp_store = MEMORY",
        "cache_size = -8000",
        "journal_size_limit = 67108864",
    ):
        connection.execute(f"PRAGMA {pragma}")
    if readonly:
        connection.execute("PRAGMA query_only = ON")
    return connection


class ConnectionThread:
    """A connection that lives in a thread of its own and does jobs in the order they come."""

    def __init__(self, path: str, name: str, *, readonly: bool = False) -> None:
        self.connection = connect(path, readonly=readonly)
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[sqlite3.Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                result = job(self.connection)
            except Exception as error:
                loop.call_soon_threadsafe(_fail, answer, error)
            else:
                loop.call_soon_threadsafe(_answer, answer, result)

        self._jobs.put(work)
        return await answer

    def do_later(self, job: Callable[[sqlite3.Connection], None]) -> None:
        """Queue a job nobody waits for."""
        self._jobs.put(lambda: job(self.connection))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self.connection.close()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _answer(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


class SqliteTx:
    engine = "sqlite"

    def __init__(self, thread: ConnectionThread, begin: str, vault: Vault) -> None:
        self.vault = vault
        self._thread = thread
        self._begin = begin
        self._begun = False

    async def all(self, statement: Statement, params: Params = NOTHING) -> Sequence[Row]:
        return await self._do(statement, params, lambda cursor: cursor.fetchall())

    async def one(self, statement: Statement, params: Params = NOTHING) -> Row | None:
        return await self._do(statement, params, _first)

    async def value(self, statement: Statement, params: Params = NOTHING) -> Any:
        row = await self.one(statement, params)
        return None if row is None else row[0]

    async def run(self, statement: Statement, params: Params = NOTHING) -> int:
        return await self._do(statement, params, _touched)

    async def run_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        # Not `executemany`: since Python 3.12 it fails with SQLITE_MISUSE on a statement that returns rows.
        await self.each(statement, rows)

    async def each(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
        if not rows:
            return []
        compiled = statement.on(SQLITE)
        arguments = [compiled.arguments(row) for row in rows]

        def job(connection: sqlite3.Connection) -> list[Row]:
            cursor = connection.cursor()
            return [row for given in arguments for row in cursor.execute(compiled.sql, given)]

        return await self._job(job)

    async def _do(self, statement: Statement, params: Params, take: Callable[[sqlite3.Cursor], T]) -> T:
        compiled = statement.on(SQLITE)
        arguments = compiled.arguments(params)
        return await self._job(lambda connection: take(connection.execute(compiled.sql, arguments)))

    async def _job(self, job: Callable[[sqlite3.Connection], T]) -> T:
        note_statement()
        if self._begun:
            return await self._guarded(job)
        self._begun = True

        def begin_first(connection: sqlite3.Connection) -> T:
            connection.execute(self._begin)
            return job(connection)

        return await self._guarded(begin_first)

    async def _guarded(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with _explained():
            return await self._thread.do(job)

    async def commit(self) -> None:
        if self._begun:
            await self._guarded(lambda connection: connection.execute("COMMIT"))

    def abandon(self) -> None:
        if self._begun:
            self._thread.do_later(_rollback)


class _TxAtOnce(SqliteTx):
    """A transaction that runs where its connection lives: nothing in it has to wait for the event loop."""

    async def _guarded(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with _explained():
            return job(self._thread.connection)


class SqliteDatabase:
    engine = "sqlite"

    def __init__(self, path: str, vault: Vault) -> None:
        self.path = path
        self._vault = vault
        self._writer = ConnectionThread(path, "sqlite-writer")
        self._writer.connection.execute(f"PRAGMA wal_autocheckpoint = {MAX_LOG_LENGTH}")
        self._writing = asyncio.Lock()
        self._locked_at = 0.0
        self._checkpoints = ConnectionThread(path, "sqlite-checkpoints")
        self._brought_over = 0
        self._bringing: asyncio.Task[None] | None = None
        self._readers = [ConnectionThread(path, "sqlite-reader", readonly=True) for _ in range(READERS)]
        self._idle: asyncio.LifoQueue[ConnectionThread] = asyncio.LifoQueue()
        for reader in self._readers:
            self._idle.put_nowait(reader)

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[SqliteTx]:
        reader = await self._idle.get()
        tx = SqliteTx(reader, "BEGIN", self._vault)
        try:
            yield tx
        finally:
            tx.abandon()
            self._idle.put_nowait(reader)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[SqliteTx]:
        async with self._turn_to_write():
            tx = SqliteTx(self._writer, "BEGIN IMMEDIATE", self._vault)
            try:
                yield tx
                await tx.commit()
            except BaseException:
                tx.abandon()
                raise
            self._bring_over_soon()

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Between two statements the writer is not kept by a loop that is busy with something else."""
        async with self._turn_to_write():
            done = await self._writer.do(lambda _: _to_its_end(_whole(work, self._writer, self._vault)))
            self._bring_over_soon()
            return done

    @asynccontextmanager
    async def _turn_to_write(self) -> AsyncGenerator[None]:
        """Whoever waits behind a write that found the file locked does not wait for the lock once more."""
        asked = time.monotonic()
        async with self._writing:
            if self._locked_at > asked + BUSY_TIMEOUT_MS / 1000 / 2:
                raise Unavailable(LOCKED)
            try:
                yield
            except Unavailable as error:
                if error.message == LOCKED:
                    self._locked_at = time.monotonic()
                raise

    def _bring_over_soon(self) -> None:
        """Have the log brought over into the file when there is enough of it, while others read and write.

        It makes the disk write all of it, a tenth of a second now and then; SQLite lets the commit do it that
        comes upon a log that is long enough, and everybody waits.
        """
        changes = self._writer.connection.total_changes
        if changes - self._brought_over >= BROUGHT_OVER_AFTER and (
            self._bringing is None or self._bringing.done()
        ):
            self._brought_over = changes
            self._bringing = asyncio.create_task(self._bring_over())

    async def _bring_over(self) -> None:
        if await self._checkpoints.do(_checkpoint) > LONG_LOG:
            async with self._writing:  # what came meanwhile is little
                await self._checkpoints.do(_checkpoint)

    async def vacuum(self) -> None:
        """Writes of this process wait meanwhile; a file that cannot be rewritten stays as it is."""
        async with self._writing:
            await asyncio.to_thread(vacuum_sqlite, Path(self.path))

    async def analyze_after(self, new_rows: int) -> bool:
        """Plans on SQLite do not depend on statistics: there are none, and tests hold the plans to that."""
        return False

    def pool_use(self) -> PoolUse:
        reading = len(self._readers) - self._idle.qsize()
        return PoolUse(reading + self._writing.locked(), len(self._readers) + 1)

    async def close(self) -> None:
        if self._bringing is not None:
            await self._bringing
        for thread in (*self._readers, self._checkpoints, self._writer):
            await asyncio.to_thread(thread.close)


def open_sqlite(path: str, *, vault: Vault) -> SqliteDatabase:
    try:
        return SqliteDatabase(path, vault)
    except sqlite3.Error as error:
        raise Unavailable(f"The database file {path} cannot be opened: {error}.") from error


def _first(cursor: sqlite3.Cursor) -> Row | None:
    # Reading to the end lets SQLite finish and release a statement that both writes and returns.
    rows = cursor.fetchall()
    return rows[0] if rows else None


def _touched(cursor: sqlite3.Cursor) -> int:
    # With RETURNING, the count is 0 until all rows are fetched.
    cursor.fetchall()
    return cursor.rowcount


async def _whole(work: Callable[[Tx], Awaitable[T]], writer: ConnectionThread, vault: Vault) -> T:
    tx = _TxAtOnce(writer, "BEGIN IMMEDIATE", vault)
    try:
        done = await work(tx)
        await tx.commit()
    except BaseException:
        _rollback(writer.connection)
        raise
    return done


def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Run what awaits nothing but a `_TxAtOnce`, and so never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a transaction at once may wait for nothing but its database")


def _checkpoint(connection: sqlite3.Connection) -> int:
    """Bring over what nobody needs in the log any more; how many pages the log has."""
    try:
        _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error:  # a full disk is told to whoever writes
        return 0
    return pages


def _rollback(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        plain = _explain(error)
        if plain is None:
            raise
        raise Unavailable(plain) from error


def _explain(error: sqlite3.OperationalError) -> str | None:
    """Plain words for what the disk or another program did; None for what is our own mistake."""
    text = str(error)
    if "full" in text:
        return "The disk is full. Free some space; nothing that was saved is lost."
    if "locked" in text or "busy" in text:
        return LOCKED
    if "I/O" in text or "readonly" in text or "unable to open" in text:
        return f"The database file cannot be used just now ({text}). Check the disk and its permissions."
    return None
