"""Counters and histograms, and the text form in which Prometheus reads them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, MINUTE, Instant, Millis, from_datetime, is_ahead, to_datetime

MIN_FREE = 100 * 1024 * 1024
STUCK_AFTER: Millis = HOUR
SILENT_AFTER: Millis = 15 * MINUTE
MIN_CHECKS = 20
"""So many must have failed together before it is our network and not theirs."""


@record
class Problem:
    text: str
    check: str
    alarm: bool = False
    """Readers notice it: nothing new arrives, or nothing can be saved."""


@record
class Measured:
    free_bytes: int | None
    """On the disk of the database; None where it is another machine's."""
    too_large: bool
    backup_failed: bool
    workers: int
    oldest_in_queue: Millis
    """How long the longest held summary has been in one worker's hands."""
    oldest_job: Millis
    """How long the longest waiting job is overdue, where none of its kind runs."""
    breaker_open_for: Millis
    overdue: Millis
    """How long the longest waiting feed is overdue."""
    last_check: Millis | None
    """How long ago any feed was checked; None: never."""
    checks: int
    failures: int
    """Of the last hour."""


NO_DATABASE = Problem(
    "The database does not answer. See that it runs and that REEDBED_DATABASE_URL is right.",
    "database",
    alarm=True,
)


def problems(measured: Measured) -> tuple[Problem, ...]:
    return (*_room(measured), *_fetching(measured), *_queues(measured))


def _room(measured: Measured) -> Iterator[Problem]:
    if measured.free_bytes is not None and measured.free_bytes < MIN_FREE:
        yield Problem(
            "Less than 100 MB are free on the disk of the database. Make room before nothing can be saved.",
            "disk",
            alarm=True,
        )
    if measured.too_large:
        yield Problem(
            "The database is larger than REEDBED_MAX_DB_SIZE_MB though all that may go is gone. "
            "Raise the limit, or keep less.",
            "size",
        )
    if measured.backup_failed:
        yield Problem(
            "Last night's copy of the database failed. The log says why; copy it with "
            "reedbed admin db backup.",
            "backup",
        )


def _fetching(measured: Measured) -> Iterator[Problem]:
    quiet = measured.last_check is None or measured.last_check > SILENT_AFTER
    if not measured.workers:
        yield Problem("No worker runs, so nothing new arrives. Start reedbed worker.", "workers", alarm=True)
    elif measured.overdue > SILENT_AFTER and quiet:
        yield Problem(
            "No feed was checked for 15 minutes though some are due. Look at reedbed admin workers and at "
            "the worker's log, and start it again.",
            "fetching",
            alarm=True,
        )
    if measured.checks >= MIN_CHECKS and measured.failures == measured.checks:
        yield Problem(
            "Every check of the last hour failed. See that this server reaches the internet and its DNS.",
            "network",
            alarm=True,
        )


def _queues(measured: Measured) -> Iterator[Problem]:
    if measured.oldest_in_queue > STUCK_AFTER:
        yield Problem(
            "A summary has been in work for more than an hour. Start the worker that holds it again.",
            "queue",
        )
    if measured.oldest_job > STUCK_AFTER:
        yield Problem("A job has waited for more than an hour. See that a worker runs, and its log.", "jobs")
    if measured.breaker_open_for > STUCK_AFTER:
        yield Problem(
            "The model has not answered for more than an hour. See its key, its limits and its address; "
            "the state is at /admin/ai.",
            "breaker",
        )


_NAME = re.compile(r"daily-(\d{8}-\d{6})\.db")
_FORM = "%Y%m%d-%H%M%S"


@record
class BackupPolicy:
    file: str
    """The SQLite file."""
    folder: str
    kept: int = 7


def name_of(moment: Instant) -> str:
    return f"daily-{to_datetime(moment).strftime(_FORM)}.db"


def moment_of(name: str) -> Instant | None:
    """When the copy of this name was made; None for files that are not ours to remove."""
    found = _NAME.fullmatch(name)
    try:
        return from_datetime(datetime.strptime(found[1], _FORM).replace(tzinfo=UTC)) if found else None
    except ValueError:
        return None


def newest_of(names: Iterable[str], now: Instant) -> Instant | None:
    """When the last copy was made; what only a wrong clock can have named does not count."""
    moments = (moment_of(name) for name in names)
    return max(
        (moment for moment in moments if moment is not None and not is_ahead(moment, now)), default=None
    )


def surplus(names: Iterable[str], kept: int, now: Instant) -> list[str]:
    """The copies beyond the newest so many. Those that a wrong clock named count as the oldest."""
    ours = [(moment, name) for name in names if (moment := moment_of(name)) is not None]
    ours.sort(key=lambda one: (not is_ahead(one[0], now), one), reverse=True)
    return [name for _, name in ours[kept:]]


Labels = tuple[str, ...]

MAX_SERIES = 5_000
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
        if labels in values or len(values) < MAX_SERIES:
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
            if len(self.counts) >= MAX_SERIES:
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
