"""What must not be anywhere in the tree: a rule worth saying twice is a check."""

import ast
import importlib
import itertools
import json
import pkgutil
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import reedbed
from scripts.measure import MAX_FILE_LINES, MAX_FUNCTION_LINES

ROOT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TEXT = {".py", ".js", ".mjs", ".css", ".html", ".md", ".toml", ".txt", ".json", ".yml", ".sh", ""}
# Spelled in parts, so that this file does not hold what it looks for.
REGISTRIES = ["pypi" + r"\.org", "python" + "hosted", "npm" + r"js\.(org|com)", "yarn" + r"pkg\.com"]
FORBIDDEN = {
    "a registry's address": "|".join(REGISTRIES),
    "a mock": "unittest" + r"[. ](import )?mock|pytest[-_]mock|Magic" + "Mock",
    "a skip mark": r"pytest\.mark\." + "(skip|xfail)",
    "a promise instead of work": r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b",
    "a path of one machine": r"(?<![\w.~])/(work/(main|shared)|home/\w+|root)/|/Us" + "ers/",
}
# A laptop without a server skips what needs it, in one place.
ONLY_SKIP = "tests/conftest.py"


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_nowhere_in_the_tree_is(kind: str) -> None:
    pattern = re.compile(FORBIDDEN[kind])
    assert _places(pattern) == []


def test_only_a_missing_server_skips_a_test() -> None:
    places = _places(re.compile(r"pytest\." + r"skip\("))
    assert {place.partition(":")[0] for place in places} == {ONLY_SKIP}


def test_locks_are_hashed_and_hold_no_address() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text()
        assert re.findall(r"^[^ ].*[^\\]$", text, re.MULTILINE) == [], f"without a hash in {lock.name}"
        assert "://" not in text, lock.name
    assert '"resolved"' not in (ROOT / "web/package-lock.json").read_text()


def test_every_direct_dependency_says_why_it_is_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    libraries = json.loads((ROOT / "web/package.json").read_text())
    python = [*project["project"]["dependencies"], *itertools.chain(*project["dependency-groups"].values())]
    names = {re.split(r"[\[<>=;~ ]", requirement)[0] for requirement in python}
    names |= {*libraries["dependencies"], *libraries["devDependencies"]}
    rows = [line for line in (ROOT / "docs/dependencies.md").read_text().splitlines() if line.startswith("|")]
    told = {name.strip() for row in rows for name in re.sub(r"\(.*?\)", "", row.split("|")[1]).split(",")}
    assert names - told == set()


def test_no_file_and_no_function_is_too_long() -> None:
    sources = ROOT / "src" / "reedbed"
    too_long: list[str] = []
    for file in sources.rglob("*.py"):
        text = file.read_text()
        if "migrations" in file.parts:
            continue
        if text.count("\n") > MAX_FILE_LINES:
            too_long.append(str(file.relative_to(sources)))
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS)]
        too_long += [
            f"{file.relative_to(sources)}: {function.name}"
            for function in functions
            if (function.end_lineno or 0) - function.lineno + 1 > MAX_FUNCTION_LINES
        ]
    assert too_long == []


@pytest.mark.parametrize(
    "pattern", [r"a++", r"[ab]*+", r"x{2}+", r"(?:a?)?+", r"(?>a)", r"[]x]++", r"\\++", r"(?P<n>(?>a)"]
)
def test_a_pattern_that_old_pythons_match_wrongly_is_found(pattern: str) -> None:
    assert _is_possessive(pattern)
    assert _is_possessive(pattern.encode())


@pytest.mark.parametrize("pattern", [r"a+b", r"[*+,+]", r"[]*+]", r"\++", r"\*+", "(?=a)", r"C\+\+", "plain"])
def test_other_patterns_are_let_through(pattern: str) -> None:
    assert not _is_possessive(pattern)


def test_no_pattern_is_possessive_or_atomic() -> None:
    """Python before 3.11.5 matches both wrongly, and Debian 12 has 3.11.2."""
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in _files()
        if file.suffix == ".py"
        for node in _patterns(ast.parse(file.read_text()), every_string=(ROOT / "src") in file.parents)
        if _is_possessive(_literal(node))
    ]
    assert found == []


def test_no_pattern_is_so_once_it_is_put_together() -> None:
    """A value that ends with a quantifier makes the `+` after it possessive, which no source shows."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(reedbed.__path__, "reedbed.")
        if not found.name.startswith("reedbed.store.migrations.")  # they run when they are imported
    ]
    patterns = [(module, pattern) for module in modules for pattern in _compiled_in(vars(module))]
    assert len(patterns) > MANY_PATTERNS
    assert [(module.__name__, pattern.pattern) for module, pattern in patterns if _is_possessive(pattern.pattern)] == []


MANY_PATTERNS = 300


def _compiled_in(value: object) -> Iterator[re.Pattern[Any]]:
    match value:
        case re.Pattern():
            yield value
        case Mapping():
            yield from _compiled_in(tuple(value.values()))
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from _compiled_in(part)
        case _:
            pass


def _patterns(tree: ast.AST, *, every_string: bool) -> Iterator[ast.expr]:
    """What `re` is called with; in the package every string, for patterns are put together from others."""
    for node in ast.walk(tree):
        if every_string and isinstance(node, ast.Constant | ast.JoinedStr):
            yield node
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[pattern, *_]):
                yield pattern
            case _:
                pass


def _literal(node: ast.expr) -> str | bytes:
    """A string as it is written, with an `x` for each value that an f-string puts in."""
    match node:
        case ast.Constant(value=str() | bytes() as value):
            return value
        case ast.JoinedStr(values=values):
            return "".join(str(_literal(value)) or "x" for value in values)
        case _:
            return ""


def _is_possessive(pattern: str | bytes) -> bool:
    if isinstance(pattern, bytes):
        pattern = pattern.decode("latin-1")
    bare = _ESCAPED_OR_CLASS.sub("x", pattern)
    return _POSSESSIVE.search(bare) is not None


# A backslash with what follows it, or a class of characters: neither is a quantifier.
_ESCAPED_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_POSSESSIVE = re.compile(r"[*+?]\+|\{[0-9]*,?[0-9]*\}\+|\(\?>")


def _places(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{number}"
        for file in _files()
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def _files() -> list[Path]:
    """What version control holds, and what is about to be added to it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    return [file for file in files if file.is_file() and file.suffix in TEXT and "tests/data" not in str(file)]
