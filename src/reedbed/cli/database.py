"""`reedbed admin db`: the database file, its copies and its schema."""

import asyncio
import time
from pathlib import Path

import click

from reedbed.cli.options import data_dir_option
from reedbed.domain.errors import CannotStart
from reedbed.settings import load


@click.group()
def db() -> None:
    """The database."""


@db.command()
@data_dir_option
def migrate(data_dir: Path | None) -> None:
    """Bring the database to this program's schema (SQLite: after a backup)."""
    from reedbed.store import migrations
    from reedbed.store.startup import prepare

    asyncio.run(prepare(load({"data_dir": data_dir}).database, may_migrate=True))
    click.echo(f"The database has schema {migrations.newest()}.")


@db.command()
@click.argument("target", required=False, type=click.Path(path_type=Path))
@data_dir_option
def backup(target: Path | None, data_dir: Path | None) -> None:
    """Copy the SQLite file to TARGET (default: backups/ in the data directory), also while Reedbed runs."""
    from reedbed.store.backup import copy_sqlite

    source = _sqlite_file(data_dir)
    chosen = target or source.parent / "backups" / f"{source.stem}-{time.strftime('%Y%m%d-%H%M%S')}.db"
    try:
        chosen.parent.mkdir(parents=True, exist_ok=True)
        copy_sqlite(str(source), str(chosen))
    except OSError as error:
        raise CannotStart(f"The copy cannot be written to {chosen}: {error.strerror}.") from error
    click.echo(f"Copied to {chosen}.")


@db.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@data_dir_option
def restore(source: Path, data_dir: Path | None, *, yes: bool) -> None:
    """Put a copy back as the database. Stop Reedbed first; the present file is kept beside it."""
    from reedbed.store.backup import restore_sqlite

    target = _sqlite_file(data_dir, must_exist=False)
    if not yes:
        click.confirm(f"Replace {target} by {source}? The present file is kept", abort=True)
    kept = restore_sqlite(source, target)
    click.echo(f"Restored {source}." + (f" The file before is {kept}." if kept else ""))


@db.command()
@data_dir_option
def check(data_dir: Path | None) -> None:
    """Read the whole SQLite file and say whether it is sound."""
    from reedbed.store.startup import check_integrity

    path = _sqlite_file(data_dir)
    check_integrity(path, thorough=True)
    click.echo(f"{path} is sound.")


@db.command()
@data_dir_option
def vacuum(data_dir: Path | None) -> None:
    """Give unused space of the SQLite file back to the disk."""
    from reedbed.store.backup import vacuum_sqlite

    path = _sqlite_file(data_dir)
    freed = vacuum_sqlite(path)
    click.echo(f"{freed // 1024} KB given back.")


def _sqlite_file(data_dir: Path | None, *, must_exist: bool = True) -> Path:
    from reedbed.store.opening import sqlite_path

    url = load({"data_dir": data_dir}).database
    if not url.startswith("sqlite:"):
        raise CannotStart("This is for SQLite. Use pg_dump, pg_restore and VACUUM of PostgreSQL instead.")
    path = Path(sqlite_path(url))
    if must_exist and not path.exists():
        raise CannotStart(f"There is no database at {path}. Name its directory with --data-dir.")
    return path
