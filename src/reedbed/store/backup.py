"""Consistent copies of a live SQLite file."""

import sqlite3
from pathlib import Path


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
