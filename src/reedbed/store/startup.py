"""Opening a database safely: check it, back it up before changing it, refuse what cannot be right."""

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

_BESIDE = ("-wal", "-shm", "-journal")
_OURS = {"users", "feeds", "entries", "subscriptions"}


def copy_sqlite(source: str, target: str, check: Callable[[Path], None] = lambda _: None) -> None:
    """Copy while others read and write. The copy appears under its name only when it is whole and checked."""
    unfinished = _unfinished(Path(target))
    _drop(unfinished)
    try:
        unfinished.touch(mode=0o600)  # like the original, nobody else on the machine reads it
        _copy_pages(source, unfinished)
        check(unfinished)
        unfinished.replace(target)
    except BaseException:
        _drop(unfinished)
        raise


def _copy_pages(source: str, target: Path) -> None:
    with (
        closing(sqlite3.connect(read_only(source), uri=True, isolation_level=None)) as origin,
        closing(sqlite3.connect(target)) as copy,
    ):
        # An open transaction is one moment of the file. Without, each write by others starts the copy again.
        origin.execute("BEGIN")
        origin.execute("SELECT count(*) FROM sqlite_master").fetchone()
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it


def make_copy(source: Path, target: Path) -> None:
    """Copy and look at the copy; raises `CannotStart` with one sentence, and leaves nothing half-done."""
    own = {f"{source.resolve()}{ending}" for ending in ("", *_BESIDE)}
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

    The copy is checked first, and the present file has its second name before it loses its first: a foreign
    or half-written file, a full disk, or an end in the midst of it leaves the one or the other in its place.
    """
    check_copy(source)
    _check_unused(target)
    fresh = target.with_suffix(".restoring")
    make_copy(source, fresh)
    try:
        kept = _keep(target)
        fresh.replace(target)
    except OSError as error:
        _drop(fresh)
        raise CannotStart(f"{target} cannot be replaced: {_reason(error)}. Nothing was changed.") from error
    return kept


def check_copy(path: Path) -> None:
    """Raises `CannotStart` unless this is a whole database of Reedbed, of a version that is known here."""
    try:
        with closing(sqlite3.connect(read_only(path), uri=True)) as connection:
            sound = connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            (version,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.DatabaseError, TypeError):
        sound, tables, version = False, set[str](), ""
    # Other programs number their schemas in a table of the same name.
    if not sound or not tables >= _OURS or not isinstance(version, str):
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
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            else f"{target} cannot be replaced: {error}. Nothing was changed."
        ) from error
    except sqlite3.DatabaseError:
        pass  # damaged: all the more reason to restore
    finally:
        connection.close()


def _keep(target: Path) -> Path | None:
    """Give the present file a name with the time. What a journal beside a damaged one still holds goes along:
    it would be written into the file that takes its place."""
    if not target.exists():
        return None
    kept = _free_name(target)
    beside = [part for ending in _BESIDE if (part := target.with_name(target.name + ending)).exists()]
    for part in beside:
        _name_too(part, kept.with_name(kept.name + part.name.removeprefix(target.name)))
    _name_too(target, kept)
    for part in beside:
        part.unlink()
    return kept


def _name_too(file: Path, name: Path) -> None:
    try:
        name.hardlink_to(file)
    except OSError:  # not every kind of disk can
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


def _drop(path: Path) -> None:
    for ending in ("", *_BESIDE):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _reason(error: OSError | sqlite3.Error) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


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
