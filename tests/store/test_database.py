"""Both engines keep the same promises about transactions."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.errors import Unavailable
from reedbed.store.database import Database, counting
from reedbed.store.dialect import among, larger, smaller
from reedbed.store.opening import open_database
from reedbed.store.statements import Statement
from reedbed.store.tables import app_settings

PUT = Statement(
    insert(app_settings)
    .values(key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now"))
    .on_conflict_do_nothing(index_elements=["key"])
    .returning(app_settings.c.key)
)
KEYS = Statement(select(app_settings.c.key).order_by(app_settings.c.key))
SOME = Statement(select(app_settings.c.key).where(among(app_settings.c.updated_at, "moments")))
DELETE = Statement(delete(app_settings).where(app_settings.c.key == bindparam("key")))
BOUNDS = Statement(select(larger(app_settings.c.updated_at, 5), smaller(app_settings.c.updated_at, 5)))


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    database = await open_database(database_url)
    yield database
    await database.close()


async def test_what_was_committed_is_there(db: Database) -> None:
    async with db.write() as tx:
        await tx.run(PUT, _row("a"))
    assert await _keys(db) == ["a"]


async def test_an_error_inside_a_transaction_leaves_nothing_behind(db: Database) -> None:
    with pytest.raises(RuntimeError):
        async with db.write() as tx:
            await tx.run(PUT, _row("a"))
            raise RuntimeError
    assert await _keys(db) == []


async def test_a_cancelled_transaction_leaves_nothing_behind_and_the_next_one_works(db: Database) -> None:
    async def hang() -> None:
        async with db.write() as tx:
            await tx.run(PUT, _row("a"))
            await asyncio.sleep(60)

    task = asyncio.create_task(hang())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with db.write() as tx:
        await tx.run(PUT, _row("b"))
    assert await _keys(db) == ["b"]


async def test_a_row_that_is_there_already_is_not_returned(db: Database) -> None:
    async with db.write() as tx:
        first = await tx.each(PUT, [_row("a"), _row("b")])
        again = await tx.each(PUT, [_row("b"), _row("c")])
    assert [row[0] for row in first] == ["a", "b"]
    assert [row["key"] for row in again] == ["c"]


async def test_concurrent_read_then_write_transactions_all_succeed(db: Database) -> None:
    async def read_then_write(number: int) -> None:
        async with db.write() as tx:
            await tx.all(KEYS)
            await tx.run(PUT, _row(f"k{number}"))

    await asyncio.gather(*(read_then_write(number) for number in range(8)))
    assert len(await _keys(db)) == 8


async def test_a_list_is_one_parameter(db: Database) -> None:
    async with db.write() as tx:
        await tx.run_each(PUT, [_row("a", 1), _row("b", 2), _row("c", 3)])
        assert {row[0] for row in await tx.all(SOME, {"moments": [1, 3, 9]})} == {"a", "c"}
        assert await tx.all(SOME, {"moments": []}) == []


async def test_larger_and_smaller_compare_numbers_on_both_engines(db: Database) -> None:
    async with db.write() as tx:
        await tx.run(PUT, _row("a", 3))
        row = await tx.one(BOUNDS)
    assert row is not None
    assert (row[0], row[1]) == (5, 3)


async def test_run_tells_how_many_rows_it_touched(db: Database) -> None:
    async with db.write() as tx:
        await tx.run(PUT, _row("a"))
        assert await tx.run(DELETE, {"key": "a"}) == 1
        assert await tx.run(DELETE, {"key": "a"}) == 0


async def test_statements_are_counted(db: Database) -> None:
    with counting() as count:
        async with db.read() as tx:
            await tx.all(KEYS)
            await tx.one(KEYS)
    assert count.value == 2


async def test_a_database_that_is_not_there_is_said_plainly() -> None:
    with pytest.raises(Unavailable):
        await open_database("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Unavailable):
        await open_database("sqlite:////does/not/exist/reedbed.db")


def _row(key: str, now: int = 1) -> dict[str, object]:
    return {"key": key, "value": "", "now": now}


async def _keys(db: Database) -> list[str]:
    async with db.read() as tx:
        return [row[0] for row in await tx.all(KEYS)]
