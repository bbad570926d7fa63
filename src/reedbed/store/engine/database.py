"""The door to the database: `read()` and `write()` give a transaction, whatever the engine.

A `Tx` runs `Statement`s and hands back rows that answer to names and positions. Store functions take a `Tx`;
services open it, keep it short and never hold it across a network call.
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
        """Encrypts what must not be in clear in the database, and decrypts it."""
        ...

    async def all(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> Sequence[Row]: ...

    async def one(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> Row | None: ...

    async def value(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> Any:
        """The first column of the first row, or None."""
        ...

    async def run(self, statement: Statement, params: Mapping[str, Any] = NOTHING) -> int:
        """Run for its effect; how many rows it touched."""
        ...

    async def run_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """The same statement for many rows, in one round trip."""
        ...

    async def each(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
        """Like `run_many`, handing back what the statement returns (RETURNING), in order."""
        ...


@record
class PoolUse:
    in_use: int
    size: int
    """The most there can be."""


class Database(Protocol):
    @property
    def engine(self) -> str: ...

    def read(self) -> AbstractAsyncContextManager[Tx]: ...

    def write(self) -> AbstractAsyncContextManager[Tx]: ...

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """A transaction that keeps others waiting as little as can be, for work that is done again if lost.

        It may be lost as a whole with the machine's power, and `work` awaits nothing but its statements.
        """
        ...

    async def vacuum(self) -> None:
        """Give unused space back, as far as the engine can while others read and write."""
        ...

    async def analyze_after(self, new_rows: int) -> bool:
        """After a bulk load of so many entries: refresh statistics that query plans rely on; whether it did.

        Does nothing where the statistics already know a collection that is much larger than the load.
        """
        ...

    def pool_use(self) -> PoolUse: ...

    async def close(self) -> None: ...


class StatementCount:
    """How many statements ran inside a `counting()` block; tests hold pages to their number."""

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


def note_statement() -> None:
    count = _count.get()
    if count is not None:
        count.value += 1
