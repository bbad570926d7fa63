"""How much of a thing a caller may do."""

from dataclasses import field

from reedbed.domain.records import record


@record
class Allowance:
    """`burst` at once, then `per_second` more."""

    burst: float
    per_second: float


def per_minute(count: int) -> Allowance:
    return Allowance(count, count / 60)


@record
class Limits:
    login: Allowance = field(default=per_minute(5))
    """From one address."""
    requests: Allowance = field(default=Allowance(100, 10))
    """Of one user, as the next two."""
    search: Allowance = field(default=Allowance(10, 1))
    refresh: Allowance = field(default=per_minute(10))
    deframer: Allowance = field(default=Allowance(60, 2))
    """From one address, at the deframer's public doors."""
    streams: int = 50
    """Open at once, of one user at one process."""
