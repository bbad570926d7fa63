"""What a check means for the feed: its status word, whether it goes on, whether it has moved."""

from typing import Literal, assert_never

from reedbed.domain.fetching import Failed, Fetched, Gone, NotModified, Outcome, Throttled
from reedbed.domain.records import record

Status = Literal["success", "pending", "temporary_error", "permanent_error", "unauthorized"]
"""`pending` is a feed that was never fetched."""

DEFAULT_MAX_FAILURES = 10
SIGHTINGS_TO_MOVE = 3

_FAILURES: dict[str, Status] = {"permanent_error": "permanent_error", "unauthorized": "unauthorized"}


@record
class Keep:
    pass


@record
class Stop:
    reason: str
    """One plain sentence for the feed page and the command line."""


@record
class Sighting:
    """How often in a row a permanent redirect to `target` was seen; `adopt` when it is time to believe it."""

    target: str | None = None
    count: int = 0
    adopt: bool = False


def status_of(outcome: Outcome) -> Status:
    match outcome:
        case Fetched() | NotModified():
            return "success"
        case Gone():
            return "permanent_error"
        case Throttled():
            return "temporary_error"
        case Failed():
            return _FAILURES.get(outcome.kind, "temporary_error")
        case _:
            assert_never(outcome)


def verdict_after_failure(
    failures: int, outcome: Gone | Throttled | Failed, max_failures: int = DEFAULT_MAX_FAILURES
) -> Keep | Stop:
    """`failures` in a row, this one counted. The web heals, so nothing but 410 stops a feed at once."""
    if isinstance(outcome, Gone):
        return Stop("The site says that this feed is gone for good (410 Gone).")
    if failures < max(max_failures, 1):
        return Keep()
    times = "the first failure" if failures == 1 else f"{failures} failures in a row"
    return Stop(f"Stopped after {times}. The last one: {outcome.message.rstrip('.')}.")


def redirect_sighting(previous_target: str | None, count: int, seen: str | None) -> Sighting:
    """`seen` is the permanent target of this check, if there was one: three in a row move the feed."""
    if seen is None:
        return Sighting()
    now_seen = count + 1 if seen == previous_target else 1
    return Sighting(target=seen, count=now_seen, adopt=now_seen >= SIGHTINGS_TO_MOVE)
