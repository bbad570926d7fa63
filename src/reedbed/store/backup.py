"""Consistent copies of a live SQLite file, and putting one back."""

import sqlite3
import time
from pathlib import Path

from reedbed.domain.errors import CannotStart


def copy_sqlite(source: str, target: str) -> None:
    """Copy while others read and write. The copy appears under its name only when it is whole."""
    unfinished = f"{target}.part"
    origin = sqlite3.connect(f"file:{source}?mode=ro", uri=True)
    try:
        copy = sqlite3.connect(unfinished)
        try:
            origin.backup(copy, pages=1_000)
        finally:
            copy.close()
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    finally:
        origin.close()
    Path(unfinished).replace(target)


def restore_sqlite(source: Path, target: Path) -> Path | None:
    """Put a sound copy in the place of `target`; where the file before is kept, if there was one.

    The copy is checked first and the present file moved aside last, so that a foreign or half-written file
    changes nothing.
    """
    _check_is_ours(source)
    fresh = target.with_suffix(".restoring")
    target.parent.mkdir(parents=True, exist_ok=True)
    copy_sqlite(str(source), str(fresh))
    kept = _set_aside(target)
    fresh.replace(target)
    return kept


def vacuum_sqlite(path: Path) -> int:
    """How many bytes the file became smaller. The program may run meanwhile; it waits for a moment."""
    before = path.stat().st_size
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        raise CannotStart(f"The file could not be rewritten: {error}. Nothing was changed.") from error
    finally:
        connection.close()
    return max(0, before - path.stat().st_size)


def _check_is_ours(path: Path) -> None:
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            sound = connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            connection.execute("SELECT version_num FROM alembic_version").fetchone()
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        sound = False
    if not sound:
        raise CannotStart(f"{path} is no sound copy of a Reedbed database. Nothing was changed.")


def _set_aside(target: Path) -> Path | None:
    """The present file and what its journal still holds, together, under a name with the time."""
    if not target.exists():
        return None
    kept = target.with_name(f"{target.stem}-before-restore-{time.strftime('%Y%m%d-%H%M%S')}.db")
    for ending in ("-wal", "-shm"):
        part = target.with_name(target.name + ending)
        if part.exists():
            part.replace(kept.with_name(kept.name + ending))
    target.replace(kept)
    return kept
