"""Consistent copies of a live SQLite file, and putting one back."""

import sqlite3
import time
from pathlib import Path

from reedbed.domain.backups import BackupPolicy, moment_of, name_of, newest_of, surplus
from reedbed.domain.errors import CannotStart
from reedbed.domain.times import Instant
from reedbed.store import migrations

_BESIDE = ("-wal", "-shm", "-journal")


def copy_sqlite(source: str, target: str) -> None:
    """Copy while others read and write. The copy appears under its name only when it is whole."""
    unfinished = Path(f"{target}.part")
    _drop(unfinished)
    unfinished.touch(mode=0o600)  # like the original, nobody else on the machine reads it
    origin = sqlite3.connect(f"file:{source}?mode=ro", uri=True, isolation_level=None)
    try:
        # An open transaction is one moment of the file. Without, each write by others starts the copy again.
        origin.execute("BEGIN")
        origin.execute("SELECT count(*) FROM sqlite_master").fetchone()
        copy = sqlite3.connect(unfinished)
        try:
            origin.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        finally:
            copy.close()
    except BaseException:
        _drop(unfinished)
        raise
    finally:
        origin.close()
    unfinished.replace(target)


def make_copy(source: Path, target: Path) -> None:
    """Copy and look at the copy; raises `CannotStart` with one sentence, and leaves nothing half-done."""
    if str(target.resolve()) in {f"{source.resolve()}{ending}" for ending in ("", *_BESIDE)}:
        raise CannotStart(f"{target} is the database itself. Choose another place for the copy.")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_sqlite(str(source), str(target))
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(
            f"The copy cannot be written to {target}: {_reason(error)}. The database is as it was."
        ) from error
    try:
        check_copy(target)
    except CannotStart:
        _drop(target)
        raise


def make_daily_copy(policy: BackupPolicy, now: Instant) -> Path:
    """The copy of this day. Older ones beyond the number kept go, once the new one is known to be sound."""
    folder = Path(policy.folder)
    target = folder / name_of(now)
    make_copy(Path(policy.file), target)
    for name in surplus((file.name for file in folder.iterdir()), policy.kept, now):
        _drop(folder / name)
    return target


def latest_copy(policy: BackupPolicy, now: Instant) -> Instant | None:
    try:
        return newest_of((file.name for file in Path(policy.folder).iterdir()), now)
    except (FileNotFoundError, NotADirectoryError):
        return None


def copies(policy: BackupPolicy) -> list[tuple[Instant, str, int]]:
    """When, which file and how large; the newest first."""
    try:
        files = [(moment_of(file.name), file) for file in Path(policy.folder).iterdir()]
        return sorted(
            ((at, file.name, file.stat().st_size) for at, file in files if at is not None), reverse=True
        )
    except OSError:
        return []


def restore_sqlite(source: Path, target: Path) -> Path | None:
    """Put a sound copy in the place of `target`; where the file before is kept, if there was one.

    The copy is checked first and the present file moved aside last, so that a foreign or half-written file,
    or a full disk, changes nothing.
    """
    check_copy(source)
    _check_unused(target)
    fresh = target.with_suffix(".restoring")
    make_copy(source, fresh)
    kept = _set_aside(target)
    fresh.replace(target)
    return kept


def check_copy(path: Path) -> None:
    """Raises `CannotStart` unless this is a whole database of Reedbed, of a version that is known here."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            sound = connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            (version,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        finally:
            connection.close()
    except (sqlite3.DatabaseError, TypeError):
        sound, version = False, ""
    if not sound:
        raise CannotStart(f"{path} is no sound copy of a Reedbed database. Nothing was changed.")
    if version > migrations.newest():
        raise CannotStart(
            f"{path} was written by a newer Reedbed (schema {version}). Install that version first. "
            "Nothing was changed."
        )


def _check_unused(target: Path) -> None:
    """Leaving the journal mode needs the file for oneself, so it shows whether somebody has it open."""
    if not target.exists():
        return
    connection = sqlite3.connect(target, timeout=0, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.OperationalError as error:
        raise CannotStart(
            f"Reedbed still uses {target}. Stop it first, then restore. Nothing was changed."
        ) from error
    except sqlite3.DatabaseError:
        pass  # damaged: all the more reason to restore
    finally:
        connection.close()


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


def _drop(path: Path) -> None:
    for ending in ("", *_BESIDE):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _reason(error: OSError | sqlite3.Error) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
