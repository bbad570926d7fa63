"""Opening a database safely: check it, back it up before changing it, refuse what cannot be right."""

import os
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from reedbed.domain.errors import CannotStart
from reedbed.store import migrations
from reedbed.store.backup import copy_sqlite
from reedbed.store.opening import sqlite_path

QUICK_CHECK_OVER = 100 * 1024 * 1024


async def prepare(
    url: str, *, may_migrate: bool, migrate: Callable[[str], Awaitable[None]] = migrations.migrate
) -> None:
    """Make sure the database is sound and of this version; raises `CannotStart` with the way out."""
    if url.startswith("sqlite:"):
        _prepare_file(Path(sqlite_path(url)))
    current = await _current(url)
    newest = migrations.newest()
    if current == newest:
        return
    if current is not None and current > newest:
        raise CannotStart(
            f"The database was written by a newer Reedbed (schema {current}, this one knows {newest}). "
            "Install the newer version again, or restore a backup made before the upgrade."
        )
    if not may_migrate:
        raise CannotStart(
            f"The database has schema {current or 'none'} and this program needs {newest}. "
            "Run 'reedbed admin db migrate' once, then start again."
        )
    if current is not None and url.startswith("sqlite:"):
        backup_before_migration(Path(sqlite_path(url)), current)
    await migrate(url)


def backup_before_migration(path: Path, version: str) -> Path:
    folder = path.parent / "backups"
    target = folder / f"{path.stem}-schema{version}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.db"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copy_sqlite(str(path), str(target))
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(
            f"The database must be upgraded, and the backup before it failed: {error}. "
            f"Free some space or make {folder} writable, then start again. Nothing was changed."
        ) from error
    return target


def _prepare_file(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            f"The data directory {path.parent} cannot be made: {error.strerror}. "
            "Choose another with --data-dir or REEDBED_DATA_DIR."
        ) from error
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise CannotStart(
            f"The data directory {path.parent} is not writable. "
            "Change its permissions, or choose another with --data-dir or REEDBED_DATA_DIR."
        )
    if not path.exists():
        path.touch(mode=0o600)  # nobody else on the machine reads it; its journal takes the same mode
    elif path.stat().st_size:
        check_integrity(path)


def check_integrity(path: Path, *, thorough: bool = False) -> None:
    """Raises `CannotStart` for a damaged file. Large ones are only looked over, unless `thorough`."""
    quick = path.stat().st_size > QUICK_CHECK_OVER and not thorough
    check = "quick_check" if quick else "integrity_check"
    try:
        connection = sqlite3.connect(path)
        try:
            found = [row[0] for row in connection.execute(f"PRAGMA {check}(5)")]
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    if found != ["ok"]:
        raise CannotStart(
            f"The database file {path} is damaged ({found[0]}). It was left as it is. "
            f"Restore a backup from {path.parent / 'backups'} with 'reedbed admin db restore FILE', "
            "or move the damaged file away to start afresh."
        )


async def _current(url: str) -> str | None:
    try:
        return await migrations.current(url)
    except Exception as error:
        raise CannotStart(
            f"The database cannot be reached: {error}. Check REEDBED_DATABASE_URL and that the server runs."
        ) from error
