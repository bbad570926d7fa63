"""`reedbed admin health` and `reedbed completion`, as cron and shells use them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reedbed.cli.instance import health
from reedbed.cli.main import root
from reedbed.store import jobs
from reedbed.store.engine.connect import open_database
from reedbed.store.migrations import migrate
from tests.servers import run_apart


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    run_apart(migrate(f"sqlite:///{tmp_path / 'reedbed.db'}"))
    return tmp_path


def test_what_is_wrong_is_told_with_exit_code_1(data_dir: Path) -> None:
    answer = CliRunner().invoke(health, ["--json", "--data-dir", str(data_dir)])
    assert answer.exit_code == 1
    assert [one["check"] for one in json.loads(answer.output)] == ["workers"]


def test_an_instance_that_is_well_says_so_with_exit_code_0(data_dir: Path) -> None:
    run_apart(_a_worker_lives(data_dir))
    answer = CliRunner().invoke(health, ["--data-dir", str(data_dir)])
    assert (answer.exit_code, answer.output) == (0, "All is well.\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_a_shell_is_printed(shell: str) -> None:
    answer = CliRunner().invoke(root, ["completion", shell])
    assert answer.exit_code == 0 and "_REEDBED_COMPLETE" in answer.output


def test_a_shell_is_told_the_commands_of_an_operator() -> None:
    asked = {"_REEDBED_COMPLETE": "bash_complete", "COMP_WORDS": "reedbed admin he", "COMP_CWORD": "2"}
    told = subprocess.run(
        [str(Path(sys.executable).parent / "reedbed")],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert told.stdout == "plain,health\n"


async def _a_worker_lives(data_dir: Path) -> None:
    db = await open_database(f"sqlite:///{data_dir / 'reedbed.db'}")
    async with db.write() as tx:
        await jobs.record_heartbeat(tx, "w", role="worker", version="1", started_at=1)
    await db.close()
