"""Coming back to a server that did not take something: whether it is worth it, and when."""

from reedbed.domain.times import MINUTE, Instant, Millis


def may_pass(status: int) -> bool:
    """Whether the same request may be taken later."""
    return status >= 500 or status in (408, 425, 429)


def next_try(
    began: Instant,
    now: Instant,
    *,
    give_up_after: Millis,
    least: Millis = MINUTE,
    most: Millis | None = None,
) -> Instant | None:
    """Each wait is as long as all before it: a minute, two, four …; None when it was tried long enough."""
    waited = now - began
    if waited >= give_up_after:
        return None
    wait = max(least, waited)
    return now + (wait if most is None else min(wait, most))
