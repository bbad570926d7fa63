"""Bringing a database to the schema this program speaks.

Migrations are numbered files in `versions/`. Alembic is heavy, so it is only imported when there is something
to do: the current number is one small query, the newest one is the last file's name.
"""

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

from reedbed.domain.errors import CannotStart
from reedbed.store.engine.connect import read_only, sqlite_path

VERSIONS = Path(__file__).parent / "versions"
ADVISORY_LOCK = 0x5265_6564
BROKE_OFF = "The upgrade of the database broke off. Nothing was changed. Start again to try it once more."


def newest() -> str:
    return max(file.name[:4] for file in VERSIONS.glob("[0-9]*.py"))


async def current(url: str) -> str | None:
    """The number of the schema in the database; None when it is empty."""
    if url.startswith("sqlite:"):
        return _current_sqlite(sqlite_path(url))
    return await _current_postgresql(url)


async def migrate(url: str) -> None:
    """Apply what is missing, all or nothing."""
    try:
        if url.startswith("sqlite:"):
            _migrate_sqlite(sqlite_path(url))
        else:
            await _migrate_postgresql(url)
    except CannotStart:
        raise
    except OSError as error:
        raise CannotStart(f"The database cannot be upgraded: {error}. Nothing was changed.") from error
    except Exception as error:
        raise CannotStart(
            f"The database could not be brought to version {newest()}: {error}. Nothing was changed. "
            "Start the previous version of Reedbed, or ask for help with this message."
        ) from error


async def migrate_apart(url: str) -> None:
    """As `migrate`, in a process of its own: what it loads would stay in the memory of this one."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", __name__, stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, output = await child.communicate(url.encode())
    finally:
        if child.returncode is None:  # whoever asked has given up
            child.kill()
    if child.returncode != 0:
        raise CannotStart(output.decode().strip() or BROKE_OFF)


def _current_sqlite(path: str) -> str | None:
    if not Path(path).exists():
        return None
    connection = sqlite3.connect(read_only(path), uri=True)
    try:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError:
        return None
    finally:
        connection.close()
    return row[0] if row else None


async def _current_postgresql(url: str) -> str | None:
    from reedbed.store.engine.postgresql import asyncpg

    connection = await asyncpg.connect(url, timeout=10, command_timeout=10)
    try:
        return await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    finally:
        await connection.close(timeout=10)


def _migrate_sqlite(path: str) -> None:
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    from reedbed.store.engine.sqlite import connect

    # Our own BEGIN makes the schema change one transaction: a failure leaves the old file as it was.
    engine = create_engine("sqlite://", creator=lambda: connect(path), poolclass=NullPool)

    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(engine, "begin", begin)
    with engine.begin() as connection:
        _upgrade(connection)
    engine.dispose()


async def _migrate_postgresql(url: str) -> None:
    from sqlalchemy import text
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    address = "postgresql+asyncpg://" + url.partition("://")[2]
    engine = create_async_engine(address, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})"))
            await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


def _upgrade(connection: Any) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(VERSIONS.parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
