"""Every target of the Makefile installs what the code it runs imports."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"reedbed", "bench", "scripts", "tests", "tools"}
# What each target runs. The program itself, which imports a few libraries only where they are, is left out.
RUN_BY = {
    "test": ["tests"],
    "test-unit": ["tests/unit"],
    "test-e2e": ["tests/e2e"],
    "test-unit-store": ["tests/unit", "tests/store"],
    "check": ["scripts/check.py", "tools/contracts.py"],
    "format": [],
    "texts": ["scripts/texts.py"],
    "audit": ["scripts/audit.py"],
    "bench": ["bench"],
}
PROGRAMS = {"check": {"pyright", "import-linter", "ruff"}, "format": {"ruff"}, "audit": {"uv"}}


@pytest.mark.parametrize("target", RUN_BY)
def test_a_target_installs_all_that_its_code_imports(target: str, tmp_path: Path) -> None:
    installed = _installed_by(target, tmp_path)
    wanted = {name: place for path in RUN_BY[target] for name, place in _imported_by(path)}
    missing = {name: place for name, place in wanted.items() if not _distributions(name) & installed}
    assert missing == {}
    assert PROGRAMS.get(target, set()) <= installed


def test_what_two_targets_install_is_one_version() -> None:
    """`make bench` installs into the environment of the tests."""
    tests = dict(_pinned("test.txt"))
    assert {name: version for name, version in _pinned("bench.txt") if tests.get(name, version) != version} == {}


def test_every_target_is_described_and_known_here() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: (.*)$", text, re.M)[0].split())
    described = set(re.findall(r"^([a-z0-9-]+):.*## ", text, re.M))
    assert phony - described == {"test-unit-store"}  # a step of `test-newest`
    assert phony - set(RUN_BY) == {
        *("help", "run", "install", "lock", "clean"),  # they run no code of ours but the program
        *("test-newest", "test-deps", "test-long"),  # they run other targets, or no Python
    }


def test_the_search_for_pythons_passes_over_a_shim_without_a_version(tmp_path: Path) -> None:
    for name, script in {"broken": "exit 127", "old": "echo 003.010.001 old >&2; exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    asked = [str(tmp_path / name) for name in ("broken", "old", "absent")]
    found = subprocess.run(
        ["sh", "scripts/pythons.sh", "first", *asked, sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()) == Path(sys.executable)


def _installed_by(target: str, folder: Path) -> set[str]:
    """Every distribution that the target would install where nothing is installed."""
    planned = subprocess.run(
        ["make", "--dry-run", f"VENV={folder / 'venv'}", target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    files = {"uv.txt", *re.findall(r"-r requirements/([a-z]+\.txt)", planned)}
    return {name for file in files for name, _ in _pinned(file)}


def _pinned(file: str) -> list[tuple[str, str]]:
    text = (ROOT / "requirements" / file).read_text()
    return [(_plain(name), version) for name, version in re.findall(r"^([\w.-]+)\S*==([^\s;]+)", text, re.M)]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported_by(path: str) -> Iterator[tuple[str, str]]:
    """The name of every foreign module that this code imports, and the file that does so."""
    start = ROOT / path
    queue, seen = [start, *start.rglob("*.py")] if start.is_dir() else [start], set[Path]()
    while queue:
        file = queue.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        for module in _modules(file):
            top = module.partition(".")[0]
            if top in OURS - {"reedbed"}:
                queue += [ROOT / f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")]
            elif top not in OURS | sys.stdlib_module_names:
                yield top, str(file.relative_to(ROOT))


def _modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)
            yield node.module


@cache
def _distributions(module: str) -> set[str]:
    """The distributions that may bring a module; one that is not installed here is taken by its name."""
    return {_plain(name) for name in packages_distributions().get(module, [module])}
