"""Opening a database: migrate it, or say why not and keep the old file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reedbed.domain.errors import CannotStart
from reedbed.store import migrations
from reedbed.store.migrations import current, newest
from reedbed.store.startup import prepare


async def test_an_empty_database_gets_the_newest_schema(blank_database_url: str) -> None:
    await prepare(blank_database_url, may_migrate=True)
    assert await current(blank_database_url) == newest()


async def test_a_split_role_refuses_a_stale_schema_and_names_the_command(blank_database_url: str) -> None:
    with pytest.raises(CannotStart, match="reedbed admin db migrate"):
        await prepare(blank_database_url, may_migrate=False)


async def test_a_newer_database_is_refused(sqlite_url: str) -> None:
    _execute(sqlite_url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(CannotStart, match="newer Reedbed"):
        await prepare(sqlite_url, may_migrate=True)


async def test_a_damaged_file_is_refused_and_left_alone(sqlite_url: str) -> None:
    path = _path(sqlite_url)
    damaged = bytearray(path.read_bytes())
    damaged[4096 : 4096 * 6] = b"\xff" * (4096 * 5)
    path.write_bytes(damaged)
    with pytest.raises(CannotStart, match="damaged"):
        await prepare(sqlite_url, may_migrate=True)
    assert path.read_bytes() == bytes(damaged)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reedbed.db"
    path.write_text("dear diary " * 100)
    with pytest.raises(CannotStart, match="damaged"):
        await prepare(f"sqlite:///{path}", may_migrate=True)


async def test_a_backup_is_made_before_a_migration(sqlite_url: str) -> None:
    _execute(sqlite_url, "UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(CannotStart):
        await prepare(sqlite_url, may_migrate=True)
    backups = list((_path(sqlite_url).parent / "backups").glob("*.db"))
    assert len(backups) == 1
    with closing(sqlite3.connect(backups[0])) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_failed_migration_changes_nothing(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add_migration_that_fails(tmp_path, monkeypatch)
    before = _dump(sqlite_url)
    with pytest.raises(CannotStart, match="Nothing was changed"):
        await prepare(sqlite_url, may_migrate=True)
    assert _dump(sqlite_url) == before


async def test_an_unwritable_directory_is_named(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(CannotStart, match="--data-dir"):
        await prepare(f"sqlite:///{in_the_way}/data/reedbed.db", may_migrate=True)


def _add_migration_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "migrations"
    (copy / "versions").mkdir(parents=True)
    source = Path(migrations.__file__).parent
    (copy / "env.py").write_text((source / "env.py").read_text())
    for file in (source / "versions").glob("[0-9]*.py"):
        (copy / "versions" / file.name).write_text(file.read_text())
    (copy / "versions" / "9998_fails.py").write_text(
        f'from alembic import op\nrevision = "9998"\ndown_revision = "{newest()}"\n'
        'def upgrade():\n    op.execute("CREATE TABLE half_done (id INTEGER)")\n'
        '    raise RuntimeError("no")\n'
    )
    monkeypatch.setattr(migrations, "VERSIONS", copy / "versions")


def _path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _execute(url: str, statement: str) -> None:
    with closing(sqlite3.connect(_path(url))) as connection, connection:
        connection.execute(statement)


def _dump(url: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(_path(url))) as connection:
        schema = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        return [*schema, *connection.execute("SELECT version_num FROM alembic_version").fetchall()]
