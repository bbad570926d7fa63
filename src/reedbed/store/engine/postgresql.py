"""A second PostgreSQL that follows the first: lists and searches are read there, everything else is not.

It lags behind by a moment. Whoever reads says that this does no harm, with `lagging`; a replica that does not
answer is left out until it does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import asyncpg as untyped_asyncpg  # pyright: ignore[reportMissingTypeStubs] - has none
import structlog
from sqlalchemy import text

from reedbed.domain.errors import Unavailable
from reedbed.store.engine.database import NOTHING, PoolUse, Row, Tx, note_statement
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import POSTGRESQL, Params, Statement

# pyright: ignore[reportMissingTypeStubs] - has none


asyncpg: Any = untyped_asyncpg

LOCKED = "Another session keeps a table of the database locked. Try again in a moment."

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.OperatorInterventionError,  # shut down, crashed, starting, cancelled
    asyncpg.PostgresSystemError,  # input and output errors on its side
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InternalClientError,  # the protocol's own, on a connection the server is just taking away
    OSError,
    TimeoutError,
)


@contextmanager
def explained() -> Generator[None]:
    """Faults become `Unavailable`; our own mistakes pass."""
    try:
        yield
    except asyncpg.DiskFullError as error:
        raise Unavailable("The disk of PostgreSQL is full. Nothing that was saved is lost.") from error
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(LOCKED) from error
    except _LOST as error:
        raise Unavailable("PostgreSQL does not answer. Try again in a moment.") from error
    except asyncpg.InterfaceError as error:
        # asyncpg says both "connection is closed" and "wrong number of arguments" with this class.
        if "clos" in str(error) or "released" in str(error):
            raise Unavailable("The connection to PostgreSQL was lost. Try again in a moment.") from error
        raise


log = structlog.get_logger()

LOOK_SECONDS = 0.25
MOMENT_SECONDS = 0.75
"""Nearly everything we ask is answered sooner."""
PATIENCE_SECONDS = 2.0
STALL_SECONDS = 0.5
"""A second chance, for when it was our own loop that stood still."""
MAX_WAIT_SECONDS = 30.0
"""For a connection, while the server lives: on a machine with too much to do a late answer beats none."""

LOCKED_SECONDS = 2.0
"""After so long without a connection given back, all of them may be waiting for a lock."""
_WAITING_FOR_A_LOCK = "SELECT count(*) FROM unnest($1::int[]) AS pid WHERE pg_blocking_pids(pid) <> '{}'"


class ConnectionProbe:
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
        """Connections on which something is in flight, and since when."""
        self.silent = False
        self.locked = False
        """Every connection waits for a lock, so nobody gets one soon."""
        self._waiting: dict[asyncio.Timeout, float] = {}
        """Who waits for a connection, and since when."""

    @asynccontextmanager
    async def patience(self) -> AsyncGenerator[None]:
        """A wait within ends with `TimeoutError` when it gets too long.

        It ends at once when the server falls silent, or when all connections wait for a lock.
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
        self._hang_up()

    async def _watch(self) -> None:
        # In time: a server that takes no new connections may still answer on the old ones.
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            async with asyncio.timeout(self._silence):
                await self._beat()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.silent or self._something_waits():
                await self._feel()

    def _something_waits(self) -> bool:
        before = time.monotonic() - MOMENT_SECONDS
        return any(since < before for since in (*self.in_use.values(), *self._waiting.values()))

    async def _feel(self) -> None:
        beat = asyncio.create_task(self._beat())
        for patience in (self._silence, STALL_SECONDS):
            await asyncio.wait([beat], timeout=patience)
        if not beat.done():
            beat.cancel()
            self._hang_up()
            self._fall_silent()
        elif not beat.cancelled() and beat.exception() is not None:
            # It answers, if only that it cannot: whoever asks is told the same without waiting.
            self._hang_up()
            self.silent = False
        else:
            if self.silent:
                log.info("postgresql answers again")
            self.silent = False
            if self.locked:
                log.warning("all connections wait for a lock of another session", waiting=len(self._waiting))
                self._end_waits()

    async def _beat(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        stuck = self._stuck()
        waiting = await self._connection.fetchval(_WAITING_FOR_A_LOCK, stuck)
        self.locked = bool(stuck) and waiting == len(stuck)

    def _stuck(self) -> list[int]:
        """Our sessions, if somebody waits for one of them and none has been given back for long."""
        before = time.monotonic() - LOCKED_SECONDS
        if not self._waiting or any(since > before for since in self.in_use.values()):
            return []
        return [connection.get_server_pid() for connection in self.in_use]

    def _fall_silent(self) -> None:
        if not self.silent:
            log.error("postgresql has fallen silent", in_flight=len(self.in_use), waiting=len(self._waiting))
        self.silent = True
        self._end_waits()
        for connection in list(self.in_use):
            with suppress(asyncpg.InterfaceError):  # given back in this very moment
                connection.terminate()

    def _end_waits(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(now)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


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

    async def run_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
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

    def __init__(self, pool: Any, pulse: ConnectionProbe, vault: Vault) -> None:
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

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
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
    return PostgresqlDatabase(pool, ConnectionProbe(connect), vault or Vault())


async def _keep_as_it_is(connection: Any) -> None:
    """We never change a connection's settings, so the reset round trip after each use buys nothing."""
