"""Copies of a live file are whole, and nothing that is not whole takes its place."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reedbed.domain.errors import CannotStart
from reedbed.domain.instance import BackupPolicy
from reedbed.domain.times import DAY
from reedbed.store.engine.sqlite import connect, vacuum_sqlite
from reedbed.store.startup import latest_copy, make_copy, make_daily_copy, restore_sqlite
from tests.processes import COMMAND

NOON = 1_790_000_000_000
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from reedbed.store.startup import restore_sqlite

left = int(sys.argv[1])

def count(event, _):
    global left
    if event in ("os.rename", "os.link", "os.remove"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
restore_sqlite(Path(sys.argv[2]), Path(sys.argv[3]))
"""


@pytest.fixture
def live(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


def settings_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        # What the migrations have written is of the moment 0.
        return connection.execute("SELECT count(*) FROM app_settings WHERE updated_at > 0").fetchone()[0]


def grow(path: Path, megabytes: int) -> None:
    with closing(connect(str(path))) as connection:
        insert = "INSERT INTO app_settings (key, value, updated_at) VALUES (?, ?, 1)"
        connection.executemany(insert, [(f"big {n}", "x" * 1_000_000) for n in range(megabytes)])


@pytest.fixture
def busy(live: Path) -> Iterator[threading.Event]:
    """Somebody writes all the time."""
    stop, begun = threading.Event(), threading.Event()

    def write() -> None:
        with closing(connect(str(live))) as connection:
            turn = 0
            while not stop.is_set():
                connection.execute("INSERT INTO app_settings VALUES (?, 'x', 1)", (f"turn {turn}",))
                turn += 1
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(10)
    yield stop
    stop.set()
    writer.join()


def test_a_copy_is_one_moment_of_a_busy_file(live: Path, tmp_path: Path, busy: threading.Event) -> None:
    copy = tmp_path / "copy.db"
    make_copy(live, copy)
    busy.set()
    assert 0 < settings_of(copy) <= settings_of(live)
    assert copy.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_a_copy_never_takes_the_place_of_the_file_itself(live: Path, tmp_path: Path, ending: str) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(f"{live}{ending}")
    before = live.read_bytes()
    for target in (Path(f"{live}{ending}"), link, live.parent / ".." / live.parent.name / f"{live.name}{ending}"):
        with pytest.raises(CannotStart, match="is the database itself"):
            make_copy(live, target)
    assert live.read_bytes() == before


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_half_a_copy_is_refused(live: Path, tmp_path: Path, share: float) -> None:
    copy = tmp_path / "copy.db"
    make_copy(live, copy)
    with copy.open("r+b") as file:
        file.truncate(int(copy.stat().st_size * share))
    before = live.read_bytes()
    with pytest.raises(CannotStart, match="no sound copy"):
        restore_sqlite(copy, live)
    assert live.read_bytes() == before
    assert not list(live.parent.glob("*before-restore*"))


def test_a_foreign_file_is_refused(live: Path, tmp_path: Path) -> None:
    letter, other = tmp_path / "letter.txt", tmp_path / "other.db"
    letter.write_text("Dear reader")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    for foreign in (letter, other):
        with pytest.raises(CannotStart, match="no sound copy"):
            restore_sqlite(foreign, live)
    assert settings_of(live) == 0


@pytest.mark.parametrize("version", ["'0003'", "3", "NULL", "x'00ff'", "'a1b2c3d4e5f6'"])
def test_a_file_of_another_program_that_numbers_its_schema_is_refused(live: Path, tmp_path: Path, version: str) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE recipes (name)")
        connection.execute("CREATE TABLE alembic_version (version_num)")
        connection.execute(f"INSERT INTO alembic_version VALUES ({version})")
        connection.commit()
    with pytest.raises(CannotStart, match="no sound copy"):
        restore_sqlite(other, live)
    assert settings_of(live) == 0


def test_a_copy_of_a_newer_version_is_refused(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    make_copy(live, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with pytest.raises(CannotStart, match="newer Reedbed"):
        restore_sqlite(copy, live)


def test_a_file_in_use_is_not_replaced(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    make_copy(live, copy)
    with closing(connect(str(live))) as connection:
        connection.execute("SELECT 1 FROM users").fetchall()
        with pytest.raises(CannotStart, match="Stop it first"):
            restore_sqlite(copy, live)
    assert restore_sqlite(copy, live) is not None


def test_what_was_restored_is_what_was_copied(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    grow(live, 1)
    make_copy(live, copy)
    grow_more = "INSERT INTO app_settings VALUES ('later', 'x', 1)"
    with closing(connect(str(live))) as connection:
        connection.execute(grow_more)
    kept = restore_sqlite(copy, live)
    assert settings_of(live) == 1
    assert kept is not None
    assert settings_of(kept) == 2


def test_an_end_in_the_midst_of_a_restore_leaves_a_database(live: Path, tmp_path: Path) -> None:
    """The process is killed before each change of a name, one after the other."""
    copy = tmp_path / "copy.db"
    grow(live, 1)
    make_copy(live, copy)
    grown = "INSERT INTO app_settings VALUES ('later', 'x', 1)"
    for number in range(1, 100):
        with closing(connect(str(live))) as connection:
            connection.execute("DELETE FROM app_settings WHERE key = 'later'")
            connection.execute(grown)
        ended = subprocess.run(
            [sys.executable, "-c", KILLED_AT, str(number), str(copy), str(live)], check=False
        ).returncode
        assert settings_of(live) == (2 if ended else 1)
        if not ended:
            break
    assert ended == 0
    assert number > 2


def test_two_restores_in_one_second_keep_both_files(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    make_copy(live, copy)
    assert len({restore_sqlite(copy, live) for _ in range(3)}) == 3


@pytest.mark.parametrize("name", ["copy #1.db", "what?.db", "100%25.db"])
def test_any_name_will_do(live: Path, tmp_path: Path, name: str) -> None:
    grow(live, 1)
    copy = tmp_path / name / name
    make_copy(live, copy)
    assert [file.name for file in copy.parent.iterdir()] == [name]
    again = tmp_path / name / f"again {name}"
    restore_sqlite(copy, again)
    assert settings_of(again) == 1
    said = subprocess.run(
        [COMMAND, "admin", "db", "migrate"],
        env={**os.environ, "REEDBED_DATABASE_URL": f"sqlite:///{again}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(live.name)] == [name]


def test_a_copy_that_cannot_take_its_name_leaves_nothing(live: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be written"):
        make_copy(live, tmp_path)
    assert not Path(f"{tmp_path}.part").exists()


def test_a_database_that_is_called_like_a_copy_under_way_is_not_written_over(live: Path, tmp_path: Path) -> None:
    odd = tmp_path / "copy.db.part"
    make_copy(live, odd)
    with pytest.raises(CannotStart, match="is the database itself"):
        make_copy(odd, tmp_path / "copy.db")
    assert settings_of(odd) == 0


def test_a_damaged_database_costs_no_copy_of_the_same_name(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    grow(live, 1)
    make_copy(live, copy)
    before = copy.read_bytes()
    with closing(sqlite3.connect(live)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    with live.open("r+b") as file:
        file.seek(-300_000, os.SEEK_END)
        file.write(b"\xff" * 200_000)
    with pytest.raises(CannotStart, match="damaged"):
        make_copy(live, copy)
    assert copy.read_bytes() == before
    assert [file.name for file in tmp_path.glob("copy*")] == ["copy.db"]


def test_only_the_newest_nightly_copies_are_kept(live: Path, tmp_path: Path) -> None:
    policy = BackupPolicy(str(live), str(tmp_path / "copies"), kept=2)
    mine = tmp_path / "copies" / "mine.db"
    mine.parent.mkdir()
    shutil.copy(live, mine)
    made = [make_daily_copy(policy, NOON + day * DAY) for day in range(4)]
    assert [copy.exists() for copy in made] == [False, False, True, True]
    assert mine.exists()
    assert latest_copy(policy, NOON + 3 * DAY) == NOON + 3 * DAY


def test_a_failed_copy_costs_no_older_one(live: Path, tmp_path: Path) -> None:
    policy = BackupPolicy(str(live), str(tmp_path / "copies"), kept=1)
    made = make_daily_copy(policy, NOON)
    live.write_bytes(b"no database at all, but long enough to look like one" * 100)
    with pytest.raises(CannotStart):
        make_daily_copy(policy, NOON + DAY)
    assert [file.name for file in made.parent.iterdir()] == [made.name]


def small_disk() -> None:
    """No file may grow beyond a megabyte: to the program that is a disk that fills."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


@pytest.mark.parametrize("command", [("backup",), ("vacuum",)])
def test_a_disk_that_fills_leaves_the_file_as_it_is(live: Path, command: tuple[str, ...]) -> None:
    grow(live, 5)
    before = settings_of(live)
    said = subprocess.run(
        [COMMAND, "admin", "db", *command, "--data-dir", str(live.parent)],
        preexec_fn=small_disk,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1, said.stdout
    assert len(said.stderr.strip().splitlines()) == 1, said.stderr
    assert said.stderr.strip().endswith(("The database is as it was.", "Nothing was changed.")), said.stderr
    assert settings_of(live) == before
    with closing(sqlite3.connect(live)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not list(live.parent.glob("backups/*"))


def test_vacuum_gives_space_back(live: Path) -> None:
    grow(live, 3)
    with closing(connect(str(live))) as connection:
        connection.execute("DELETE FROM app_settings")
    assert vacuum_sqlite(live) > 2_000_000
