"""PostgreSQL through asyncpg: a connection pool, transactions, and a probe that detects a silent server.

`ConnectionProbe` uses a connection of its own. When the server stops responding, it closes the connections in
use and fails new requests at once with `Unavailable`, instead of letting every request wait for a timeout.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import asyncpg as untyped_asyncpg  # pyright: ignore[reportMissingTypeStubs] - has none
import structlog
from sqlalchemy import Dialect, text
from sqlalchemy.dialects.postgresql.asyncpg import dialect

from reedbed.domain.errors import Unavailable
from reedbed.store.engine.database import NOTHING, PoolUse, Tx, count_statement
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import Command, Params, Query, Statement

asyncpg: Any = untyped_asyncpg

POSTGRESQL: Dialect = dialect()

LOCKED = "Another session keeps a table of the database locked. Try again in a moment."

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.OperatorInterventionError,  # shut down, crashed, starting, cancelled
    asyncpg.PostgresSystemError,  # I/O errors on the server
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InternalClientError,  # raised on a connection that the server is just closing
    OSError,
    TimeoutError,
)


@contextmanager
def explained() -> Generator[None]:
    """Turn failures of the server into `Unavailable`; programming errors pass through."""
    try:
        yield
    except asyncpg.DiskFullError as error:
        raise Unavailable("The disk of PostgreSQL is full. Nothing that was saved is lost.") from error
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(LOCKED) from error
    except _LOST as error:
        raise Unavailable("PostgreSQL does not answer. Try again in a moment.") from error
    except asyncpg.InterfaceError as error:
        # asyncpg uses this class both for "connection is closed" and for "wrong number of arguments".
        if "clos" in str(error) or "released" in str(error):
            raise Unavailable("The connection to PostgreSQL was lost. Try again in a moment.") from error
        raise


# --- Detecting a silent server

log = structlog.get_logger()

POLL_SECONDS = 0.25
SLOW_SECONDS = 0.75
"""Nearly all statements finish sooner; probe the server when one takes longer."""
PATIENCE_SECONDS = 2.0
STALL_SECONDS = 0.5
"""Extra time for the probe, in case our own event loop was blocked."""
MAX_WAIT_SECONDS = 30.0
"""For a connection while the server responds: on an overloaded machine a late response beats none."""

LOCKED_SECONDS = 2.0
"""If no connection is released for this long, all of them may be waiting for a lock."""
_WAITING_FOR_A_LOCK = "SELECT count(*) FROM unnest($1::int[]) AS pid WHERE pg_blocking_pids(pid) <> '{}'"


class ConnectionProbe:
    """Checks whether the server responds, and ends waits and connections when it does not."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        *,
        silence: float = PATIENCE_SECONDS,
        longest_wait: float = MAX_WAIT_SECONDS,
    ) -> None:
        self._connect = connect
        self._silence = silence
        self._longest_wait = longest_wait
        self._connection: Any = None
        self._task = asyncio.create_task(self._watch(), name="postgresql-pulse")
        self.in_use: dict[Any, float] = {}
        """Connections that are checked out, and since when."""
        self.silent = False
        self.locked = False
        """All connections wait for a lock, so none will be free soon."""
        self._waiting: dict[asyncio.Timeout, float] = {}
        """Tasks that wait for a connection, and since when."""

    @asynccontextmanager
    async def patience(self) -> AsyncGenerator[None]:
        """Raise `TimeoutError` when the block takes too long.

        It is raised at once when the server stops responding, or when all connections wait for a lock.
        """
        async with asyncio.timeout(self._longest_wait) as limit:
            self._waiting[limit] = time.monotonic()
            try:
                yield
            finally:
                del self._waiting[limit]

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._disconnect()

    async def _watch(self) -> None:
        # Connect early: a server that accepts no new connections may still respond on existing ones.
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            async with asyncio.timeout(self._silence):
                await self._query()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self.silent or self._is_anything_slow():
                await self._probe()

    def _is_anything_slow(self) -> bool:
        threshold = time.monotonic() - SLOW_SECONDS
        return any(since < threshold for since in (*self.in_use.values(), *self._waiting.values()))

    async def _probe(self) -> None:
        query = asyncio.create_task(self._query())
        for timeout in (self._silence, STALL_SECONDS):
            await asyncio.wait([query], timeout=timeout)
        if not query.done():
            query.cancel()
            self._disconnect()
            self._declare_silent()
        elif not query.cancelled() and query.exception() is not None:
            # The server responds with an error. Requests get the same error without waiting.
            self._disconnect()
            self.silent = False
        else:
            if self.silent:
                log.info("postgresql answers again")
            self.silent = False
            if self.locked:
                log.warning("all connections wait for a lock of another session", waiting=len(self._waiting))
                self._end_waits()

    async def _query(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        stuck = self._stuck()
        waiting = await self._connection.fetchval(_WAITING_FOR_A_LOCK, stuck)
        self.locked = bool(stuck) and waiting == len(stuck)

    def _stuck(self) -> list[int]:
        """Server pids of our connections, if a task waits for one and none was released for long."""
        threshold = time.monotonic() - LOCKED_SECONDS
        if not self._waiting or any(since > threshold for since in self.in_use.values()):
            return []
        return [connection.get_server_pid() for connection in self.in_use]

    def _declare_silent(self) -> None:
        if not self.silent:
            log.error("postgresql has fallen silent", in_flight=len(self.in_use), waiting=len(self._waiting))
        self.silent = True
        self._end_waits()
        for connection in list(self.in_use):
            with suppress(asyncpg.InterfaceError):  # released at this very moment
                connection.terminate()

    def _end_waits(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(now)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


# --- Transactions and the pool

T = TypeVar("T")
R = TypeVar("R")

CONNECT_TIMEOUT = 5
COMMAND_TIMEOUT = 60
LOCK_SECONDS = 6
"""Our own transactions hold locks briefly; a longer wait means that another program holds the lock."""
VACUUM_TIMEOUT = 3_600
CLOSE_TIMEOUT = 3
_ASYNC_COMMIT = Command(
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

    async def all(self, query: Query[R], params: Params = NOTHING) -> list[R]:
        count_statement()
        compiled = query.on(POSTGRESQL)
        rows = await self._connection.fetch(compiled.sql, *compiled.arguments(params))
        return [query.into(*row) for row in rows]

    async def one(self, query: Query[R], params: Params = NOTHING) -> R | None:
        count_statement()
        compiled = query.on(POSTGRESQL)
        row = await self._connection.fetchrow(compiled.sql, *compiled.arguments(params))
        return None if row is None else query.into(*row)

    async def get(self, query: Query[R], params: Params = NOTHING) -> R:
        count_statement()
        compiled = query.on(POSTGRESQL)
        row = await self._connection.fetchrow(compiled.sql, *compiled.arguments(params))
        return query.into(*row)

    async def run(self, statement: Statement, params: Params = NOTHING) -> int:
        count_statement()
        compiled = statement.on(POSTGRESQL)
        tag: str = await self._connection.execute(compiled.sql, *compiled.arguments(params))
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def run_many(self, statement: Statement, rows: Sequence[Params]) -> None:
        if not rows:
            return
        count_statement()
        compiled = statement.on(POSTGRESQL)
        await self._connection.executemany(compiled.sql, [compiled.arguments(row) for row in rows])

    async def each(self, query: Query[R], rows: Sequence[Params]) -> list[R]:
        if not rows:
            return []
        count_statement()
        compiled = query.on(POSTGRESQL)
        found = await self._connection.fetchmany(compiled.sql, [compiled.arguments(row) for row in rows])
        return [query.into(*row) for row in found]


_ANALYZED_ROWS = "SELECT min(reltuples) FROM pg_class WHERE oid IN ('entries'::regclass, 'unread'::regclass)"
"""Row counts from the last ANALYZE; -1 before the first one."""


class PostgresqlDatabase:
    engine = "postgresql"

    def __init__(self, pool: Any, probe: ConnectionProbe, vault: Vault) -> None:
        self._pool = pool
        self._vault = vault
        self._probe = probe

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

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Commit asynchronously and use generic plans.

        Without waiting for the disk, locks are released sooner: a sync takes a tenth of a second now and
        then. A power failure may lose the whole transaction, as if it had not run yet. Generic plans, because
        with the actual parameters (a hundred ids) PostgreSQL prefers to scan all unread rows instead of
        looking up each id, which takes ten times as long.
        """
        async with self.write() as tx:
            await tx.run(_ASYNC_COMMIT)
            return await work(tx)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Any]:
        if self._probe.silent:
            raise Unavailable("PostgreSQL stopped answering. Try again in a moment.")
        try:
            async with self._probe.patience():
                connection = await self._pool.acquire()
        except TimeoutError:
            if self._probe.locked:
                raise Unavailable(LOCKED) from None
            raise
        self._probe.in_use[connection] = time.monotonic()
        try:
            yield connection
        finally:
            del self._probe.in_use[connection]
            await self._pool.release(connection)

    async def vacuum(self) -> None:
        """Freed space is reused by new rows; only free pages at the end of a table go back to the disk."""
        with explained():
            # Not through `_connection`: a long VACUUM does not mean that the server is silent.
            async with self._pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
                await connection.execute("VACUUM (ANALYZE)", timeout=VACUUM_TIMEOUT)

    async def analyze_after(self, new_rows: int) -> bool:
        """Autoanalyze may run a minute later; until then marking 5,000 entries takes seconds."""
        with explained():
            async with self._pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
                rows = await connection.fetchval(_ANALYZED_ROWS)
                if new_rows * 2 < rows:
                    return False
                await connection.execute("ANALYZE", timeout=VACUUM_TIMEOUT)
        return True

    def pool_use(self) -> PoolUse:
        return PoolUse(len(self._probe.in_use), self._pool.get_max_size())

    async def close(self) -> None:
        await self._probe.stop()
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
            reset=_skip_reset,
            server_settings=settings,
        )
        if must_answer:
            await pool.fetchval("SELECT 1")
    return PostgresqlDatabase(pool, ConnectionProbe(connect), vault or Vault())


async def _skip_reset(connection: Any) -> None:
    """Skip asyncpg's reset round trip after each use: we never change the settings of a connection."""
