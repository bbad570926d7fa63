"""Both engines keep the same promises about transactions."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import count
from pathlib import Path
from sqlite3 import DatabaseError

import asyncpg
import pytest
from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.errors import Unavailable
from reedbed.store.engine import sqlite
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database, Tx, counting
from reedbed.store.engine.postgresql import LOCK_SECONDS, LOCKED
from reedbed.store.engine.sqlite import connect
from reedbed.store.engine.statements import Command, Query, among, larger, row_of, smaller
from reedbed.store.tables import app_settings

PUT = Query(
    insert(app_settings)
    .values(key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now"))
    .on_conflict_do_nothing(index_elements=["key"])
    .returning(app_settings.c.key),
    into=str,
)
_of_tests = app_settings.c.updated_at > 0
"""What the migrations have written is of the moment 0."""
KEYS = Query(select(app_settings.c.key).where(_of_tests).order_by(app_settings.c.key), into=str)
SOME = Query(select(app_settings.c.key).where(among(app_settings.c.updated_at, "moments")), into=str)
DELETE = Command(delete(app_settings).where(app_settings.c.key == bindparam("key")))
BOUNDS = Query(
    select(larger(app_settings.c.updated_at, 5), smaller(app_settings.c.updated_at, 5)).where(_of_tests),
    into=row_of(int, int),
)


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


async def test_a_transaction_at_once_is_whole(db: Database) -> None:
    async def work(tx: Tx) -> str:
        await tx.run_many(PUT, [_row("a"), _row("b")])
        await tx.run(DELETE, {"key": "a"})
        return "done"

    async def fail(tx: Tx) -> None:
        await tx.run(PUT, _row("c"))
        raise RuntimeError

    assert await db.write_now(work) == "done"
    with pytest.raises(RuntimeError):
        await db.write_now(fail)
    assert await _keys(db) == ["b"]


async def test_on_sqlite_a_transaction_at_once_waits_for_nothing_else(sqlite_url: str) -> None:
    async def doze(tx: Tx) -> None:
        await tx.run(PUT, _row("a"))
        await asyncio.sleep(0)

    db = await open_database(sqlite_url)
    with pytest.raises(RuntimeError, match="nothing but its database"):
        await db.write_now(doze)
    assert await _keys(db) == []
    await db.close()


@pytest.mark.parametrize("long", [sqlite.LONG_WAL_PAGES, 0])
async def test_the_log_of_sqlite_is_brought_over_beside_the_writer(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, long: int
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_AFTER_ROWS", 100)
    monkeypatch.setattr(sqlite, "LONG_WAL_PAGES", long)
    db = await open_database(sqlite_url)
    async with asyncio.timeout(30):
        for part in count():
            async with db.write() as tx:
                await tx.run_many(PUT, [_row(f"{part} {number}") for number in range(100)])
            if await asyncio.to_thread(_in_the_file, sqlite_url) >= 300:
                break
    await db.close()


async def test_a_row_that_is_there_already_is_not_returned(db: Database) -> None:
    async with db.write() as tx:
        first = await tx.each(PUT, [_row("a"), _row("b")])
        again = await tx.each(PUT, [_row("b"), _row("c")])
    assert first == ["a", "b"]
    assert again == ["c"]


async def test_concurrent_read_then_write_transactions_all_succeed(db: Database) -> None:
    async def read_then_write(number: int) -> None:
        async with db.write() as tx:
            await tx.all(KEYS)
            await tx.run(PUT, _row(f"k{number}"))

    await asyncio.gather(*(read_then_write(number) for number in range(8)))
    assert len(await _keys(db)) == 8


async def test_a_list_is_one_parameter(db: Database) -> None:
    async with db.write() as tx:
        await tx.run_many(PUT, [_row("a", 1), _row("b", 2), _row("c", 3)])
        assert set(await tx.all(SOME, {"moments": [1, 3, 9]})) == {"a", "c"}
        assert await tx.all(SOME, {"moments": []}) == []


async def test_larger_and_smaller_compare_numbers_on_both_engines(db: Database) -> None:
    async with db.write() as tx:
        await tx.run(PUT, _row("a", 3))
        assert await tx.get(BOUNDS) == (5, 3)


async def test_run_tells_how_many_rows_it_touched(db: Database) -> None:
    async with db.write() as tx:
        assert await tx.run(PUT, _row("a")) == 1
        assert await tx.run(PUT, _row("a")) == 0
        assert await tx.run(DELETE, {"key": "a"}) == 1
        assert await tx.run(DELETE, {"key": "a"}) == 0


async def test_a_statement_that_returns_rows_can_run_for_its_effect_on_many(db: Database) -> None:
    async with db.write() as tx:
        await tx.run_many(PUT, [_row("a"), _row("b"), _row("b")])
        await tx.run_many(PUT, [])
    assert await _keys(db) == ["a", "b"]


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


def _in_the_file(url: str) -> int:
    """Rows that are in the file itself, whatever its log says."""
    path = Path(url.removeprefix("sqlite:///"))
    copy = path.with_name("without-log.db")
    copy.write_bytes(path.read_bytes())
    with closing(connect(str(copy))) as connection:
        try:
            return connection.execute("SELECT count(*) FROM app_settings").fetchone()[0]
        except DatabaseError:  # copied while it was being written
            return 0


async def test_a_table_that_another_session_keeps_locked_is_said_within_seconds(postgres_url: str) -> None:
    """Twelve want it and there are two connections: each would wait for the lock after the one before."""
    db = await open_database(postgres_url, pool_size=2)
    other = await asyncpg.connect(postgres_url)
    try:
        async with other.transaction():
            await other.execute("LOCK TABLE app_settings IN ACCESS EXCLUSIVE MODE")
            begun = time.monotonic()
            refused = await asyncio.gather(*(_keys(db) for _ in range(12)), return_exceptions=True)
            took = time.monotonic() - begun
        assert [str(each) for each in refused] == [LOCKED] * 12
        assert took < 2 * LOCK_SECONDS + 5  # five more: this machine may be busy
        assert await _keys(db) == []
    finally:
        await other.close()
        await db.close()


async def test_a_file_that_another_program_keeps_locked_is_said_within_seconds(sqlite_url: str) -> None:
    """Those who wait for their turn to write do not each wait for the lock again."""
    db = await open_database(sqlite_url)
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        refused = await asyncio.gather(*(_put(db, str(each)) for each in range(8)), return_exceptions=True)
        took = time.monotonic() - begun
        other.execute("ROLLBACK")
    assert {str(each) for each in refused} == {sqlite.LOCKED}
    assert took < 15  # each by itself would make forty
    await _put(db, "after")
    assert await _keys(db) == ["after"]
    await db.close()


async def _put(db: Database, key: str) -> None:
    async with db.write() as tx:
        await tx.run(PUT, _row(key))


async def _keys(db: Database) -> list[str]:
    async with db.read() as tx:
        return await tx.all(KEYS)
