"""SQLite: one writer thread and a few reader threads, each with its own connection.

Statements run in the thread of their connection, so a slow query never blocks the event loop. Writes use
BEGIN IMMEDIATE: with a deferred BEGIN, concurrent read-then-write transactions fail with "database is
locked". A separate thread runs the WAL checkpoints, so that commits do not have to.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import orjson

from reedbed.domain.errors import CannotStart, Unavailable
from reedbed.store.engine.database import NOTHING, PoolUse, Tx, count_statement
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import SQLITE, Params, Query, Statement


def vacuum_sqlite(path: Path) -> int:
    """VACUUM the file; returns the bytes saved. Reedbed may be running: its writes wait meanwhile."""
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
R = TypeVar("R")

READERS = 4
BUSY_TIMEOUT_MS = 5_000
LOCKED = "The database is busy with another program. Try again in a moment."

CHECKPOINT_AFTER_ROWS = 4_000
"""Changed rows since the last checkpoint, as an estimate of the WAL's size: its pages are not counted."""
LONG_WAL_PAGES, MAX_WAL_PAGES = 8_000, 32_000
"""WAL pages. The WAL restarts only after a complete checkpoint, which never happens while writers do not
pause. So above LONG_LOG they pause for one. At MAX_LOG_LENGTH a commit runs it, as a last resort."""


def _json(values: list[object]) -> str:
    """Adapt list parameters to JSON text, which `among` expects on SQLite."""
    return orjson.dumps(values).decode()


sqlite3.register_adapter(list, _json)


def connect(path: str, *, readonly: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=512, timeout=BUSY_TIMEOUT_MS / 1000
    )
    for pragma in (
        "journal_mode = WAL",
        "synchronous = NORMAL",
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "foreign_keys = ON",
        "temp_store = MEMORY",
        # Kilobytes. The system caches the file for all readers together; the writer goes over its pages many times.
        f"cache_size = {-2000 if readonly else -8000}",
        "journal_size_limit = 67108864",
    ):
        connection.execute(f"PRAGMA {pragma}")
    if readonly:
        connection.execute("PRAGMA query_only = ON")
    return connection


class ConnectionThread:
    """A connection with a thread of its own, which runs jobs in the order they arrive."""

    def __init__(self, path: str, name: str, *, readonly: bool = False) -> None:
        self.connection = connect(path, readonly=readonly)
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[sqlite3.Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                result = job(self.connection)
            except Exception as error:
                loop.call_soon_threadsafe(_set_exception, future, error)
            else:
                loop.call_soon_threadsafe(_set_result, future, result)

        self._jobs.put(work)
        return await future

    def do_later(self, job: Callable[[sqlite3.Connection], None]) -> None:
        """Queue a job without waiting for it."""
        self._jobs.put(lambda: job(self.connection))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self.connection.close()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _set_result(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():
        future.set_result(result)


def _set_exception(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


class SqliteTx:
    engine = "sqlite"

    def __init__(self, thread: ConnectionThread, begin: str, vault: Vault) -> None:
        self.vault = vault
        self._thread = thread
        self._begin = begin
        self._started = False

    async def all(self, query: Query[R], params: Params = NOTHING) -> list[R]:
        rows = await self._do(query, params, lambda cursor: cursor.fetchall())
        return [query.into(*row) for row in rows]

    async def one(self, query: Query[R], params: Params = NOTHING) -> R | None:
        # Fetch all rows, so that SQLite finishes and releases a statement that both writes and returns rows.
        rows = await self._do(query, params, lambda cursor: cursor.fetchall())
        return query.into(*rows[0]) if rows else None

    async def get(self, query: Query[R], params: Params = NOTHING) -> R:
        rows = await self._do(query, params, lambda cursor: cursor.fetchall())
        return query.into(*rows[0])

    async def run(self, statement: Statement, params: Params = NOTHING) -> int:
        return await self._do(statement, params, _row_count)

    async def run_many(self, statement: Statement, rows: Sequence[Params]) -> None:
        # Not `executemany`: since Python 3.12 it fails with SQLITE_MISUSE on a statement that returns rows.
        await self._do_each(statement, rows)

    async def each(self, query: Query[R], rows: Sequence[Params]) -> list[R]:
        return [query.into(*row) for row in await self._do_each(query, rows)]

    async def _do_each(self, statement: Statement, rows: Sequence[Params]) -> list[tuple[Any, ...]]:
        if not rows:
            return []
        compiled = statement.on(SQLITE)
        arguments = [compiled.arguments(row) for row in rows]

        def job(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            cursor = connection.cursor()
            return [row for values in arguments for row in cursor.execute(compiled.sql, values)]

        return await self._job(job)

    async def _do(self, statement: Statement, params: Params, fetch: Callable[[sqlite3.Cursor], T]) -> T:
        compiled = statement.on(SQLITE)
        arguments = compiled.arguments(params)
        return await self._job(lambda connection: fetch(connection.execute(compiled.sql, arguments)))

    async def _job(self, job: Callable[[sqlite3.Connection], T]) -> T:
        count_statement()
        if self._started:
            return await self._guarded(job)
        self._started = True

        def begin_first(connection: sqlite3.Connection) -> T:
            connection.execute(self._begin)
            return job(connection)

        return await self._guarded(begin_first)

    async def _guarded(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with _explained():
            return await self._thread.do(job)

    async def commit(self) -> None:
        if self._started:
            await self._guarded(lambda connection: connection.execute("COMMIT"))

    def abandon(self) -> None:
        if self._started:
            self._thread.do_later(_rollback)


class _InThreadTx(SqliteTx):
    """A transaction that runs in the thread of its connection, without switching to the event loop."""

    async def _guarded(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with _explained():
            return job(self._thread.connection)


class SqliteDatabase:
    engine = "sqlite"

    def __init__(self, path: str, vault: Vault) -> None:
        self.path = path
        self._vault = vault
        self._writer = ConnectionThread(path, "sqlite-writer")
        self._writer.connection.execute(f"PRAGMA wal_autocheckpoint = {MAX_WAL_PAGES}")
        self._writing = asyncio.Lock()
        self._locked_at = 0.0
        self._checkpoints = ConnectionThread(path, "sqlite-checkpoints")
        self._checkpointed_changes = 0
        self._checkpoint_task: asyncio.Task[None] | None = None
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
        async with self._write_slot():
            tx = SqliteTx(self._writer, "BEGIN IMMEDIATE", self._vault)
            try:
                yield tx
                await tx.commit()
            except BaseException:
                tx.abandon()
                raise
            self._checkpoint_soon()

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Run all of `work` in the writer's thread: a busy event loop cannot delay it between statements."""
        async with self._write_slot():
            result = await self._writer.do(lambda _: _run_to_end(_run_transaction(work, self._writer, self._vault)))
            self._checkpoint_soon()
            return result

    @asynccontextmanager
    async def _write_slot(self) -> AsyncGenerator[None]:
        """Wait for the writer. A write queued behind one that found the file locked fails at once,
        instead of waiting for the same lock again."""
        queued_at = time.monotonic()
        async with self._writing:
            if self._locked_at > queued_at + BUSY_TIMEOUT_MS / 1000 / 2:
                raise Unavailable(LOCKED)
            try:
                yield
            except Unavailable as error:
                if error.message == LOCKED:
                    self._locked_at = time.monotonic()
                raise

    def _checkpoint_soon(self) -> None:
        """Start a checkpoint in the background when the WAL has grown enough.

        A checkpoint syncs the disk, which takes a tenth of a second now and then. SQLite itself would run it
        in the commit that reaches the limit, and all writers would wait.
        """
        changes = self._writer.connection.total_changes
        if changes - self._checkpointed_changes >= CHECKPOINT_AFTER_ROWS and (
            self._checkpoint_task is None or self._checkpoint_task.done()
        ):
            self._checkpointed_changes = changes
            self._checkpoint_task = asyncio.create_task(self._run_checkpoint())

    async def _run_checkpoint(self) -> None:
        if await self._checkpoints.do(_checkpoint) > LONG_WAL_PAGES:
            async with self._writing:  # little was added meanwhile, so this is short
                await self._checkpoints.do(_checkpoint)

    async def vacuum(self) -> None:
        """Writes of this process wait meanwhile. If it fails, the file is unchanged."""
        async with self._writing:
            await asyncio.to_thread(vacuum_sqlite, Path(self.path))

    async def analyze_after(self, new_rows: int) -> bool:
        """Nothing to do: we keep no statistics on SQLite, and tests check the plans without them."""
        return False

    def pool_use(self) -> PoolUse:
        reading = len(self._readers) - self._idle.qsize()
        return PoolUse(reading + self._writing.locked(), len(self._readers) + 1)

    async def close(self) -> None:
        if self._checkpoint_task is not None:
            await self._checkpoint_task
        for thread in (*self._readers, self._checkpoints, self._writer):
            await asyncio.to_thread(thread.close)


def open_sqlite(path: str, *, vault: Vault) -> SqliteDatabase:
    try:
        return SqliteDatabase(path, vault)
    except sqlite3.Error as error:
        raise Unavailable(
            "The database file %(path)s cannot be opened: %(error)s.", path=str(path), error=str(error)
        ) from error


def _row_count(cursor: sqlite3.Cursor) -> int:
    # With RETURNING, the count is 0 until all rows are fetched.
    cursor.fetchall()
    return cursor.rowcount


async def _run_transaction(work: Callable[[Tx], Awaitable[T]], writer: ConnectionThread, vault: Vault) -> T:
    tx = _InThreadTx(writer, "BEGIN IMMEDIATE", vault)
    try:
        result = await work(tx)
        await tx.commit()
    except BaseException:
        _rollback(writer.connection)
        raise
    return result


def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits only an `_InThreadTx`, and so never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a transaction at once may wait for nothing but its database")


def _checkpoint(connection: sqlite3.Connection) -> int:
    """Copy from the WAL what no reader needs there any more; returns the pages in the WAL."""
    try:
        _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error:  # if the disk is full, the next write reports it
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
        message = _explain(error)
        if message is None:
            raise
        raise Unavailable(message) from error


def _explain(error: sqlite3.OperationalError) -> str | None:
    """A message for failures of the disk or by another program; None for programming errors."""
    text = str(error)
    if "full" in text:
        return "The disk is full. Free some space; nothing that was saved is lost."
    if "locked" in text or "busy" in text:
        return LOCKED
    if "I/O" in text or "readonly" in text or "unable to open" in text:
        return f"The database file cannot be used just now ({text}). Check the disk and its permissions."
    return None
