"""The fetch state of a feed: how a check changes it, when a feed is stopped, and the feeds that are due."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Literal, assert_never

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import CheckSchedule
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import (
    CacheHeaders,
    Failed,
    Fetched,
    FetchRequest,
    Gone,
    NotModified,
    Outcome,
    Redirected,
    Throttled,
)
from reedbed.domain.refresh.schedule import Bounds, PublishPattern, next_check_after_failure, next_check_after_success
from reedbed.domain.times import Instant, Millis

Status = Literal["success", "pending", "temporary_error", "permanent_error", "unauthorized"]
"""`pending`: never fetched."""

DEFAULT_MAX_FAILURES = 10
REDIRECTS_TO_MOVE = 3

_FAILURE_STATUSES: dict[str, Status] = {"permanent_error": "permanent_error", "unauthorized": "unauthorized"}


@record
class Keep:
    pass


@record
class Stop:
    reason: Failure


@record
class RedirectCount:
    """How often in a row successful checks saw a permanent redirect to `target`."""

    target: str | None = None
    count: int = 0


def status_of(outcome: Outcome) -> Status:
    match outcome:
        case Fetched() | NotModified():
            return "success"
        case Gone():
            return "permanent_error"
        case Throttled():
            return "temporary_error"
        case Failed():
            return _FAILURE_STATUSES.get(outcome.kind, "temporary_error")
        case _:
            assert_never(outcome)


def status_after_failure(
    failures: int, outcome: Gone | Throttled | Failed, max_failures: int = DEFAULT_MAX_FAILURES
) -> Keep | Stop:
    """`failures` in a row, including this one. Most errors are temporary; only a 410 stops a feed at once."""
    if isinstance(outcome, Gone):
        return Stop(Failure(FailureCode.FEED_GONE))
    if failures < max(max_failures, 1):
        return Keep()
    if failures == 1:
        return Stop(Failure(FailureCode.STOPPED_AFTER_FIRST, cause=outcome.failure))
    return Stop(Failure(FailureCode.STOPPED_AFTER_FAILURES, {"count": failures}, outcome.failure))


def count_redirect(previous_target: str | None, count: int, seen: str | None) -> RedirectCount:
    """`seen` is the permanent redirect target of this check, if any. Failed checks in between are not counted."""
    if seen is None:
        return RedirectCount()
    new_count = count + 1 if seen == previous_target else 1
    return RedirectCount(target=seen, count=new_count)


def is_move(redirect_count: int) -> bool:
    """Whether the feed should move to the redirect's target; `apply_redirect` may still refuse it."""
    return redirect_count >= REDIRECTS_TO_MOVE


# --- State transitions

RECENT = 20
DAMAGED = Failure(FailureCode.FEED_DAMAGED)
"""The `last_error` of a feed that was parsed only in part; its status is `success`."""


@record
class FetchState:
    """The stored state of a feed's checks; the fields are named like the columns."""

    status: Status = "pending"
    etag: str | None = None
    last_modified: str | None = None
    cache_control: str | None = None
    expires_at: Instant | None = None
    retry_after_until: Instant | None = None
    last_checked_at: Instant | None = None
    next_check_at: Instant | None = None
    """None: stopped, paused by all subscribers, or not polled."""
    next_check_rule: str | None = None
    next_check_delay: Millis | None = None
    last_http_status: int | None = None
    last_success_at: Instant | None = None
    last_error_at: Instant | None = None
    last_error: Failure | None = None
    consecutive_failures: int = 0
    stopped_at: Instant | None = None
    stop_reason: Failure | None = None
    body_hash: str | None = None
    last_changed_at: Instant | None = None
    average_gap: Millis | None = None
    """The median of the last gaps between entries (`publication_gap`)."""
    rhythm: CheckSchedule = field(default=CheckSchedule())
    redirect_url: str | None = None
    redirect_count: int = 0
    oldest_listed_id: int = 0
    newest_entry_id: int = 0
    newest_entry_at: Instant | None = None


@record
class Terms:
    """The inputs for scheduling: the time, the settings of the operator and the subscribers, and jitter."""

    now: Instant
    jitter: float
    bounds: Bounds
    max_failures: int
    operator: Millis | None = None
    subscriber_interval: Millis | None = None
    pushed: bool = False


def after_unchanged(
    state: FetchState, headers: CacheHeaders, redirected: Redirected | None, status: int, terms: Terms
) -> FetchState:
    """After a 304 or an identical document. Headers that the response omits keep their stored value."""
    merged = CacheHeaders(
        etag=headers.etag or state.etag,
        last_modified=headers.last_modified or state.last_modified,
        cache_control=state.cache_control if headers.cache_control is None else headers.cache_control,
        expires=state.expires_at if headers.expires is None else headers.expires,
        retry_after=headers.retry_after,
    )
    damage = state.last_error if state.status == "success" else None
    return _succeeded(state, merged, redirected, status, terms, damage)


def after_document(
    state: FetchState,
    headers: CacheHeaders,
    redirected: Redirected | None,
    status: int,
    terms: Terms,
    *,
    body_hash: str,
    times: Iterable[Instant],
    rhythm: CheckSchedule,
    damaged: bool = False,
) -> FetchState:
    """After a changed document. `times` are the publication times of its entries."""
    newest_at, gap = publication_gap(times, terms.now)
    updated = replace(
        state,
        body_hash=body_hash,
        rhythm=rhythm,
        average_gap=gap if gap is not None else state.average_gap,
        newest_entry_at=newest_at if newest_at is not None else state.newest_entry_at,
    )
    return _succeeded(updated, headers, redirected, status, terms, DAMAGED if damaged else None)


def after_failure(state: FetchState, outcome: Gone | Throttled | Failed, terms: Terms) -> FetchState:
    failures = state.consecutive_failures + 1
    headers = CacheHeaders() if isinstance(outcome, Gone) else outcome.hints
    check = next_check_after_failure(
        terms.now, publish_pattern(state, terms), headers, failures=failures, jitter=terms.jitter, bounds=terms.bounds
    )
    failed = replace(
        state,
        status=status_of(outcome),
        retry_after_until=_retry_after_until(headers, terms),
        last_checked_at=terms.now,
        next_check_at=check.at,
        next_check_rule=check.rule.value,
        next_check_delay=check.delay,
        last_http_status=outcome.status,
        last_error_at=terms.now,
        last_error=outcome.failure,
        consecutive_failures=failures,
    )
    decision = status_after_failure(failures, outcome, terms.max_failures)
    if isinstance(decision, Stop):
        return stopped(failed, decision.reason, terms.now)
    return failed


def stopped(state: FetchState, reason: Failure, now: Instant) -> FetchState:
    return replace(
        state, stopped_at=now, stop_reason=reason, next_check_at=None, next_check_rule=None, next_check_delay=None
    )


def rescheduled(state: FetchState, terms: Terms) -> FetchState:
    """Reschedule after a settings change, counted from the last check; the server's limits still apply."""
    if state.last_checked_at is None or state.next_check_at is None:
        return state
    since, pattern = state.last_checked_at, publish_pattern(state, terms)
    headers = CacheHeaders(
        cache_control=state.cache_control, expires=state.expires_at, retry_after=state.retry_after_until
    )
    if state.consecutive_failures:
        check = next_check_after_failure(
            since, pattern, headers, failures=state.consecutive_failures, jitter=terms.jitter, bounds=terms.bounds
        )
    else:
        check = next_check_after_success(since, pattern, headers, jitter=terms.jitter, bounds=terms.bounds)
    return replace(state, next_check_at=check.at, next_check_rule=check.rule.value, next_check_delay=check.delay)


def publish_pattern(state: FetchState, terms: Terms) -> PublishPattern:
    """Rebuilt from the average gap: three evenly spaced publications are all the schedule needs."""
    newest, gap = state.newest_entry_at, state.average_gap
    times = () if newest is None or gap is None else (newest, newest - gap, newest - 2 * gap)
    return PublishPattern(
        times=times,
        rhythm=state.rhythm,
        operator=terms.operator,
        subscriber_interval=terms.subscriber_interval,
        pushed=terms.pushed,
    )


def publication_gap(times: Iterable[Instant], now: Instant) -> tuple[Instant | None, Millis | None]:
    """The newest publication time, and the median gap between recent ones if there are enough."""
    recent = sorted({time for time in times if time <= now}, reverse=True)[:RECENT]
    if not recent:
        return None, None
    gap = _median([newer - older for newer, older in pairwise(recent)]) if len(recent) > 2 else None
    return recent[0], gap


def _median(gaps: Sequence[Millis]) -> Millis:
    # `statistics` would load half a megabyte of exact fractions.
    ordered, middle = sorted(gaps), len(gaps) // 2
    return ordered[middle] if len(gaps) % 2 else (ordered[middle - 1] + ordered[middle]) // 2


def _succeeded(
    state: FetchState,
    headers: CacheHeaders,
    redirected: Redirected | None,
    status: int,
    terms: Terms,
    damage: Failure | None,
) -> FetchState:
    check = next_check_after_success(
        terms.now, publish_pattern(state, terms), headers, jitter=terms.jitter, bounds=terms.bounds
    )
    target = redirected.url if redirected and redirected.permanent else None
    redirect = count_redirect(state.redirect_url, state.redirect_count, target)
    return replace(
        state,
        status="success",
        etag=headers.etag,
        last_modified=headers.last_modified,
        cache_control=headers.cache_control,
        expires_at=headers.expires,
        retry_after_until=_retry_after_until(headers, terms),
        last_checked_at=terms.now,
        next_check_at=check.at,
        next_check_rule=check.rule.value,
        next_check_delay=check.delay,
        last_http_status=status,
        last_success_at=terms.now,
        last_error=damage,
        consecutive_failures=0,
        stopped_at=None,
        stop_reason=None,
        redirect_url=redirect.target,
        redirect_count=redirect.count,
    )


def _retry_after_until(headers: CacheHeaders, terms: Terms) -> Instant | None:
    """Limited by the cap, because a server may send an absurd value by mistake or on purpose."""
    return None if headers.retry_after is None else min(headers.retry_after, terms.now + terms.bounds.cap)


# --- Due feeds


@record
class FeedMetadata:
    """The stored metadata of a feed."""

    title: str = ""
    description: str | None = None
    site_url: str | None = None
    self_url: str | None = None
    hub_url: str | None = None
    language: str | None = None
    icon_url: str | None = None
    guid_unreliable: bool = False
    guid_collisions: int = 0


@record
class DueFeed:
    id: int
    url: str
    host: str
    owner_id: int | None = None
    proxy: str | None = None
    user_agent: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    interval: Millis | None = None
    max_failures: int | None = None
    allow_duplicate_urls: bool = False
    subscriber_interval: Millis | None = None
    """The shortest interval that a subscriber has set."""
    urgent: bool = False
    pushed_since: Instant | None = None
    """Set while a WebSub hub pushes this feed."""
    push_misses: int = 0
    """The number of consecutive checks that found entries the hub should have sent."""
    about: FeedMetadata = field(default=FeedMetadata())
    state: FetchState = field(default=FetchState())
    secrets_lost: bool = False
    """Its password or proxy cannot be decrypted with the current key and must be entered again."""

    @property
    def first_fetch(self) -> bool:
        return self.state.last_success_at is None and self.state.newest_entry_id == 0

    @property
    def relies_on_push(self) -> bool:
        return self.pushed_since is not None and self.push_misses == 0

    @property
    def hub_was_watched(self) -> bool:
        """Whether the hub was active since the last check, so it should have sent every new entry."""
        checked = self.state.last_checked_at
        return self.pushed_since is not None and checked is not None and checked >= self.pushed_since

    def request(self) -> FetchRequest:
        return FetchRequest(
            self.url,
            etag=self.state.etag,
            last_modified=self.state.last_modified,
            user_agent=self.user_agent,
            proxy=self.proxy,
            username=self.username,
            password=self.password,
        )
