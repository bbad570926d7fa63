"""Giving unused space of a SQLite file back to the disk."""

import sqlite3
from pathlib import Path

from reedbed.domain.errors import CannotStart


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
