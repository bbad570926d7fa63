"""Commands for operators, as real processes."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from reedbed.cli.main import root
from tests.processes import run_once

OPML = """<opml><body>
<outline text="A" xmlUrl="http://127.0.0.1:9/a"/><outline text="B" xmlUrl="no"/>
</body></opml>"""


def test_a_copy_can_be_put_back(tmp_path: Path) -> None:
    _with_one_feed(tmp_path)
    assert run_once("admin", "db", "backup", "copy.db", cwd=tmp_path).returncode == 0
    again = run_once("admin", "db", "backup", "copy.db", cwd=tmp_path)
    assert again.returncode == 1 and "Replace copy.db?" in again.stdout + again.stderr
    assert run_once("admin", "db", "backup", "copy.db", "--yes", cwd=tmp_path).returncode == 0
    with closing(sqlite3.connect(tmp_path / "data" / "reedbed.db")) as connection, connection:
        connection.execute("DELETE FROM subscriptions")
    assert "127.0.0.1:9/a" not in run_once("opml", "export", cwd=tmp_path).stdout
    restored = run_once("admin", "db", "restore", "copy.db", "--yes", cwd=tmp_path)
    assert restored.returncode == 0
    assert list((tmp_path / "data").glob("*before-restore*.db"))
    assert "127.0.0.1:9/a" in run_once("opml", "export", cwd=tmp_path).stdout


def test_a_foreign_or_half_written_file_is_not_put_back(tmp_path: Path) -> None:
    _with_one_feed(tmp_path)
    live = tmp_path / "data" / "reedbed.db"
    before = live.read_bytes()
    (tmp_path / "half.db").write_bytes(before[: len(before) // 2])
    (tmp_path / "foreign.db").write_text("dear diary")
    for name in ("half.db", "foreign.db"):
        refused = run_once("admin", "db", "restore", name, "--yes", cwd=tmp_path)
        assert refused.returncode == 1
        assert "Nothing was changed" in refused.stderr
    assert live.read_bytes() == before


def test_check_and_vacuum_say_what_they_found(tmp_path: Path) -> None:
    _with_one_feed(tmp_path)
    assert "is sound" in run_once("admin", "db", "check", cwd=tmp_path).stdout
    assert "given back" in run_once("admin", "db", "vacuum", cwd=tmp_path).stdout
    assert run_once("admin", "db", "check", cwd=tmp_path, data_dir="elsewhere").returncode == 1


def test_an_error_is_a_sentence(tmp_path: Path) -> None:
    _with_one_feed(tmp_path)
    refused = run_once("admin", "feed", "set", "1", "--interval", "-5", cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (
        1,
        "reedbed: The interval must be between 15 minutes and 24 hours.\n",
    )


def test_with_several_people_it_must_be_said_whose(tmp_path: Path) -> None:
    _with_one_feed(tmp_path)
    assert run_once("admin", "user", "add", "second@example.org", cwd=tmp_path).returncode == 0
    unsaid = run_once("opml", "export", cwd=tmp_path)
    assert unsaid.returncode == 1 and "Say whose with --user" in unsaid.stderr
    unknown = run_once("opml", "export", "--user", "third@example.org", cwd=tmp_path)
    assert unknown.returncode == 1 and "There is no user third@example.org." in unknown.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("migrate", {"schema"}),
        ("check", {"file", "sound"}),
        ("vacuum", {"bytes_freed"}),
        ("backup", {"file"}),
        ("reindex", {"entries"}),
        ("cleanup", {"entries_removed", "unread_removed", "articles_cleared", "feeds_removed", "bytes_freed", "notes"}),
    ],
)
def test_what_a_command_did_is_told_to_programs(tmp_path: Path, command: str, told: set[str]) -> None:
    run_once("admin", "db", "migrate", cwd=tmp_path)
    done = run_once("admin", "db", command, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (facts,) = json.loads(done.stdout)
    assert set(facts) == told


@pytest.mark.parametrize("command", [("import",), ("admin", "import"), ("opml", "import")])
def test_what_moved_in_is_told_to_programs(tmp_path: Path, command: tuple[str, ...]) -> None:
    run_once("admin", "db", "migrate", cwd=tmp_path)
    (tmp_path / "mine.opml").write_text(OPML)
    done = run_once(*command, "mine.opml", "--json", cwd=tmp_path)
    (report,) = json.loads(done.stdout)
    assert (done.returncode, report["imported"], report["skipped"]) == (1, 1, 0)
    assert [line["url"] for line in report["errors"]] == ["no"]


def test_lines_that_cannot_be_followed_are_named(tmp_path: Path) -> None:
    run_once("admin", "db", "migrate", cwd=tmp_path)
    (tmp_path / "mine.opml").write_text(OPML)
    done = run_once("opml", "import", "mine.opml", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 followed" in done.stdout
    assert "B: Invalid URL format" in done.stderr


def test_every_command_helps(tmp_path: Path) -> None:
    for command in (
        ["--help"],
        ["serve", "--help"],
        ["admin", "db", "--help"],
        ["opml", "--help"],
        ["parse", "--help"],
    ):
        helped = run_once(*command, cwd=tmp_path)
        assert helped.returncode == 0
        assert "Usage: reedbed" in helped.stdout


@pytest.mark.parametrize("role", ["serve", "web", "worker"])
def test_every_role_takes_the_same_flags(role: str) -> None:
    helped = CliRunner().invoke(root, [role, "--help"])
    assert all(flag in helped.output for flag in ("--host", "--port", "--data-dir"))


def _with_one_feed(tmp_path: Path) -> None:
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    (tmp_path / "mine.opml").write_text(OPML)
    run_once("opml", "import", "mine.opml", cwd=tmp_path)
