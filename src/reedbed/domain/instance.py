"""The instance: problems to report to the operator, daily backups, and metrics for Prometheus."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reedbed.domain.failures import FailureCode
from reedbed.domain.records import record
from reedbed.domain.times import HOUR, MINUTE, Instant, Millis, from_datetime, is_ahead, to_datetime

MIN_FREE = 100 * 1024 * 1024
STUCK_AFTER: Millis = HOUR
SILENT_AFTER: Millis = 15 * MINUTE
MIN_CHECKS = 20
"""Only if this many checks all failed, the server's own network is the likely cause."""


@record
class Problem:
    text: str
    check: str
    alarm: bool = False
    """Users notice it: nothing new arrives, or nothing can be saved."""


@record
class Measured:
    free_bytes: int | None
    """On the disk of the database; None if it is on another machine."""
    too_large: bool
    backup_failed: bool
    workers: int
    oldest_in_queue: Millis
    """How long the oldest summary in progress has been claimed by a worker."""
    oldest_job: Millis
    """How long the oldest waiting job is overdue, if no job of its kind is running."""
    breaker_open_for: Millis
    overdue: Millis
    """How long the most overdue feed is overdue."""
    last_check: Millis | None
    """Time since the last check of any feed; None if there was none."""
    checks: int
    failures: int
    """Both in the last hour."""


_PROBLEMS = (
    Problem(
        "The database does not answer. See that it runs and that REEDBED_DATABASE_URL is right.", "database", alarm=True
    ),
    Problem(
        "Less than 100 MB are free on the disk of the database. Make room before nothing can be saved.",
        "disk",
        alarm=True,
    ),
    Problem(FailureCode.DATABASE_TOO_LARGE.text, "size"),
    Problem(
        "Last night's copy of the database failed. The log says why; copy it with reedbed admin db backup.", "backup"
    ),
    Problem("No worker runs, so nothing new arrives. Start reedbed worker.", "workers", alarm=True),
    Problem(
        "No feed was checked for 15 minutes though some are due. Look at reedbed admin workers and at "
        "the worker's log, and start it again.",
        "fetching",
        alarm=True,
    ),
    Problem(
        "Every check of the last hour failed. See that this server reaches the internet and its DNS.",
        "network",
        alarm=True,
    ),
    Problem("A summary has been in progress for more than an hour. Restart the worker that holds it.", "queue"),
    Problem("A job has waited for more than an hour. See that a worker runs, and its log.", "jobs"),
    Problem(
        "The model has not answered for more than an hour. See its key, its limits and its address; "
        "the state is at /admin/ai.",
        "breaker",
    ),
)
PROBLEMS: Mapping[str, Problem] = {problem.check: problem for problem in _PROBLEMS}
"""By the check that finds it, which is what is stored."""


def problems(measured: Measured) -> tuple[Problem, ...]:
    return tuple(PROBLEMS[check] for check in _failed_checks(measured))


def _failed_checks(measured: Measured) -> Iterator[str]:
    if measured.free_bytes is not None and measured.free_bytes < MIN_FREE:
        yield "disk"
    if measured.too_large:
        yield "size"
    if measured.backup_failed:
        yield "backup"
    if not measured.workers:
        yield "workers"
    elif measured.overdue > SILENT_AFTER and (measured.last_check is None or measured.last_check > SILENT_AFTER):
        yield "fetching"
    if measured.checks >= MIN_CHECKS and measured.failures == measured.checks:
        yield "network"
    if measured.oldest_in_queue > STUCK_AFTER:
        yield "queue"
    if measured.oldest_job > STUCK_AFTER:
        yield "jobs"
    if measured.breaker_open_for > STUCK_AFTER:
        yield "breaker"


# --- Backups

_BACKUP_NAME = re.compile(r"daily-(\d{8}-\d{6})\.db")
_TIME_FORMAT = "%Y%m%d-%H%M%S"


@record
class BackupPolicy:
    file: str
    """The SQLite file."""
    folder: str
    kept: int = 7


def name_of(timestamp: Instant) -> str:
    return f"daily-{to_datetime(timestamp).strftime(_TIME_FORMAT)}.db"


def moment_of(name: str) -> Instant | None:
    """The time of a backup file; None for other files, which must not be removed."""
    match = _BACKUP_NAME.fullmatch(name)
    try:
        return from_datetime(datetime.strptime(match[1], _TIME_FORMAT).replace(tzinfo=UTC)) if match else None
    except ValueError:
        return None


def newest_of(names: Iterable[str], now: Instant) -> Instant | None:
    """The time of the last backup, ignoring future times from a wrong clock."""
    times = (moment_of(name) for name in names)
    return max((time for time in times if time is not None and not is_ahead(time, now)), default=None)


def surplus(names: Iterable[str], keep: int, now: Instant) -> list[str]:
    """The backups beyond the newest `keep`. Those with a future time from a wrong clock count as oldest."""
    backups = [(time, name) for name in names if (time := moment_of(name)) is not None]
    backups.sort(key=lambda backup: (not is_ahead(backup[0], now), backup), reverse=True)
    return [name for _, name in backups[keep:]]


# --- Metrics

Labels = tuple[str, ...]

MAX_SERIES = 5_000
"""Per metric. Labels should come from fixed sets; if one does not, this bounds the memory."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
COUNTS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 500.0)


@record
class Gauge:
    """A current value, read at each scrape."""

    name: str
    help: str
    values: Mapping[Labels, float]
    labels: Labels = ()

    def lines(self) -> Iterator[str]:
        yield from _header(self.name, self.help, "gauge")
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_label_text(self.labels, labels)} {_format_number(value)}"


@dataclass(slots=True)
class Counter:
    """A total since the start, by label."""

    name: str
    help: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict[Labels, float])

    def add(self, *labels: str, by: float = 1) -> None:
        values = self.values
        if labels in values or len(values) < MAX_SERIES:
            values[labels] = values.get(labels, 0) + by

    def lines(self) -> Iterator[str]:
        yield from _header(self.name, self.help, "counter")
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_label_text(self.labels, labels)} {_format_number(value)}"


@dataclass(slots=True)
class Histogram:
    """A distribution of values, by label."""

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
        yield from _header(self.name, self.help, "histogram")
        for labels in sorted(self.counts):
            yield from self._series(labels)

    def _series(self, labels: Labels) -> Iterator[str]:
        names, cumulative = (*self.labels, "le"), 0
        for bound, count in zip((*self.bounds, None), self.counts[labels], strict=True):
            cumulative += count
            limit = "+Inf" if bound is None else _format_number(bound)
            yield f"{self.name}_bucket{_label_text(names, (*labels, limit))} {cumulative}"
        yield f"{self.name}_sum{_label_text(self.labels, labels)} {_format_number(self.sums[labels])}"
        yield f"{self.name}_count{_label_text(self.labels, labels)} {cumulative}"


def exposition(metrics: Iterable[Gauge | Counter | Histogram]) -> str:
    """The metrics document in version 0.0.4 of the format."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines())


def _header(name: str, help_: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {help_}", f"# TYPE {name} {kind}"


def _label_text(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = ",".join(f'{name}="{_escape_label(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}"


def _escape_label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))
