"""The circuit breaker and the pace of one model: whether it may be asked now, and what an answer changes.

CLOSED → OPEN after so many failures in a row; OPEN → HALF when it has rested since the last failure;
HALF → CLOSED after so many successes, → OPEN on any failure. "Too many requests" is no failure: it sets a
moment before which nobody asks again.
"""

from dataclasses import replace
from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, SECOND, Instant, Millis

State = Literal["CLOSED", "OPEN", "HALF"]

RATE_LIMIT_REST: Millis = MINUTE
LONGEST_REST: Millis = 60 * MINUTE


@record
class BreakerPolicy:
    failure_threshold: int = 5
    recovery: Millis = 300 * SECOND
    half_open_successes: int = 3
    min_interval: Millis = 3 * SECOND
    """Between two calls, by whichever worker."""


@record
class Breaker:
    state: State = "CLOSED"
    failures: int = 0
    half_successes: int = 0
    last_failure_at: Instant | None = None
    last_success_at: Instant | None = None
    last_call_at: Instant | None = None
    rate_limited_until: Instant | None = None


@record
class Wait:
    until: Instant
    why: Literal["open", "limited", "pace"]


def admit(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> Breaker | Wait:
    """The breaker with the call written into it, before it is made; or how long to wait."""
    breaker = _not_ahead(breaker, now)
    if breaker.state == "OPEN":
        ready = (breaker.last_failure_at or 0) + policy.recovery
        if now < ready:
            return Wait(ready, "open")
        breaker = replace(breaker, state="HALF", half_successes=0)
    if breaker.rate_limited_until is not None and now < breaker.rate_limited_until:
        return Wait(breaker.rate_limited_until, "limited")
    if breaker.last_call_at is not None and now < breaker.last_call_at + policy.min_interval:
        return Wait(breaker.last_call_at + policy.min_interval, "pace")
    return replace(breaker, last_call_at=now)


def succeeded(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> Breaker:
    breaker = replace(breaker, last_success_at=now)
    if breaker.state == "CLOSED":
        return replace(breaker, failures=0)
    if breaker.state == "OPEN":
        return breaker  # asked before it opened: one late answer does not close it
    successes = breaker.half_successes + 1
    if successes < policy.half_open_successes:
        return replace(breaker, half_successes=successes)
    return replace(breaker, state="CLOSED", failures=0, half_successes=successes)


def failed(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> Breaker:
    breaker = replace(breaker, failures=breaker.failures + 1, last_failure_at=now)
    opens = breaker.state == "HALF" or breaker.failures >= policy.failure_threshold
    return replace(breaker, state="OPEN") if opens else breaker


def limited(breaker: Breaker, now: Instant, rest: Millis | None = None) -> Breaker:
    """The model said to slow down; a longer rest of its own is heeded, up to an hour."""
    longest = max(RATE_LIMIT_REST, min(rest or 0, LONGEST_REST))
    return replace(breaker, rate_limited_until=now + longest)


def _not_ahead(breaker: Breaker, now: Instant) -> Breaker:
    """What is said to have happened later than now was written before the clock was set back."""
    limit = now + LONGEST_REST
    return replace(
        breaker,
        last_failure_at=_at_most(breaker.last_failure_at, now),
        last_call_at=_at_most(breaker.last_call_at, now),
        rate_limited_until=_at_most(breaker.rate_limited_until, limit),
    )


def _at_most(moment: Instant | None, limit: Instant) -> Instant | None:
    return None if moment is None else min(moment, limit)


def shown_state(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> State:
    """As the next caller would meet it."""
    rested = now >= (breaker.last_failure_at or 0) + policy.recovery
    return "HALF" if breaker.state == "OPEN" and rested else breaker.state
