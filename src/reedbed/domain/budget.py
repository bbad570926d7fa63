"""What the model may cost: by tokens and by money, by day and month, for the instance and for each user.

A call is counted before it is made, with the most it can cost, and corrected after it: a call that is cut off
stays counted, so no crash and no second worker can spend more than was allowed.
"""

from datetime import UTC, datetime

from reedbed.domain.records import record
from reedbed.domain.times import DAY, Instant, from_datetime, to_datetime

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
