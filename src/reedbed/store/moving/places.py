"""What both ends of a move offer, whatever their engine."""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Table

from reedbed.domain.errors import CannotStart
from reedbed.store import migrations
from reedbed.store.tables import leases, metadata, processes

AT_ONCE = 1_000
"""Rows in memory."""

Rows = list[tuple[Any, ...]]

_OF_PROCESSES = {leases.name, processes.name}
"""Only for the processes that run now."""


class Source(Protocol):
    """Of this program's schema, and nobody works on it."""

    async def count(self, table: Table) -> int: ...

    def rows(self, table: Table) -> AsyncGenerator[Rows]: ...

    async def last_ids(self) -> Mapping[Table, int]:
        """The last id each table gave out, even if that row is gone: ids are never given twice."""
        ...


class Target(Protocol):
    async def take(self, table: Table, rows: AsyncIterable[Rows]) -> None: ...

    async def count(self, table: Table) -> int: ...

    async def go_on_from(self, table: Table, last_id: int) -> None: ...

    async def keep(self) -> None:
        """Everything is there: make it last."""
        ...


def moved_tables() -> list[Table]:
    """In an order in which each row finds what it refers to."""
    return [table for table in metadata.sorted_tables if table.name not in _OF_PROCESSES]


def numbered_tables() -> list[Table]:
    """Those that give out ids by themselves."""
    return [table for table in moved_tables() if any(one.autoincrement is True for one in table.columns)]


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
