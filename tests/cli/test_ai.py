"""`reedbed admin ai` on an instance of its own."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reedbed.cli.ai import ai
from reedbed.store.migrations import migrate
from tests.servers import run_apart


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    run_apart(migrate(f"sqlite:///{tmp_path / 'reedbed.db'}"))
    return tmp_path


def test_an_operator_pauses_the_model_sees_it_and_goes_on(data_dir: Path) -> None:
    assert _said(data_dir, "status")["paused"] is False
    assert _said(data_dir, "pause")["paused"] is True
    assert _said(data_dir, "status")["paused"] is True
    assert _said(data_dir, "resume")["paused"] is False


def test_the_status_is_a_table_for_people(data_dir: Path) -> None:
    answer = CliRunner().invoke(ai, ["status", "--data-dir", str(data_dir)])
    assert answer.exit_code == 0 and "CLOSED" in answer.output and "tokens_today" in answer.output


def test_retrying_an_empty_queue_is_harmless(data_dir: Path) -> None:
    assert _said(data_dir, "retry")["waiting"] == 0


def _said(data_dir: Path, *words: str) -> dict[str, object]:
    answer = CliRunner().invoke(ai, [*words, "--json", "--data-dir", str(data_dir)])
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.output)[0]
