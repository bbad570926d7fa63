"""What the model may cost: by tokens and by money, by day and month, for the instance and for each user.

A call is counted before it is made, with the most it can cost, and corrected after it: a call that is cut off
stays counted, so no crash and no second worker can spend more than was allowed.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.times import DAY, MINUTE, SECOND, Instant, Millis, from_datetime, to_datetime

State = Literal["CLOSED", "OPEN", "HALF"]

RATE_LIMIT_REST: Millis = MINUTE
MAX_REST: Millis = 60 * MINUTE


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
class BreakerWait:
    until: Instant
    why: Literal["open", "limited", "pace"]


def admit(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> Breaker | BreakerWait:
    """The breaker with the call written into it, before it is made; or how long to wait."""
    breaker = _not_ahead(breaker, now)
    if breaker.state == "OPEN":
        ready = (breaker.last_failure_at or 0) + policy.recovery
        if now < ready:
            return BreakerWait(ready, "open")
        breaker = replace(breaker, state="HALF", half_successes=0)
    if breaker.rate_limited_until is not None and now < breaker.rate_limited_until:
        return BreakerWait(breaker.rate_limited_until, "limited")
    if breaker.last_call_at is not None and now < breaker.last_call_at + policy.min_interval:
        return BreakerWait(breaker.last_call_at + policy.min_interval, "pace")
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
    longest = max(RATE_LIMIT_REST, min(rest or 0, MAX_REST))
    return replace(breaker, rate_limited_until=now + longest)


def _not_ahead(breaker: Breaker, now: Instant) -> Breaker:
    """What is said to have happened later than now was written before the clock was set back."""
    limit = now + MAX_REST
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


MILLIONTHS = 1_000_000


@record
class Usage:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: int = 0
    """Millionths of the currency of the prices."""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls - other.calls,
            self.tokens_in - other.tokens_in,
            self.tokens_out - other.tokens_out,
            self.cost - other.cost,
        )


@record
class Price:
    """For a million tokens."""

    input: float = 0.0
    output: float = 0.0

    def usage(self, tokens_in: int, tokens_out: int) -> Usage:
        # A price for a million tokens is the price of one token in millionths.
        return Usage(1, tokens_in, tokens_out, round(tokens_in * self.input + tokens_out * self.output))


@record
class Budget:
    """None is without end. Money is in millionths."""

    daily_tokens: int | None = None
    daily_cost: int | None = None
    monthly_tokens: int | None = None
    monthly_cost: int | None = None
    user_daily_tokens: int | None = None
    user_daily_cost: int | None = None


@record
class Spent:
    day: Usage = Usage()
    month: Usage = Usage()
    user_day: Usage = Usage()


def refusal(budget: Budget, spent: Spent, estimate: Usage) -> str | None:
    """The name of the budget that this call would break, or None."""
    checks = (
        ("daily tokens", spent.day.tokens, budget.daily_tokens, estimate.tokens),
        ("daily cost", spent.day.cost, budget.daily_cost, estimate.cost),
        ("monthly tokens", spent.month.tokens, budget.monthly_tokens, estimate.tokens),
        ("monthly cost", spent.month.cost, budget.monthly_cost, estimate.cost),
        ("your daily tokens", spent.user_day.tokens, budget.user_daily_tokens, estimate.tokens),
        ("your daily cost", spent.user_day.cost, budget.user_daily_cost, estimate.cost),
    )
    return next((name for name, used, limit, more in checks if not allows(used, limit, more)), None)


def allows(spent: int, limit: int | None, estimate: int) -> bool:
    return limit is None or spent + estimate <= limit


def is_spent(budget: Budget, spent: Spent) -> bool:
    """Nothing at all can be asked any more, by anybody."""
    limits = (
        (spent.day.tokens, budget.daily_tokens),
        (spent.day.cost, budget.daily_cost),
        (spent.month.tokens, budget.monthly_tokens),
        (spent.month.cost, budget.monthly_cost),
    )
    return any(limit is not None and used >= limit for used, limit in limits)


def is_spent_for_user(budget: Budget, spent: Spent) -> bool:
    """Nothing at all can be asked any more by the one whose share of it this is."""
    return refusal(budget, spent, Usage(calls=1, tokens_in=1, cost=1)) is not None


def day_start(now: Instant) -> Instant:
    return now - now % DAY


def month_start(now: Instant) -> Instant:
    moment = to_datetime(now)
    return from_datetime(datetime(moment.year, moment.month, 1, tzinfo=UTC))
