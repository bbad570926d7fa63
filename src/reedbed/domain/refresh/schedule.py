"""When a feed is checked next, and which rule said so.

    after a success   max(interval, Retry-After, freshness)
    after a failure   max(interval, Retry-After, base * 1.8 ** failures)

`interval` is what the operator set for the feed, else a day while a hub sends its news by itself, else the
shortest wish of its subscribers, else half the gap between its own entries, else the base (`FETCH_INTERVAL`).
The cap ends every delay; none is under a minute.
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
SHORTEST: Millis = MINUTE
PUSHED: Millis = DAY

_RECENT = 20
_QUIET_SHARE = 10
_MIN_FRESHNESS: Millis = MINUTE


class IntervalRule(StrEnum):
    """The word kept beside the next check; `explain` turns it into a sentence."""

    BASE = "base"
    OPERATOR = "operator"
    PUSH = "push"
    WISH = "wish"
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
    """The operator's settings; `least` and `most` hold the interval that Reedbed chooses by itself."""

    base: Millis = 30 * MINUTE
    cap: Millis = 48 * HOUR
    least: Millis = 15 * MINUTE
    most: Millis = 24 * HOUR


DEFAULT_BOUNDS = Bounds()


@record
class PublishPattern:
    """All that decides a feed's ordinary interval."""

    times: Sequence[Instant] = ()
    """When its recent entries were published, in any order."""
    rhythm: CheckSchedule = field(default=CheckSchedule())
    operator: Millis | None = None
    """The interval set for the feed itself: it may leave `least` and `most`."""
    wish: Millis | None = None
    """The shortest interval a subscriber asked for."""
    pushed: bool = False
    """A hub sends its news: checks only make sure that none was lost."""


@record
class NextCheck:
    at: Instant
    rule: IntervalRule
    delay: Millis
    """The span the rule gave, before jitter: keep it with the rule for `explain`."""


@record
class Delay:
    span: Millis
    rule: IntervalRule


def next_check_after_success(
    now: Instant,
    publish_pattern: PublishPattern,
    hints: CacheHeaders,
    *,
    jitter: float,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> NextCheck:
    """`jitter` is a random number from 0 to 1 that spreads feeds over 90 to 110 % of their interval, within
    the bounds."""
    interval = ordinary_interval(now, publish_pattern, bounds)
    promised = _longest(_retry_after(now, hints), _freshness(now, hints))
    check = _settle(now, _longest(interval, promised), promised.span, jitter, bounds)
    by_itself = interval.rule not in (IntervalRule.OPERATOR, IntervalRule.WISH)
    return _outside_skipped_hours(now, check, publish_pattern.rhythm, bounds) if by_itself else check


def next_check_after_failure(
    now: Instant,
    publish_pattern: PublishPattern,
    hints: CacheHeaders,
    *,
    failures: int,
    jitter: float,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> NextCheck:
    """`failures` in a row, this one counted."""
    promised = _retry_after(now, hints)
    backoff = Delay(_backoff(failures, bounds), IntervalRule.BACKOFF)
    # A hub may be as broken as the site: what failed is not left alone for a day.
    delay = _longest(
        backoff, promised, ordinary_interval(now, replace(publish_pattern, pushed=False), bounds)
    )
    return _settle(now, delay, promised.span, jitter, bounds)


def ordinary_interval(
    now: Instant, publish_pattern: PublishPattern, bounds: Bounds = DEFAULT_BOUNDS
) -> Delay:
    if publish_pattern.operator is not None:
        return Delay(max(publish_pattern.operator, SHORTEST), IntervalRule.OPERATOR)
    if publish_pattern.pushed:
        return Delay(PUSHED, IntervalRule.PUSH)
    if publish_pattern.wish is not None:
        return Delay(_clamp(publish_pattern.wish, bounds.least, bounds.most), IntervalRule.WISH)
    own = _own_interval(now, publish_pattern.times, bounds)
    hint = publish_pattern.rhythm.interval
    if hint is not None and hint > own.span:
        return Delay(max(own.span, min(hint, bounds.most)), IntervalRule.HINT)
    return own


def freshness(cache_control: str | None, expires: Instant | None, now: Instant) -> Millis | None:
    """How long the answer says it stays fresh; None when it does not say, or says less than a minute."""
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
    """Half the median gap between the recent entries, so that an entry waits a quarter of it on average.

    A feed long silent slows down with its silence, else one that once posted hourly is asked hourly for ever.
    """
    recent = sorted({moment for moment in times if moment <= now}, reverse=True)[:_RECENT]
    if len(recent) < 3:
        return Delay(max(bounds.base, SHORTEST), IntervalRule.BASE)
    gap = _median([newer - older for newer, older in pairwise(recent)])
    silence = (now - recent[0]) // _QUIET_SHARE
    half, rule = (silence // 2, IntervalRule.QUIET) if silence > gap else (gap // 2, IntervalRule.RHYTHM)
    if half < bounds.least:
        return Delay(bounds.least, IntervalRule.BUSY)
    return Delay(bounds.most, IntervalRule.SLOW) if half > bounds.most else Delay(half, rule)


def _median(spans: list[Millis]) -> Millis:
    ordered, middle = sorted(spans), len(spans) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2


def _backoff(failures: int, bounds: Bounds) -> Millis:
    # 64 steps of 1.8 are beyond any cap; more would leave the range of floats.
    return int(min(bounds.base * GROWTH ** min(failures, 64), bounds.cap))


def _retry_after(now: Instant, hints: CacheHeaders) -> Delay:
    return Delay(max((hints.retry_after or now) - now, 0), IntervalRule.RETRY_AFTER)


def _freshness(now: Instant, hints: CacheHeaders) -> Delay:
    return Delay(freshness(hints.cache_control, hints.expires, now) or 0, IntervalRule.FRESHNESS)


def _longest(*delays: Delay) -> Delay:
    """The first of the longest, so that a tie is explained by the more ordinary rule."""
    return max(delays, key=lambda delay: delay.span)


def _settle(now: Instant, delay: Delay, promised: Millis, jitter: float, bounds: Bounds) -> NextCheck:
    """Jitter moves Reedbed's own choice; what the server asked for is never undercut, except by the cap.

    It leads no span out of the bounds in which the span itself lies.
    """
    cap = max(bounds.cap, SHORTEST)
    span = _clamp(delay.span, SHORTEST, cap)
    rule = IntervalRule.CAP if delay.span > cap else delay.rule
    earliest = max(int(span * (1 - JITTER)), bounds.least if span >= bounds.least else SHORTEST)
    latest = min(int(span * (1 + JITTER)), bounds.most if span <= bounds.most else cap)
    moved = earliest + int((latest - earliest) * jitter)
    return NextCheck(at=now + _clamp(max(moved, promised), SHORTEST, cap), rule=rule, delay=span)


def _outside_skipped_hours(
    now: Instant, check: NextCheck, rhythm: CheckSchedule, bounds: Bounds
) -> NextCheck:
    if not rhythm.skip_hours and not rhythm.skip_days:
        return check
    at, latest = check.at, now + max(bounds.cap, SHORTEST)
    while _is_skipped(at, rhythm):
        at = (at // HOUR + 1) * HOUR
        if at > latest:
            return check
    return check if at == check.at else NextCheck(at=at, rule=IntervalRule.SKIP, delay=at - now)


def _is_skipped(moment: Instant, rhythm: CheckSchedule) -> bool:
    when = to_datetime(moment)
    return when.hour in rhythm.skip_hours or when.weekday() in rhythm.skip_days


def _clamp(span: Millis, least: Millis, most: Millis) -> Millis:
    return max(least, min(span, most))


def explain(rule: str, delay: Millis) -> str:
    """One plain sentence for the feed page, from the rule and delay kept with the next check."""
    every = spell_span(delay)
    match rule:
        case IntervalRule.RHYTHM:
            return f"Checked every {every}, because the feed publishes about every {spell_span(2 * delay)}."
        case IntervalRule.QUIET:
            quiet = spell_span(2 * _QUIET_SHARE * delay)
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
    IntervalRule.PUSH: "its hub sends news as they happen",
    IntervalRule.WISH: "a subscriber asked for it",
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


def spell_span(span: Millis) -> str:
    """`45 minutes`, `3 hours`, `2 days`."""
    number, unit = measure_span(span)
    return unit if number == 1 else f"{number} {unit}s"


def measure_span(span: Millis) -> tuple[int, Unit]:
    """Rounded to what a person would say."""
    if span < 100 * SECOND:
        return (round(span / SECOND), "second") if span < MINUTE - SECOND // 2 else (1, "minute")
    if span < 100 * MINUTE:
        return round(span / MINUTE), "minute"
    if span < 36 * HOUR:
        return round(span / HOUR), "hour"
    return round(span / DAY), "day"
