"""The migrations, applied one after the other, give exactly the tables that the code believes in."""

from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from reedbed.domain.errors import CannotStart
from reedbed.store import instance
from reedbed.store.engine.connect import open_database
from reedbed.store.migrations import migrate
from reedbed.store.tables import metadata


async def test_migrations_and_metadata_agree(blank_database_url: str) -> None:
    await migrate(blank_database_url)
    assert await _differences(blank_database_url) == []


async def test_migrating_twice_is_harmless(blank_database_url: str) -> None:
    await migrate(blank_database_url)
    await migrate(blank_database_url)


async def test_a_new_database_has_no_older_entries_to_index_again(blank_database_url: str) -> None:
    await migrate(blank_database_url)
    db = await open_database(blank_database_url, pool_size=1)
    async with db.read() as tx:
        kept = [await instance.get_setting(tx, key) for key in ("categories_below", "word_forms_below")]
    await db.close()
    assert kept == ["0", "0"]


async def _differences(url: str) -> list[Any]:
    if url.startswith("sqlite:"):
        engine = create_engine(url, poolclass=NullPool)
        with engine.connect() as connection:
            return _compare(connection)
    async_engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"), poolclass=NullPool)
    async with async_engine.connect() as connection:
        return await connection.run_sync(_compare)


def _compare(connection: Any) -> list[Any]:
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "compare_server_default": False, "include_name": _is_ours}
    )
    return compare_metadata(context, metadata)


def _is_ours(name: str | None, kind: str, parents: Any) -> bool:
    """The search index is raw SQL of each engine, not a table of the metadata."""
    return kind != "table" or not (name or "").startswith(("search_", "entries_fts", "alembic_version"))


async def test_a_database_that_cannot_be_reached_is_said_in_a_sentence(free_port: int) -> None:
    with pytest.raises(CannotStart, match=r"cannot be upgraded: .* Nothing was changed\.$"):
        await migrate(f"postgresql://postgres@127.0.0.1:{free_port}/reedbed")
