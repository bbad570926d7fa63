"""`reedbed admin db`: the database file, its copies and its schema."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any, Self

import click

from reedbed.cli.context import report_options, say, with_runtime
from reedbed.domain.errors import CannotStart
from reedbed.settings import load


@click.group()
def db() -> None:
    """The database."""


@db.command()
@report_options
def migrate(data_dir: Path | None, *, as_json: bool) -> None:
    """Migrate the database to this version's schema (SQLite: after a backup)."""
    from reedbed.store import migrations
    from reedbed.store.startup import prepare

    asyncio.run(prepare(load({"data_dir": data_dir}).database, may_migrate=True))
    schema = migrations.newest()
    say(f"The database has schema {schema}.", {"schema": schema}, as_json=as_json)


@db.command()
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Replace TARGET without asking.")
@report_options
def backup(target: Path | None, data_dir: Path | None, *, yes: bool, as_json: bool) -> None:
    """Copy the SQLite file to TARGET (default: backups/ in the data directory), also while Reedbed runs."""
    from reedbed.store.startup import make_copy

    source = _sqlite_file(data_dir)
    path = target or source.parent / "backups" / f"{source.stem}-{time.strftime('%Y%m%d-%H%M%S')}.db"
    if path.exists() and not yes:
        click.confirm(f"Replace {path}?", abort=True)
    make_copy(source, path)
    say(f"Copied to {path}.", {"file": str(path)}, as_json=as_json)


@db.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@report_options
def restore(source: Path, data_dir: Path | None, *, yes: bool, as_json: bool) -> None:
    """Restore a copy. Stop Reedbed first; the present database file is kept beside it."""
    from reedbed.store.startup import restore_sqlite

    target = _sqlite_file(data_dir, must_exist=False)
    if not yes:
        click.confirm(f"Replace {target} by {source}? The present file is kept", abort=True)
    previous = restore_sqlite(source, target)
    say(
        f"Restored {source}." + (f" The file before is {previous}." if previous else ""),
        {"file": str(source), "before": str(previous) if previous else None},
        as_json=as_json,
    )


@db.command()
@report_options
def check(data_dir: Path | None, *, as_json: bool) -> None:
    """Check the whole SQLite file for damage."""
    from reedbed.store.startup import check_integrity

    path = _sqlite_file(data_dir)
    check_integrity(path, thorough=True)
    say(f"{path} is sound.", {"file": str(path), "sound": True}, as_json=as_json)


@db.command()
@report_options
def vacuum(data_dir: Path | None, *, as_json: bool) -> None:
    """Return unused space of the SQLite file to the disk."""
    from reedbed.store.engine.sqlite import vacuum_sqlite

    path = _sqlite_file(data_dir)
    freed = vacuum_sqlite(path)
    say(f"{freed // 1024} KB given back.", {"bytes_freed": freed}, as_json=as_json)


@db.command()
@report_options
def cleanup(data_dir: Path | None, *, as_json: bool) -> None:
    """Run the nightly cleanup now."""
    from reedbed.services.retention import clean_up_alone

    done = with_runtime(clean_up_alone, data_dir)
    fields = ("entries_removed", "unread_removed", "articles_cleared", "feeds_removed", "bytes_freed", "notes")
    say(
        f"{done.entries_removed} entries removed ({done.unread_removed} of them unread), "
        f"{done.articles_cleared} whole articles, {done.feeds_removed} feeds, "
        f"{done.bytes_freed // 1024} KB freed." + (f" {done.notes}" if done.notes else ""),
        {name: getattr(done, name) for name in fields},
        as_json=as_json,
    )


@db.command()
@report_options
def reindex(data_dir: Path | None, *, as_json: bool) -> None:
    """Rebuild the search index; until it is complete, searches find only what is in it."""
    from reedbed.services.search.upkeep import rebuild_search

    indexed = with_runtime(rebuild_search, data_dir)
    say(f"{indexed} entries indexed.", {"entries": indexed}, as_json=as_json)


@db.command()
@click.option("--to", "target", required=True, help="postgresql://… or sqlite:///…, a database without rows.")
@report_options
def move(target: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Copy everything into another database. Stop Reedbed first; the present one stays as it is."""
    from reedbed.services.instance import move_collection

    settings = load({"data_dir": data_dir})
    source = settings.database
    if not target.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise CannotStart("The target must start with sqlite:/// or postgresql://.")
    with _Progress() as progress:
        copied = asyncio.run(move_collection(source, target, progress.copied, progress.indexed))
    say(
        f"{copied.rows} rows in {copied.tables} tables moved and counted. "
        "Set REEDBED_DATABASE_URL to the new address and start Reedbed."
        + (
            f" Each process needs the key of the passwords, {settings.key_file}, in its data directory."
            if settings.key_file.exists()
            else ""
        ),
        {"rows": copied.rows, "tables": copied.tables},
        as_json=as_json,
    )


class _Progress:
    """One progress bar for the rows and one for the index; without a terminal, only their labels."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._label = ""
        self._entries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def copied(self, table: str, rows: int, total: int) -> None:
        if not self._label:
            self._begin("Copying", total)
        if table == "entries":
            self._entries += rows
        self._bar.update(rows)

    def indexed(self, entries: int) -> None:
        if self._label != "Indexing":
            self._end()
            self._begin("Indexing", self._entries)
        self._bar.update(entries)

    def _begin(self, what: str, length: int) -> None:
        self._label = what
        self._bar = click.progressbar(length=length, label=what, file=sys.stderr)
        self._bar.__enter__()

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None


def _sqlite_file(data_dir: Path | None, *, must_exist: bool = True) -> Path:
    from reedbed.store.engine.connect import sqlite_path

    url = load({"data_dir": data_dir}).database
    if not url.startswith("sqlite:"):
        raise CannotStart("This is for SQLite. Use pg_dump, pg_restore and VACUUM of PostgreSQL instead.")
    path = Path(sqlite_path(url))
    if must_exist and not path.exists():
        raise CannotStart(f"There is no database at {path}. Name its directory with --data-dir.")
    return path
