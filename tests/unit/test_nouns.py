"""Modules are named after a noun or plumbing of docs/architecture.md; class names are unique; words are plain."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from scripts.measure import dialect_in_names, dialect_in_prose, syntax_trees

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "reedbed"
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text()
LAYERS = ("domain", "store", "services", "api", "web")


def _section(title: str) -> str:
    return DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]


def _nouns() -> set[str]:
    table = _section("The nouns").split("Plumbing has no noun")[0]
    return set(re.findall(r"`([a-z0-9_]+)`", table.split("| noun |")[1]))


def _plumbing() -> dict[str, set[str]]:
    table = _section("The nouns").split("Plumbing has no noun")[1]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    return {layer: set(re.findall(r"`([a-z0-9_]+)`", modules)) for layer, modules in rows}


def _modules(layer: str) -> set[str]:
    folder = SOURCES / layer
    files = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    return files | {package.parent.name for package in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_module_is_a_noun_or_plumbing(layer: str) -> None:
    assert _modules(layer) - _nouns() - _plumbing()[layer] == set()


@pytest.mark.parametrize("layer", LAYERS)
def test_the_plumbing_that_is_listed_exists(layer: str) -> None:
    assert _plumbing()[layer] - _modules(layer) == set()


def test_every_noun_is_used() -> None:
    assert _nouns() - set().union(*map(_modules, LAYERS)) == set()


def test_the_files_that_the_document_names_exist() -> None:
    layers = "|".join((*LAYERS, "http", "worker", "ingest", "ai", "roles"))
    paths = re.findall(rf"`((?:{layers})/[a-z0-9_/]+\.py)`", DOCUMENT)
    assert len(paths) > 20
    assert [path for path in paths if not (SOURCES / path).exists() and path.split("/")[1] != "x.py"] == []


def test_a_class_name_stands_for_one_class() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(SOURCES)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_names_and_prose_are_in_the_words_of_the_field() -> None:
    """The words that are refused are listed in `scripts/measure.py`."""
    assert dict(dialect_in_names(syntax_trees())) == {}
    assert list(dialect_in_prose()) == []
