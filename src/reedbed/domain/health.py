"""What is wrong with an instance, from what was measured; each problem says its remedy."""

from collections.abc import Iterator

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, MINUTE, Millis

LEAST_FREE = 100 * 1024 * 1024
STUCK_AFTER: Millis = HOUR
SILENT_AFTER: Millis = 15 * MINUTE
LEAST_CHECKS = 20
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
    if measured.free_bytes is not None and measured.free_bytes < LEAST_FREE:
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
    if measured.checks >= LEAST_CHECKS and measured.failures == measured.checks:
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
