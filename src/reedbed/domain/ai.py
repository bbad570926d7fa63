"""Limits on model calls: the circuit breaker, and the budgets in tokens and money per day, month and user.

A call is charged with its maximum cost before it is made and corrected afterwards. A call that is interrupted
stays charged, so neither a crash nor a second worker can overspend the budget.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from reedbed.domain.failures import FailureCode
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
    """Between two calls of any worker."""


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
    """Record the call in the breaker before it is made, or return how long to wait."""
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
        return breaker  # sent before the breaker opened: a late response does not close it
    successes = breaker.half_successes + 1
    if successes < policy.half_open_successes:
        return replace(breaker, half_successes=successes)
    return replace(breaker, state="CLOSED", failures=0, half_successes=successes)


def failed(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> Breaker:
    breaker = replace(breaker, failures=breaker.failures + 1, last_failure_at=now)
    opens = breaker.state == "HALF" or breaker.failures >= policy.failure_threshold
    return replace(breaker, state="OPEN") if opens else breaker


def limited(breaker: Breaker, now: Instant, retry_after: Millis | None = None) -> Breaker:
    """The model is rate limiting us. Its own `retry_after` is respected up to an hour."""
    delay = max(RATE_LIMIT_REST, min(retry_after or 0, MAX_REST))
    return replace(breaker, rate_limited_until=now + delay)


def _not_ahead(breaker: Breaker, now: Instant) -> Breaker:
    """Timestamps in the future were written before the clock was set back; limit them."""
    limit = now + MAX_REST
    return replace(
        breaker,
        last_failure_at=_at_most(breaker.last_failure_at, now),
        last_call_at=_at_most(breaker.last_call_at, now),
        rate_limited_until=_at_most(breaker.rate_limited_until, limit),
    )


def _at_most(timestamp: Instant | None, limit: Instant) -> Instant | None:
    return None if timestamp is None else min(timestamp, limit)


def effective_state(breaker: Breaker, policy: BreakerPolicy, now: Instant) -> State:
    """The state that the next caller would see."""
    rested = now >= (breaker.last_failure_at or 0) + policy.recovery
    return "HALF" if breaker.state == "OPEN" and rested else breaker.state


# --- Budgets

MILLIONTHS = 1_000_000


@record
class Usage:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: int = 0
    """In millionths of the currency unit."""

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
    """Per million tokens."""

    input: float = 0.0
    output: float = 0.0

    def usage(self, tokens_in: int, tokens_out: int) -> Usage:
        # The price per million tokens equals the price of one token in millionths.
        return Usage(1, tokens_in, tokens_out, round(tokens_in * self.input + tokens_out * self.output))


@record
class Budget:
    """None means unlimited. Costs are in millionths."""

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


def refusal(budget: Budget, spent: Spent, estimate: Usage) -> FailureCode | None:
    """The budget that this call would exceed, or None."""
    checks = (
        (FailureCode.BUDGET_DAILY_TOKENS, spent.day.tokens, budget.daily_tokens, estimate.tokens),
        (FailureCode.BUDGET_DAILY_COST, spent.day.cost, budget.daily_cost, estimate.cost),
        (FailureCode.BUDGET_MONTHLY_TOKENS, spent.month.tokens, budget.monthly_tokens, estimate.tokens),
        (FailureCode.BUDGET_MONTHLY_COST, spent.month.cost, budget.monthly_cost, estimate.cost),
        (FailureCode.BUDGET_USER_DAILY_TOKENS, spent.user_day.tokens, budget.user_daily_tokens, estimate.tokens),
        (FailureCode.BUDGET_USER_DAILY_COST, spent.user_day.cost, budget.user_daily_cost, estimate.cost),
    )
    return next((code for code, used, limit, additional in checks if not allows(used, limit, additional)), None)


def allows(spent: int, limit: int | None, estimate: int) -> bool:
    return limit is None or spent + estimate <= limit


def is_spent(budget: Budget, spent: Spent) -> bool:
    """The budget of the instance is used up for all users."""
    limits = (
        (spent.day.tokens, budget.daily_tokens),
        (spent.day.cost, budget.daily_cost),
        (spent.month.tokens, budget.monthly_tokens),
        (spent.month.cost, budget.monthly_cost),
    )
    return any(limit is not None and used >= limit for used, limit in limits)


def is_spent_for_user(budget: Budget, spent: Spent) -> bool:
    """The budget is used up for this user."""
    return refusal(budget, spent, Usage(calls=1, tokens_in=1, cost=1)) is not None


def day_start(now: Instant) -> Instant:
    return now - now % DAY


def month_start(now: Instant) -> Instant:
    time = to_datetime(now)
    return from_datetime(datetime(time.year, time.month, 1, tzinfo=UTC))
