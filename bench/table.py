"""What a benchmark has to say, and how it is printed.

A figure without a comparison says little, so each names what it is compared to: a peer, a naive way of doing
the same, or the promise it has to keep. Times are CPU times: on a busy machine they move less than the clock.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BEST_OF = 5


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    unit: str
    compared_to: str
    other: float
    cpu_seconds: float

    @property
    def ratio(self) -> float:
        return self.value / self.other if self.other else float("inf")


_recorded: list[Figure] = []


def record(name: str, value: float, unit: str, *, compared_to: str, other: float, cpu_seconds: float = 0.0) -> None:
    """Note a figure for the table that is printed at the end of the run."""
    _recorded.append(Figure(name, value, unit, compared_to, other, cpu_seconds))


def cpu_per_call(work: Callable[[], object], *, calls: int) -> float:
    """CPU seconds of this process for one call: the best of a few rounds, which noise can only lengthen."""
    return min(_round(work, calls) for _ in range(BEST_OF)) / calls


def _round(work: Callable[[], object], calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        work()
    return time.process_time() - started


def take_recorded() -> list[Figure]:
    figures = list(_recorded)
    _recorded.clear()
    return figures


def print_table(figures: Sequence[Figure]) -> None:
    heads = ("figure", "value", "compared to", "its value", "ratio", "CPU s")
    rows = [heads, *map(_cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.name,
        f"{figure.value:.4g} {figure.unit}",
        figure.compared_to,
        f"{figure.other:.4g} {figure.unit}",
        f"{figure.ratio:.3g}",
        f"{figure.cpu_seconds:.2f}" if figure.cpu_seconds else "-",
    )
