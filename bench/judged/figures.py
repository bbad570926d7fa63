"""Figures beside those of 0.1 and the goal: one table for each half."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.judged.data import HERE

GOALS: dict[str, tuple[str, float]] = {
    "stories, with leads: precision": (">=", 0.90),
    "stories, with leads: recall": (">=", 0.70),
    "headlines: B³ F1": (">=", 0.83),
    "stories: µs an entry at 20,000 stories": ("<=", 250),
    "stories: MB at 20,000 stories": ("<=", 60),
    "ask: hit@3": (">=", 0.80),
    "ask: false answers": ("<=", 0.10),
    "digest: five biggest events told": (">=", 0.85),
    "digest: their mean place": ("<=", 6),
    "digest: lines cut with …": ("<=", 0),
    "digest: events told twice, per digest": ("<=", 0),
    **{
        f"{what}: {figure}, {how}": ("<=", 0)
        for what in ("ask", "digest", "summaries")
        for figure in ("sentences without a source", "numbers not in the source")
        for how in ("without a model", "with a model that invents")
    },
    "summaries: whole from the first three sentences": ("<=", 0),
    "summaries: over 80 % of the text": ("<=", 0),
    "summaries: holds a caption or footnote mark": ("<=", 0),
    "search: sqlite, ms a query": ("<=", 6),
    "search: postgresql, ms a query": ("<=", 6),
    "articles: token F1": (">=", 0.96),
    **{f"search: sqlite, {language} forms found": (">=", 0.90) for language in ("en", "de", "fr", "es", "ru")},
    **{f"search: postgresql, {language} forms found": (">=", 0.90) for language in ("en", "de", "fr", "es", "ru")},
}


@dataclass(frozen=True, slots=True)
class Judged:
    half: str
    name: str
    value: float


def print_judged(figures: Sequence[Judged]) -> None:
    baseline = json.loads((HERE / "baseline.json").read_text("utf-8"))
    print(f"0.1: commit {baseline['commit']}, {baseline['date']}\n")
    for half in dict.fromkeys(figure.half for figure in figures):
        rows = [("figure", "0.1", "goal", "now", "")]
        before = baseline["figures"].get(half, {})
        rows += [_cells(figure, before.get(figure.name)) for figure in figures if figure.half == half]
        print(f"--- {half}\n")
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        print(flush=True)


def write_judged(figures: Sequence[Judged], file: Path) -> None:
    """As `baseline.json` holds them."""
    halves: dict[str, dict[str, float]] = {}
    for figure in figures:
        halves.setdefault(figure.half, {})[figure.name] = round(figure.value, 4)
    file.write_text(json.dumps(halves, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _cells(figure: Judged, before: float | None) -> tuple[str, ...]:
    sign, goal = GOALS.get(figure.name, ("", None))
    reached = goal is None or (figure.value >= goal if sign == ">=" else figure.value <= goal)
    return (
        figure.name,
        "-" if before is None else _number(before),
        "" if goal is None else f"{sign} {_number(goal)}",
        _number(figure.value),
        "" if reached else "missed",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 10 else f"{value:.3f}"
