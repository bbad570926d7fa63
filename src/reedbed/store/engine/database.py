"""The interface to the database, the same for both engines: `read()` and `write()` open a transaction.

A `Tx` runs queries and commands; a query says what its rows become. Store functions take a `Tx`; services open
it, keep it short and never hold it across a network call.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from reedbed.domain.records import record
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import Params, Query, Statement

T = TypeVar("T")

NOTHING: Params = {}


class Tx(Protocol):
    @property
    def engine(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    @property
    def vault(self) -> Vault:
        """Encrypts and decrypts values that must not be stored as plain text."""
        ...

    async def all(self, query: Query[T], params: Params = NOTHING) -> list[T]: ...

    async def one(self, query: Query[T], params: Params = NOTHING) -> T | None:
        """The first row, or None."""
        ...

    async def get(self, query: Query[T], params: Params = NOTHING) -> T:
        """The first row of a query that always has one."""
        ...

    async def run(self, statement: Statement, params: Params = NOTHING) -> int:
        """Run the statement; returns the number of affected rows."""
        ...

    async def run_many(self, statement: Statement, rows: Sequence[Params]) -> None:
        """Run the statement for many rows, in one round trip."""
        ...

    async def each(self, query: Query[T], rows: Sequence[Params]) -> list[T]:
        """Like `run_many`; returns the rows of its RETURNING clause, in order."""
        ...


@record
class PoolUse:
    in_use: int
    size: int
    """The maximum number of connections."""


class Database(Protocol):
    @property
    def engine(self) -> str: ...

    def read(self) -> AbstractAsyncContextManager[Tx]: ...

    def write(self) -> AbstractAsyncContextManager[Tx]: ...

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """A transaction that blocks others as briefly as possible, for work that can be repeated if lost.

        A power failure may lose it as a whole. `work` must await nothing but its statements.
        """
        ...

    async def vacuum(self) -> None:
        """Release unused space, as far as the engine can while it is in use."""
        ...

    async def analyze_after(self, new_rows: int) -> bool:
        """After a bulk load, refresh the statistics for query plans; returns whether it did.

        Does nothing if the statistics already cover a collection much larger than the load.
        """
        ...

    def pool_use(self) -> PoolUse: ...

    async def close(self) -> None: ...


class StatementCount:
    """How many statements ran inside a `counting()` block; tests limit them per page."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


_count: ContextVar[StatementCount | None] = ContextVar("statement_count", default=None)


@contextmanager
def counting() -> Generator[StatementCount]:
    count = StatementCount()
    token = _count.set(count)
    try:
        yield count
    finally:
        _count.reset(token)


def count_statement() -> None:
    count = _count.get()
    if count is not None:
        count.value += 1
