"""Templates are read by people: one element per line where it helps, and no line that must be scrolled."""

import re
from pathlib import Path

import pytest

import reedbed.web
from reedbed.web.pages import environment

TEMPLATES = Path(reedbed.web.__file__).parent / "templates"
MAX_LINE = 120
LATIN = re.compile(r"(\}\}|%\}|</a>|</code>)[,:] |join\(', '\)")
"""Separators that Japanese and Chinese write otherwise: `separator()`, `enumerated` and texts know how."""


@pytest.mark.parametrize("file", sorted(TEMPLATES.rglob("*.html")), ids=lambda file: str(file.relative_to(TEMPLATES)))
def test_lines_are_short(file: Path) -> None:
    lines = enumerate(file.read_text().splitlines(), start=1)
    assert [number for number, line in lines if len(line) > MAX_LINE] == []


@pytest.mark.parametrize("file", sorted(TEMPLATES.rglob("*.html")), ids=lambda file: str(file.relative_to(TEMPLATES)))
def test_lists_are_joined_as_the_language_does(file: Path) -> None:
    assert [line for line in file.read_text().splitlines() if LATIN.search(line)] == []


def test_the_layout_of_a_template_stays_out_of_the_page() -> None:
    environment_ = environment()
    loader = environment_.loader
    assert loader is not None
    source, _, _ = loader.get_source(environment_, "feeds/list.html")
    assert "\n " not in source
