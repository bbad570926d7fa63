"""How hard one host may be pressed: one request a second and two at a time, unless told otherwise.

Slots are handed out by arithmetic on the last one, so any shared place that can swap a number (a dict, a row,
a Redis key) makes the pace hold across all workers.
"""

from dataclasses import dataclass

from reedbed.domain.times import SECOND, Instant, Millis

DEFAULT_DELAY: Millis = SECOND
DEFAULT_IN_FLIGHT = 2


@dataclass(frozen=True, slots=True)
class Slot:
    at: Instant
    """When this request may start; also what to keep as the host's last slot."""
    wait: Millis


def reserve(last_slot: Instant | None, now: Instant, delay: Millis = DEFAULT_DELAY) -> Slot:
    """The next free slot of a host. A delay of 0 turns pacing off."""
    if last_slot is None or delay <= 0:
        return Slot(at=now, wait=0)
    at = max(now, last_slot + delay)
    return Slot(at=at, wait=at - now)


def may_start(in_flight: int, limit: int = DEFAULT_IN_FLIGHT) -> bool:
    return limit <= 0 or in_flight < limit
