"""The interface to the database, the same for both engines: `read()` and `write()` open a transaction.

A `Tx` runs `Statement`s and returns rows that can be indexed by name and by position. Store functions take a
`Tx`; services open it, keep it short and never hold it across a network call.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from reedbed.domain.records import record
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import Statement

T = TypeVar("T")

NOTHING: Mapping[str, Any] = {}


class Row(Protocol):
    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...


class Tx(Protocol):
    @property
    def engine(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    @property
    def vault(self) -> Vault:
        """Encrypts and decrypts values that must not be stored as plain text."""
        ...

    async def all(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> Sequence[Row]: ...

    async def one(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> Row | None: ...

    async def value(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> Any:
        """The first column of the first row, or None."""
        ...

    async def run(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> int:
        """Run the statement; returns the number of affected rows."""
        ...

    async def run_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run the statement for many rows, in one round trip."""
        ...

    async def each(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
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
