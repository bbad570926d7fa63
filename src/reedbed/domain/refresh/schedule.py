"""When a feed is checked next, and which rule decided it.

    after a success   max(interval, Retry-After, freshness)
    after a failure   max(interval, Retry-After, base * 1.8 ** failures)

`interval` is the operator's setting for the feed, else a day while a hub pushes it, else the shortest
interval that a subscriber has set, else half the gap between its entries, else the base (`FETCH_INTERVAL`).
Every delay is at least a minute and at most the cap.
"""

import re
from collections.abc import Sequence
from dataclasses import field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Literal

from reedbed.domain.feeds import CheckSchedule
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import CacheHeaders
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis, to_datetime

GROWTH = 1.8
JITTER = 0.1
MIN_INTERVAL: Millis = MINUTE
PUSHED: Millis = DAY

_RECENT = 20
_QUIET_DIVISOR = 10
_MIN_FRESHNESS: Millis = MINUTE


class IntervalRule(StrEnum):
    """Stored with the next check; `explain` turns it into a sentence."""

    BASE = "base"
    OPERATOR = "operator"
    PUSH = "push"
    SUBSCRIBER = "wish"
    RHYTHM = "rhythm"
    BUSY = "busy"
    SLOW = "slow"
    QUIET = "quiet"
    HINT = "hint"
    SKIP = "skip"
    RETRY_AFTER = "retry_after"
    FRESHNESS = "freshness"
    BACKOFF = "backoff"
    CAP = "cap"


@record
class Bounds:
    """`base` and `cap` are the operator's; `minimum` and `maximum` limit the interval that Reedbed chooses itself."""

    base: Millis = 30 * MINUTE
    cap: Millis = 48 * HOUR
    minimum: Millis = 15 * MINUTE
    maximum: Millis = 24 * HOUR


DEFAULT_BOUNDS = Bounds()


@record
class PublishPattern:
    """The inputs for a feed's normal interval."""

    times: Sequence[Instant] = ()
    """Publication times of its recent entries, in any order."""
    rhythm: CheckSchedule = field(default=CheckSchedule())
    """What the feed itself asks for."""
    operator: Millis | None = None
    """The operator's interval for this feed; not limited by `minimum` and `maximum`."""
    subscriber_interval: Millis | None = None
    """The shortest interval that a subscriber has set."""
    pushed: bool = False
    """A hub pushes new entries; checks only make sure that none was lost."""


@record
class NextCheck:
    at: Instant
    rule: IntervalRule
    delay: Millis
    """The delay of the rule before jitter, stored with the rule for `explain`."""


@record
class Delay:
    span: Millis
    rule: IntervalRule


def next_check_after_success(
    now: Instant,
    publish_pattern: PublishPattern,
    headers: CacheHeaders,
    *,
    jitter: float,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> NextCheck:
    """`jitter` is a random number from 0 to 1. It spreads checks over 90 to 110 % of the interval, within
    the bounds."""
    interval = ordinary_interval(now, publish_pattern, bounds)
    server_delay = _longest(_retry_after(now, headers), _freshness(now, headers))
    check = _next_check(now, _longest(interval, server_delay), server_delay.span, jitter, bounds)
    automatic = interval.rule not in (IntervalRule.OPERATOR, IntervalRule.SUBSCRIBER)
    return _outside_skipped_hours(now, check, publish_pattern.rhythm, bounds) if automatic else check


def next_check_after_failure(
    now: Instant,
    publish_pattern: PublishPattern,
    headers: CacheHeaders,
    *,
    failures: int,
    jitter: float,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> NextCheck:
    """`failures` in a row, including this one."""
    server_delay = _retry_after(now, headers)
    backoff = Delay(_backoff(failures, bounds), IntervalRule.BACKOFF)
    # The hub may be broken too, so a failing feed does not get the long push interval.
    delay = _longest(backoff, server_delay, ordinary_interval(now, replace(publish_pattern, pushed=False), bounds))
    return _next_check(now, delay, server_delay.span, jitter, bounds)


def ordinary_interval(now: Instant, publish_pattern: PublishPattern, bounds: Bounds = DEFAULT_BOUNDS) -> Delay:
    if publish_pattern.operator is not None:
        return Delay(max(publish_pattern.operator, MIN_INTERVAL), IntervalRule.OPERATOR)
    if publish_pattern.pushed:
        return Delay(PUSHED, IntervalRule.PUSH)
    if publish_pattern.subscriber_interval is not None:
        span = _clamp(publish_pattern.subscriber_interval, bounds.minimum, bounds.maximum)
        return Delay(span, IntervalRule.SUBSCRIBER)
    own_interval = _own_interval(now, publish_pattern.times, bounds)
    feed_interval = publish_pattern.rhythm.interval
    if feed_interval is not None and feed_interval > own_interval.span:
        return Delay(max(own_interval.span, min(feed_interval, bounds.maximum)), IntervalRule.HINT)
    return own_interval


def freshness(cache_control: str | None, expires: Instant | None, now: Instant) -> Millis | None:
    """How long the response is fresh according to its headers; None if unknown or under a minute."""
    directives = (cache_control or "").lower()
    if "no-store" in directives or "no-cache" in directives:
        return None
    age = _MAX_AGE.search(directives)
    if age:
        span = int(age.group(1)) * SECOND
    elif expires is not None:
        span = expires - now
    else:
        return None
    return span if span >= _MIN_FRESHNESS else None


_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,12})")


def _own_interval(now: Instant, times: Sequence[Instant], bounds: Bounds) -> Delay:
    """Half the median gap between recent entries, so that an entry waits a quarter of the gap on average.

    A quiet feed is checked less often the longer it is quiet. Otherwise a feed that once posted hourly would
    be checked hourly for ever.
    """
    recent = sorted({time for time in times if time <= now}, reverse=True)[:_RECENT]
    if len(recent) < 3:
        return Delay(max(bounds.base, MIN_INTERVAL), IntervalRule.BASE)
    gap = _median([newer - older for newer, older in pairwise(recent)])
    silence = (now - recent[0]) // _QUIET_DIVISOR
    half, rule = (silence // 2, IntervalRule.QUIET) if silence > gap else (gap // 2, IntervalRule.RHYTHM)
    if half < bounds.minimum:
        return Delay(bounds.minimum, IntervalRule.BUSY)
    return Delay(bounds.maximum, IntervalRule.SLOW) if half > bounds.maximum else Delay(half, rule)


def _median(spans: list[Millis]) -> Millis:
    ordered, middle = sorted(spans), len(spans) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2


def _backoff(failures: int, bounds: Bounds) -> Millis:
    # 1.8 ** 64 is beyond any cap; larger exponents would overflow a float.
    return int(min(bounds.base * GROWTH ** min(failures, 64), bounds.cap))


def _retry_after(now: Instant, headers: CacheHeaders) -> Delay:
    return Delay(max((headers.retry_after or now) - now, 0), IntervalRule.RETRY_AFTER)


def _freshness(now: Instant, headers: CacheHeaders) -> Delay:
    return Delay(freshness(headers.cache_control, headers.expires, now) or 0, IntervalRule.FRESHNESS)


def _longest(*delays: Delay) -> Delay:
    """On a tie the first one, so that the more common rule is the explanation."""
    return max(delays, key=lambda delay: delay.span)


def _next_check(now: Instant, delay: Delay, server_delay: Millis, jitter: float, bounds: Bounds) -> NextCheck:
    """Apply jitter and the cap. The delay is never shorter than the server's minimum, unless the cap is.

    Jitter does not move a delay out of the bounds that it is within.
    """
    cap = max(bounds.cap, MIN_INTERVAL)
    span = _clamp(delay.span, MIN_INTERVAL, cap)
    rule = IntervalRule.CAP if delay.span > cap else delay.rule
    earliest = max(int(span * (1 - JITTER)), bounds.minimum if span >= bounds.minimum else MIN_INTERVAL)
    latest = min(int(span * (1 + JITTER)), bounds.maximum if span <= bounds.maximum else cap)
    jittered = earliest + int((latest - earliest) * jitter)
    return NextCheck(at=now + _clamp(max(jittered, server_delay), MIN_INTERVAL, cap), rule=rule, delay=span)


def _outside_skipped_hours(now: Instant, check: NextCheck, rhythm: CheckSchedule, bounds: Bounds) -> NextCheck:
    if not rhythm.skip_hours and not rhythm.skip_days:
        return check
    at, latest = check.at, now + max(bounds.cap, MIN_INTERVAL)
    while _is_skipped(at, rhythm):
        at = (at // HOUR + 1) * HOUR
        if at > latest:
            return check
    return check if at == check.at else NextCheck(at=at, rule=IntervalRule.SKIP, delay=at - now)


def _is_skipped(timestamp: Instant, rhythm: CheckSchedule) -> bool:
    time = to_datetime(timestamp)
    return time.hour in rhythm.skip_hours or time.weekday() in rhythm.skip_days


def _clamp(span: Millis, minimum: Millis, maximum: Millis) -> Millis:
    return max(minimum, min(span, maximum))


# --- Explaining


def explain(rule: str, delay: Millis) -> str:
    """A sentence for the feed page, from the rule and delay stored with the next check."""
    every = format_duration(delay)
    match rule:
        case IntervalRule.RHYTHM:
            return f"Checked every {every}, because the feed publishes about every {format_duration(2 * delay)}."
        case IntervalRule.QUIET:
            quiet = format_duration(2 * _QUIET_DIVISOR * delay)
            return f"Checked every {every}, because nothing has been published for {quiet}."
        case (
            IntervalRule.RETRY_AFTER
            | IntervalRule.FRESHNESS
            | IntervalRule.SKIP
            | IntervalRule.BACKOFF
            | IntervalRule.CAP
        ):
            wait = "a minute" if every == "minute" else every
            return f"Checked again after {wait}, because {_REASONS[rule]}."
        case _:
            reason = _REASONS.get(rule)
            return f"Checked every {every}, because {reason}." if reason else f"Checked every {every}."


_REASONS: dict[str, str] = {
    IntervalRule.BASE: "the feed has no history yet",
    IntervalRule.OPERATOR: "the interval was set for this feed",
    IntervalRule.PUSH: "its hub sends new entries at once",
    IntervalRule.SUBSCRIBER: "a subscriber asked for it",
    IntervalRule.BUSY: "the feed publishes often",
    IntervalRule.SLOW: "the feed publishes rarely",
    IntervalRule.HINT: "the feed asks for it",
    IntervalRule.SKIP: "the feed asks not to be read before then",
    IntervalRule.RETRY_AFTER: "the server asked to wait",
    IntervalRule.FRESHNESS: "the server says its answer stays fresh that long",
    IntervalRule.BACKOFF: "the last check failed",
    IntervalRule.CAP: "that is the longest Reedbed waits",
}


Unit = Literal["second", "minute", "hour", "day"]


def format_duration(span: Millis) -> str:
    """`45 minutes`, `3 hours`, `2 days`."""
    number, unit = round_duration(span)
    return unit if number == 1 else f"{number} {unit}s"


def round_duration(span: Millis) -> tuple[int, Unit]:
    """Rounded to a readable unit."""
    if span < 100 * SECOND:
        return (round(span / SECOND), "second") if span < MINUTE - SECOND // 2 else (1, "minute")
    if span < 100 * MINUTE:
        return round(span / MINUTE), "minute"
    if span < 36 * HOUR:
        return round(span / HOUR), "hour"
    return round(span / DAY), "day"
