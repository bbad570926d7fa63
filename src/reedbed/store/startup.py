"""Prepares the database at start, and makes, checks and restores copies of a SQLite file.

`prepare` checks the file and the schema version, and migrates after a backup. Every copy is written to a
temporary file first and renamed only when it is complete and checked.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from reedbed.domain.errors import CannotStart
from reedbed.domain.instance import BackupPolicy, moment_of, name_of, newest_of, surplus
from reedbed.domain.times import Instant
from reedbed.store import migrations
from reedbed.store.engine.connect import read_only, sqlite_path

_JOURNAL_SUFFIXES = ("-wal", "-shm", "-journal")
_OUR_TABLES = {"users", "feeds", "entries", "subscriptions"}


def copy_sqlite(source: str, target: str, check: Callable[[Path], None] = lambda _: None) -> None:
    """Copy a database in use. The copy gets its name only when it is complete and checked."""
    unfinished = _unfinished(Path(target))
    _delete(unfinished)
    try:
        unfinished.touch(mode=0o600)  # readable only by its owner, like the original
        _copy_pages(source, unfinished)
        check(unfinished)
        unfinished.replace(target)
    except BaseException:
        _delete(unfinished)
        raise


def _copy_pages(source: str, target: Path) -> None:
    with (
        closing(sqlite3.connect(read_only(source), uri=True, isolation_level=None)) as origin,
        closing(sqlite3.connect(target)) as copy,
    ):
        # The transaction is a snapshot. Without it, each write by others would restart the copy.
        origin.execute("BEGIN")
        origin.execute("SELECT count(*) FROM sqlite_master").fetchone()
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # a single file, without a WAL


def make_copy(source: Path, target: Path) -> None:
    """Copy the file and check the copy; raises `CannotStart` on failure and leaves no partial copy."""
    own = {f"{source.resolve()}{ending}" for ending in ("", *_JOURNAL_SUFFIXES)}
    if own & {str(target.resolve()), str(_unfinished(target).resolve())}:
        raise CannotStart(f"{target} is the database itself. Choose another place for the copy.")

    def check(copy: Path) -> None:
        try:
            check_copy(copy)
        except CannotStart as error:
            raise CannotStart(
                f"{source} is damaged, or of another version of Reedbed. No copy was made of it, "
                "and an older one is as it was."
            ) from error

    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_sqlite(str(source), str(target), check)
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(
            f"The copy cannot be written to {target}: {_reason(error)}. The database is as it was."
        ) from error


def make_daily_copy(policy: BackupPolicy, now: Instant) -> Path:
    """Make today's copy. Once it is checked, delete the oldest copies beyond the number to keep."""
    folder = Path(policy.folder)
    target = folder / name_of(now)
    make_copy(Path(policy.file), target)
    for name in surplus((file.name for file in folder.iterdir()), policy.kept, now):
        _delete(folder / name)
    return target


def latest_copy(policy: BackupPolicy, now: Instant) -> Instant | None:
    try:
        return newest_of((file.name for file in Path(policy.folder).iterdir()), now)
    except (FileNotFoundError, NotADirectoryError):
        return None


def copies(policy: BackupPolicy) -> list[tuple[Instant, str, int]]:
    """Time, file name and size of each copy, newest first."""
    try:
        files = [(moment_of(file.name), file) for file in Path(policy.folder).iterdir()]
        return sorted(((at, file.name, file.stat().st_size) for at, file in files if at is not None), reverse=True)
    except OSError:
        return []


def restore_sqlite(source: Path, target: Path) -> Path | None:
    """Replace `target` by a checked copy; returns where the previous file was saved, if there was one.

    The copy is checked first, and the present file gets its second name before it loses the first. So a wrong
    or partial file, a full disk or a crash always leaves either the old or the new database in place.
    """
    check_copy(source)
    _check_unused(target)
    restored = target.with_suffix(".restoring")
    make_copy(source, restored)
    try:
        saved = _save_previous(target)
        restored.replace(target)
    except OSError as error:
        _delete(restored)
        raise CannotStart(f"{target} cannot be replaced: {_reason(error)}. Nothing was changed.") from error
    return saved


def check_copy(path: Path) -> None:
    """Raises `CannotStart` unless this is an intact Reedbed database with a schema this version knows."""
    try:
        with closing(sqlite3.connect(read_only(path), uri=True)) as connection:
            intact = connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            (version,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.DatabaseError, TypeError):
        intact, tables, version = False, set[str](), ""
    # Other programs have an `alembic_version` table, too.
    if not intact or not tables >= _OUR_TABLES or not isinstance(version, str):
        raise CannotStart(f"{path} is no sound copy of a Reedbed database. Nothing was changed.")
    if version > migrations.newest():
        raise CannotStart(
            f"{path} was written by a newer Reedbed (schema {version}). Install that version first. "
            "Nothing was changed."
        )


def _check_unused(target: Path) -> None:
    """Changing the journal mode needs exclusive access, so it shows whether another process uses the file."""
    if not target.exists():
        return
    connection = sqlite3.connect(target, timeout=0, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.OperationalError as error:
        raise CannotStart(
            f"Reedbed still uses {target}. Stop it first, then restore. Nothing was changed."
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            else f"{target} cannot be replaced: {error}. Nothing was changed."
        ) from error
    except sqlite3.DatabaseError:
        pass  # damaged: all the more reason to restore
    finally:
        connection.close()


def _save_previous(target: Path) -> Path | None:
    """Save the present file under a name with the time, together with its journal files.

    A journal left behind would be applied to the file that replaces it.
    """
    if not target.exists():
        return None
    saved = _free_name(target)
    journals = [journal for ending in _JOURNAL_SUFFIXES if (journal := target.with_name(target.name + ending)).exists()]
    for journal in journals:
        _link_or_copy(journal, saved.with_name(saved.name + journal.name.removeprefix(target.name)))
    _link_or_copy(target, saved)
    for journal in journals:
        journal.unlink()
    return saved


def _link_or_copy(file: Path, name: Path) -> None:
    try:
        name.hardlink_to(file)
    except OSError:  # some file systems do not support hard links
        try:
            shutil.copy2(file, name)
        except OSError:
            name.unlink(missing_ok=True)
            raise


def _free_name(target: Path) -> Path:
    stem = f"{target.stem}-before-restore-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (target.with_name(f"{stem}{more}.db") for more in ("", *(f"-{n}" for n in range(1, 1_000))))
    return next(name for name in names if not name.exists())


def _unfinished(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _delete(path: Path) -> None:
    for ending in ("", *_JOURNAL_SUFFIXES):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _reason(error: OSError | sqlite3.Error) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


# --- At start

QUICK_CHECK_OVER = 100 * 1024 * 1024


async def prepare(
    url: str, *, may_migrate: bool, migrate: Callable[[str], Awaitable[None]] = migrations.migrate
) -> None:
    """Check the database and migrate it if allowed; raises `CannotStart` with what to do."""
    if url.startswith("sqlite:"):
        _prepare_file(Path(sqlite_path(url)))
    current = await _current_version(url)
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
        path.touch(mode=0o600)  # readable only by its owner; the journal inherits the mode
    elif path.stat().st_size:
        check_integrity(path)


def check_integrity(path: Path, *, thorough: bool = False) -> None:
    """Raises `CannotStart` for a damaged file. Large files get a quick check, unless `thorough`."""
    quick = path.stat().st_size > QUICK_CHECK_OVER and not thorough
    check = "quick_check" if quick else "integrity_check"
    try:
        connection = sqlite3.connect(path)
        try:
            problems = [row[0] for row in connection.execute(f"PRAGMA {check}(5)")]
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        problems = [str(error)]
    if problems != ["ok"]:
        raise CannotStart(
            f"The database file {path} is damaged ({problems[0]}). It was left as it is. "
            f"Restore a backup from {path.parent / 'backups'} with 'reedbed admin db restore FILE', "
            "or move the damaged file away to start afresh."
        )


async def _current_version(url: str) -> str | None:
    try:
        return await migrations.current(url)
    except Exception as error:
        raise CannotStart(
            f"The database cannot be reached: {error}. Check REEDBED_DATABASE_URL and that the server runs."
        ) from error
