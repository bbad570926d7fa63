"""Each import contract of pyproject.toml can fail: a small sample package breaks it.

The contracts are the real ones, with the package renamed; the sample has every package that they name.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
PACKAGE = "sample_app"
Report = Callable[[Path, str], str]
SOUND_PACKAGES = {
    "cli": "import sample_app.roles, sample_app.settings",
    "roles": "import sample_app.settings, sample_app.web, sample_app.api, sample_app.worker",
    "settings": "import sample_app.domain",
    "web": "import sample_app.http",
    "web/views": "import sample_app.domain",
    "web/folders": "import fastapi, sample_app.web.views",
    "api": "import sample_app.http",
    "worker": "import sample_app.services",
    "http": "import sample_app.services",
    "services": "import sample_app.store, sample_app.ingest, sample_app.ai, sample_app.events",
    "store": "import alembic, asyncpg, sqlalchemy, sqlite3, sample_app.domain",
    "store/engine": "import sqlalchemy",
    "store/tables": "import sqlalchemy",
    "store/startup": "import sample_app.store.engine",
    "store/folders": "import sample_app.store.engine, sample_app.store.tables",
    "ingest": "import aiohttp, sample_app.domain",
    "ai": "import sample_app.domain",
    "events": "import sample_app.domain",
    "domain": "import dataclasses",
}
BROKEN_PACKAGES = [
    ("layers", "domain", "import sample_app.store"),
    ("layers", "services", "import sample_app.web"),
    ("layers", "web", "import sample_app.api"),
    ("layers", "api", "import sample_app.worker"),
    ("layers", "ingest", "import sample_app.store"),
    ("layers", "events", "import sample_app.ai"),
    ("layers", "an_unlisted_package", "import dataclasses"),
    ("surfaces", "web", "import sample_app.ingest"),
    ("surfaces", "api", "from sample_app.events import bus"),
    ("surfaces", "worker", "import sample_app.ai"),
    ("domain", "domain", "import aiohttp"),
    ("domain", "domain", "import time"),
    ("domain", "domain", "import os.path"),
    ("sql", "web", "import sqlite3"),
    ("sql", "services", "import sqlalchemy.orm"),
    ("sql", "worker", "from asyncpg import connect"),
    ("sql", "cli", "from alembic import command"),
    ("settings", "web", "import sample_app.settings"),
    ("settings", "store", "from sample_app.settings import Settings"),
    ("views", "web/views", "import sample_app.web.folders"),
    ("views", "web/views", "import sample_app.services"),
    ("views", "web/views", "import fastapi"),
    ("engine", "store/engine", "import sample_app.store.folders"),
    ("engine", "store/engine", "import sample_app.store.startup"),
    ("cycles", "services/left", "import sample_app.services.right"),
]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Runs the linter and hands back what it says."""
    return lambda directory, contract: _lint(directory, contract) or capsys.readouterr().out


def test_sound_packages_keep_every_contract(tmp_path: Path, report: Report) -> None:
    _build(tmp_path, {})
    for contract, name in _contracts().items():
        assert f"{name} KEPT" in report(tmp_path, contract)


@pytest.mark.parametrize(("contract", "room", "line"), BROKEN_PACKAGES)
def test_an_unsound_room_breaks_its_contract(
    contract: str, room: str, line: str, tmp_path: Path, report: Report
) -> None:
    rooms = {room: line, "services/right": "import sample_app.services.left" if "left" in room else ""}
    _build(tmp_path, rooms)
    said = report(tmp_path, contract)
    assert f"{_contracts()[contract]} BROKEN" in said
    assert room.rpartition("/")[2] in said.partition("Broken contracts")[2]


def test_every_contract_is_shown_to_fail() -> None:
    assert {contract for contract, _, _ in BROKEN_PACKAGES} == set(_contracts())


def _build(directory: Path, changes: Mapping[str, str]) -> None:
    config = (ROOT / "pyproject.toml").read_text().replace("reedbed", PACKAGE)
    (directory / "pyproject.toml").write_text(config)
    house = directory / PACKAGE
    for room, line in {"": "", **SOUND_PACKAGES}.items():
        (house / room).mkdir()
        (house / room / "__init__.py").write_text(f"{line}\n")
    for room, line in changes.items():
        endpoint = house / room / "__init__.py" if (house / room).is_dir() else house / f"{room}.py"
        with endpoint.open("a") as file:
            file.write(f"{line}\n")


def _lint(directory: Path, contract: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(directory))
        patch.chdir(directory)
        lint_imports(str(directory / "pyproject.toml"), limit_to_contracts=(contract,), no_cache=True, no_logo=True)


def _contracts() -> dict[str, str]:
    """The name of each contract by its id."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {contract["id"]: contract["name"] for contract in config["tool"]["importlinter"]["contracts"]}
