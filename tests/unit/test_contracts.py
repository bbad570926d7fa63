"""Each import contract of pyproject.toml can fail: here is a small house that breaks it.

The contracts are the real ones, with the package renamed; the house has every room they speak of.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
PACKAGE = "sample_house"
Report = Callable[[Path, str], str]
SOUND_HOUSE = {
    "cli": "import sample_house.roles, sample_house.settings",
    "roles": "import sample_house.settings, sample_house.web, sample_house.api, sample_house.worker",
    "settings": "import sample_house.domain",
    "web": "import sample_house.http",
    "api": "import sample_house.http",
    "worker": "import sample_house.services",
    "http": "import sample_house.services",
    "services": "import sample_house.store, sample_house.ingest, sample_house.ai, sample_house.events",
    "store": "import alembic, asyncpg, sqlalchemy, sqlite3, sample_house.domain",
    "ingest": "import aiohttp, sample_house.domain",
    "ai": "import sample_house.domain",
    "events": "import sample_house.domain",
    "domain": "import dataclasses",
}
UNSOUND_ROOMS = [
    ("floors", "domain", "import sample_house.store"),
    ("floors", "services", "import sample_house.web"),
    ("floors", "web", "import sample_house.api"),
    ("floors", "api", "import sample_house.worker"),
    ("floors", "ingest", "import sample_house.store"),
    ("floors", "events", "import sample_house.ai"),
    ("floors", "an_undecided_room", "import dataclasses"),
    ("surfaces", "web", "import sample_house.ingest"),
    ("surfaces", "api", "from sample_house.events import bus"),
    ("surfaces", "worker", "import sample_house.ai"),
    ("domain", "domain", "import aiohttp"),
    ("domain", "domain", "import time"),
    ("domain", "domain", "import os.path"),
    ("sql", "web", "import sqlite3"),
    ("sql", "services", "import sqlalchemy.orm"),
    ("sql", "worker", "from asyncpg import connect"),
    ("sql", "cli", "from alembic import command"),
    ("settings", "web", "import sample_house.settings"),
    ("settings", "store", "from sample_house.settings import Settings"),
    ("cycles", "services/left", "import sample_house.services.right"),
]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Runs the linter and hands back what it says."""
    return lambda directory, contract: _lint(directory, contract) or capsys.readouterr().out


def test_a_sound_house_keeps_every_contract(tmp_path: Path, report: Report) -> None:
    _build(tmp_path, {})
    for contract, name in _contracts().items():
        assert f"{name} KEPT" in report(tmp_path, contract)


@pytest.mark.parametrize(("contract", "room", "line"), UNSOUND_ROOMS)
def test_an_unsound_room_breaks_its_contract(
    contract: str, room: str, line: str, tmp_path: Path, report: Report
) -> None:
    rooms = {room: line, "services/right": "import sample_house.services.left" if "left" in room else ""}
    _build(tmp_path, rooms)
    said = report(tmp_path, contract)
    assert f"{_contracts()[contract]} BROKEN" in said
    assert room.rpartition("/")[2] in said.partition("Broken contracts")[2]


def test_every_contract_is_shown_to_fail() -> None:
    assert {contract for contract, _, _ in UNSOUND_ROOMS} == set(_contracts())


def _build(directory: Path, changes: Mapping[str, str]) -> None:
    config = (ROOT / "pyproject.toml").read_text().replace("reedbed", PACKAGE)
    (directory / "pyproject.toml").write_text(config)
    house = directory / PACKAGE
    for room, line in {"": "", **SOUND_HOUSE}.items():
        (house / room).mkdir()
        (house / room / "__init__.py").write_text(f"{line}\n")
    for room, line in changes.items():
        door = house / room / "__init__.py" if (house / room).is_dir() else house / f"{room}.py"
        with door.open("a") as file:
            file.write(f"{line}\n")


def _lint(directory: Path, contract: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(directory))
        patch.chdir(directory)
        lint_imports(
            str(directory / "pyproject.toml"), limit_to_contracts=(contract,), no_cache=True, no_logo=True
        )


def _contracts() -> dict[str, str]:
    """The name of each contract by its id."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {contract["id"]: contract["name"] for contract in config["tool"]["importlinter"]["contracts"]}
