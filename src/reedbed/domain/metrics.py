"""Counters and histograms, and the text form in which Prometheus reads them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reedbed.domain.records import record

Labels = tuple[str, ...]

MOST_SERIES = 5_000
"""Of one metric. Labels come from closed sets; should one ever not, memory stays bounded."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
COUNTS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 500.0)


@record
class Gauge:
    """A value as it is just now, read when somebody asks."""

    name: str
    help: str
    values: Mapping[Labels, float]
    labels: Labels = ()

    def lines(self) -> Iterator[str]:
        yield from _heading(self.name, self.help, "gauge")
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_braces(self.labels, labels)} {_number(value)}"


@dataclass(slots=True)
class Counter:
    """What happened so far, by label."""

    name: str
    help: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict[Labels, float])

    def add(self, *labels: str, by: float = 1) -> None:
        values = self.values
        if labels in values or len(values) < MOST_SERIES:
            values[labels] = values.get(labels, 0) + by

    def lines(self) -> Iterator[str]:
        yield from _heading(self.name, self.help, "counter")
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_braces(self.labels, labels)} {_number(value)}"


@dataclass(slots=True)
class Histogram:
    """How often which size occurred, by label."""

    name: str
    help: str
    labels: Labels = ()
    bounds: Sequence[float] = SECONDS
    counts: dict[Labels, list[int]] = field(default_factory=dict[Labels, list[int]])
    sums: dict[Labels, float] = field(default_factory=dict[Labels, float])

    def add(self, value: float, *labels: str) -> None:
        counts = self.counts.get(labels)
        if counts is None:
            if len(self.counts) >= MOST_SERIES:
                return
            counts = self.counts[labels] = [0] * (len(self.bounds) + 1)
            self.sums[labels] = 0.0
        counts[bisect_left(self.bounds, value)] += 1
        self.sums[labels] += value

    def lines(self) -> Iterator[str]:
        yield from _heading(self.name, self.help, "histogram")
        for labels in sorted(self.counts):
            yield from self._series(labels)

    def _series(self, labels: Labels) -> Iterator[str]:
        names, up_to = (*self.labels, "le"), 0
        for bound, count in zip((*self.bounds, None), self.counts[labels], strict=True):
            up_to += count
            limit = "+Inf" if bound is None else _number(bound)
            yield f"{self.name}_bucket{_braces(names, (*labels, limit))} {up_to}"
        yield f"{self.name}_sum{_braces(self.labels, labels)} {_number(self.sums[labels])}"
        yield f"{self.name}_count{_braces(self.labels, labels)} {up_to}"


def exposition(metrics: Iterable[Gauge | Counter | Histogram]) -> str:
    """The whole document, version 0.0.4 of the format."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines())


def _heading(name: str, help_: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {help_}", f"# TYPE {name} {kind}"


def _braces(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))
