"""A whole collection from one database into another, empty one: all of it, or nothing.

The source is read as it was at one moment; the target appears only when every table counts the same.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from sqlalchemy import Table

from reedbed.domain.errors import CannotStart
from reedbed.domain.records import record
from reedbed.store.moving.places import Source, Target, moved_tables

__all__ = ["Moved", "Tell", "copy_everything"]

Tell = Callable[[str, int, int], None]
"""Table, rows of it that were copied now, rows in all."""


@record
class Moved:
    rows: int
    tables: int


async def copy_everything(source_url: str, target_url: str, tell: Tell) -> Moved:
    async with _source(source_url) as source, _target(target_url) as target:
        counts = {table: await source.count(table) for table in moved_tables()}
        total = sum(counts.values())
        for table in counts:
            await target.take(table, _told(source, table, total, tell))
        await _compare(target, counts)
        for table, last in (await source.last_ids()).items():
            await target.go_on_from(table, last)
        await target.keep()
    return Moved(total, len(counts))


async def _told(
    source: Source, table: Table, total: int, tell: Tell
) -> AsyncGenerator[list[tuple[object, ...]]]:
    async for some in source.rows(table):
        yield some
        tell(table.name, len(some), total)


async def _compare(target: Target, counts: dict[Table, int]) -> None:
    for table, expected in counts.items():
        found = await target.count(table)
        if found != expected:
            raise CannotStart(
                f"{table.name} has {expected} rows and {found} arrived. Nothing was kept of the copy."
            )


def _source(url: str) -> AbstractAsyncContextManager[Source]:
    if url.startswith("sqlite:"):
        from reedbed.store.moving.sqlite import source

        return source(url)
    from reedbed.store.moving.postgresql import source as of_postgresql

    return of_postgresql(url)


@asynccontextmanager
async def _target(url: str) -> AsyncGenerator[Target]:
    if url.startswith("sqlite:"):
        from reedbed.store.moving.sqlite import target

        opening = target(url)
    else:
        from reedbed.store.moving.postgresql import target as in_postgresql

        opening = in_postgresql(url)
    async with opening as place:
        yield place
