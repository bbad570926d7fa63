"""A collection goes to another database and back, and is the same."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import select

from reedbed.domain.errors import CannotStart
from reedbed.services.instance import move_collection
from reedbed.services.search.find import search_entries
from reedbed.store import jobs
from reedbed.store.copy import SET_BY_MIGRATIONS, tables_to_copy
from reedbed.store.copy import sqlite_target as target
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Query
from reedbed.store.migrations import migrate, newest
from reedbed.store.tables import app_settings
from tests.effort import REPEAT_FACTOR
from tests.faults.breakable import breakable_postgres
from tests.harness import open_harness
from tests.large_library import LibrarySize, fill, make_unread
from tests.rows import as_tuple
from tests.user_data import give_everything

ENTRIES = 1_000 if REPEAT_FACTOR == 1 else 100_000


NEW_ENTRY = "INSERT INTO entries (feed_id, change_hash, title, fetched_at, sort_at) VALUES (1, 'h', 't', 1, 1)"


def last_id(sqlite_url: str) -> int:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        (last,) = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
    return last


def quiet(*_: Any) -> None:
    pass


async def collection_of(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, as both engines would say it."""
    db = await open_database(url, pool_size=1)
    try:
        return {table.name: await _rows(db, table) for table in tables_to_copy()}
    finally:
        await db.close()


async def what_was_copied(url: str) -> list[str]:
    """The tables with rows, but for the settings that migrations write into a new database."""
    collection = await collection_of(url)
    migrated = {(key, "0", 0) for key in SET_BY_MIGRATIONS}
    return [name for name, rows in collection.items() if set(rows) - migrated]


async def _rows(db: Database, table: Any) -> list[tuple[Any, ...]]:
    async with db.read() as tx:
        found = await tx.all(Query(select(table), into=as_tuple))
    return sorted(found, key=repr)


async def furnish(url: str) -> None:
    async with open_harness(url) as harness:
        await fill(harness.runtime.db, LibrarySize(users=3, feeds=20, entries=ENTRIES, followed=10))
        await make_unread(harness.runtime.db, 2, every=3)
        await harness.change(
            "INSERT INTO entry_bodies (entry_id, content) SELECT id, '<p>heron ' || id || '</p>' FROM entries"
        )
        async with harness.runtime.db.write() as tx:
            await give_everything(tx, harness.runtime.now())
        await harness.change("DELETE FROM entries WHERE id = (SELECT max(id) FROM entries)")
        await harness.change("DELETE FROM processes")


async def test_there_and_back_again_is_the_same(sqlite_url: str, postgres_url: str, tmp_path: Path) -> None:
    await furnish(sqlite_url)
    before, last = await collection_of(sqlite_url), last_id(sqlite_url)
    back = f"sqlite:///{tmp_path / 'back.db'}"

    await move_collection(sqlite_url, postgres_url, quiet, quiet)
    there = await collection_of(postgres_url)
    await move_collection(postgres_url, back, quiet, quiet)

    assert there == before
    assert await collection_of(back) == before
    for url in (postgres_url, back):
        async with open_harness(url) as harness:
            assert (await search_entries(harness.runtime, 1, "heron")).rows
            # The newest entry was removed before the move; the next one has a new id all the same.
            await harness.change(NEW_ENTRY)
            assert await harness.column("SELECT max(id) FROM entries") == [last + 1]


async def test_pieces_written_one_after_the_other_do_not_trip_each_other(tmp_path: Path) -> None:
    """Each is written in any thread of a pool; what one leaves behind must not reach into the next."""

    async def pieces() -> AsyncGenerator[list[tuple[object, ...]]]:
        for number in range(2_000):
            yield [(f"{number}-{row}", "", 0) for row in range(20)]

    async with target(f"sqlite:///{tmp_path / 'new.db'}") as place:
        await place.take(app_settings, pieces())
        assert await place.count(app_settings) == 40_000


async def test_a_target_with_rows_is_refused(sqlite_url: str, postgres_url: str, tmp_path: Path) -> None:
    async with open_harness(postgres_url) as harness:
        await harness.person()
    with pytest.raises(CannotStart, match="not empty: users has rows"):
        await move_collection(sqlite_url, postgres_url, quiet, quiet)
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    with pytest.raises(CannotStart, match="a file at"):
        await move_collection(sqlite_url, f"sqlite:///{taken}", quiet, quiet)
    assert taken.read_text() == "mine"


async def test_a_target_that_is_migrated_and_otherwise_empty_is_taken(sqlite_url: str, postgres_url: str) -> None:
    async with open_harness(sqlite_url) as harness:
        await harness.person()
        await harness.change("DELETE FROM app_settings")  # as in a database that is still being indexed
    await migrate(postgres_url)
    await move_collection(sqlite_url, postgres_url, quiet, quiet)
    assert await collection_of(postgres_url) == await collection_of(sqlite_url)


async def test_a_target_of_an_older_version_with_rows_is_not_brought_up_to_date(
    sqlite_url: str, postgres_url: str
) -> None:
    async with open_harness(postgres_url) as harness:
        await harness.person()
        await harness.change("UPDATE alembic_version SET version_num = '0014'")
        with pytest.raises(CannotStart, match="not empty: users has rows"):
            await move_collection(sqlite_url, postgres_url, quiet, quiet)
        assert await harness.column("SELECT version_num FROM alembic_version") == ["0014"]
        await harness.change("UPDATE alembic_version SET version_num = :newest", newest=newest())


async def test_a_postgresql_that_dies_during_a_move_is_said_in_a_sentence(sqlite_url: str) -> None:
    await furnish(sqlite_url)
    with breakable_postgres() as server:

        def die(table: str, rows: int, total: int) -> None:
            if table == "feeds":
                server.kill()

        with pytest.raises(CannotStart, match=r"Nothing was kept of the copy\.$"):
            await move_collection(sqlite_url, server.url, die, quiet)
        server.start()
        assert await what_was_copied(server.url) == []


@pytest.mark.parametrize("where", ["migration", "feeds", "entries"])
async def test_a_postgresql_that_freezes_during_a_move_is_given_up(sqlite_url: str, where: str) -> None:
    """Silence is noticed after ten seconds; unnoticed, the move would wait for ever."""
    await furnish(sqlite_url)
    with breakable_postgres() as server:

        def freeze(table: str, rows: int, total: int) -> None:
            if table == where:
                server.freeze()

        moving = asyncio.create_task(move_collection(sqlite_url, server.url, freeze, quiet))
        if where == "migration":
            await _until_migrated(server.url)
            server.freeze()
        done, _ = await asyncio.wait([moving], timeout=120)
        server.thaw()
        assert done, "still waiting"
        with pytest.raises(CannotStart, match=r"has stopped answering.*Nothing was kept"):
            await moving
        if where != "migration":  # which left no tables
            assert await what_was_copied(server.url) == []


async def _until_migrated(url: str) -> None:
    connection = await asyncpg.connect(url)
    async with asyncio.timeout(60):
        while not await connection.fetchval(  # noqa: ASYNC110  it happens in another process
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        ):
            await asyncio.sleep(0.005)
    await connection.close()


async def test_a_value_that_does_not_fit_is_said_in_a_sentence(sqlite_url: str, postgres_url: str) -> None:
    async with open_harness(sqlite_url) as harness:
        await harness.person()
        await harness.change("UPDATE users SET created_at = 'yesterday'")
    with pytest.raises(CannotStart, match=r"Nothing was kept of the copy\.$"):
        await move_collection(sqlite_url, postgres_url, quiet, quiet)


async def test_a_source_that_is_worked_on_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with open_harness(sqlite_url) as harness:
        await harness.change(
            "INSERT INTO leases (name, holder, taken_at, heartbeat_at, expires_at)"
            " VALUES ('sweeping', 'a worker', 1, 1, :until)",
            until=harness.runtime.now() + 60_000,
        )
    with pytest.raises(CannotStart, match="a worker still works on this database"):
        await move_collection(sqlite_url, f"sqlite:///{tmp_path / 'new.db'}", quiet, quiet)
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("engine", ["sqlite_url", "postgres_url"])
async def test_a_source_whose_process_is_idle_is_refused(
    request: pytest.FixtureRequest, engine: str, tmp_path: Path
) -> None:
    source, target_url = request.getfixturevalue(engine), f"sqlite:///{tmp_path / 'new.db'}"
    async with open_harness(source) as harness, harness.runtime.db.write() as tx:
        await jobs.record_heartbeat(tx, "an idle web", role="web", version="1", started_at=1)
    with pytest.raises(CannotStart, match="an idle web still works on this database"):
        await move_collection(source, target_url, quiet, quiet)
    async with open_harness(source) as harness:
        await harness.change("UPDATE processes SET heartbeat_at = heartbeat_at - 30000")
    await move_collection(source, target_url, quiet, quiet)


async def test_a_move_that_fails_leaves_nothing(sqlite_url: str, tmp_path: Path) -> None:
    await furnish(sqlite_url)

    def fail(table: str, rows: int, total: int) -> None:
        if table == "entries":
            raise RuntimeError("pulled the plug")

    with pytest.raises(RuntimeError):
        await move_collection(sqlite_url, f"sqlite:///{tmp_path / 'new.db'}", fail, quiet)
    assert not any((tmp_path / f"new.db{ending}").exists() for ending in ("", ".part", ".part-wal"))


async def test_a_move_into_postgresql_that_fails_leaves_it_empty(sqlite_url: str, postgres_url: str) -> None:
    await furnish(sqlite_url)

    def fail(table: str, rows: int, total: int) -> None:
        if table == "entries":
            raise RuntimeError("pulled the plug")

    with pytest.raises(RuntimeError):
        await move_collection(sqlite_url, postgres_url, fail, quiet)
    assert await what_was_copied(postgres_url) == []
    await move_collection(sqlite_url, postgres_url, quiet, quiet)
