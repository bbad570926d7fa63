"""A feed whose turn it is, with all that a check needs to know."""

from collections.abc import Iterable
from dataclasses import field, replace
from itertools import pairwise
from statistics import median
from typing import Literal, assert_never

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
from reedbed.domain.refresh.schedule import (
    Bounds,
    PublishPattern,
    next_check_after_failure,
    next_check_after_success,
)
from reedbed.domain.times import Instant, Millis

Status = Literal["success", "pending", "temporary_error", "permanent_error", "unauthorized"]
"""`pending` is a feed that was never fetched."""

DEFAULT_MAX_FAILURES = 10
SIGHTINGS_TO_MOVE = 3

_FAILURES: dict[str, Status] = {"permanent_error": "permanent_error", "unauthorized": "unauthorized"}


@record
class Keep:
    pass


@record
class Stop:
    reason: str
    """One plain sentence for the feed page and the command line."""


@record
class RedirectSightings:
    """How often in a row a permanent redirect to `target` was seen; `adopt` when it is time to believe it."""

    target: str | None = None
    count: int = 0
    adopt: bool = False


def status_of(outcome: Outcome) -> Status:
    match outcome:
        case Fetched() | NotModified():
            return "success"
        case Gone():
            return "permanent_error"
        case Throttled():
            return "temporary_error"
        case Failed():
            return _FAILURES.get(outcome.kind, "temporary_error")
        case _:
            assert_never(outcome)


def status_after_failure(
    failures: int, outcome: Gone | Throttled | Failed, max_failures: int = DEFAULT_MAX_FAILURES
) -> Keep | Stop:
    """`failures` in a row, this one counted. The web heals, so nothing but 410 stops a feed at once."""
    if isinstance(outcome, Gone):
        return Stop("The site says that this feed is gone for good (410 Gone).")
    if failures < max(max_failures, 1):
        return Keep()
    times = "the first failure" if failures == 1 else f"{failures} failures in a row"
    return Stop(f"Stopped after {times}. The last one: {outcome.message.rstrip('.')}.")


def count_redirect(previous_target: str | None, count: int, seen: str | None) -> RedirectSightings:
    """`seen` is the permanent target of this check, if there was one: three in a row move the feed."""
    if seen is None:
        return RedirectSightings()
    now_seen = count + 1 if seen == previous_target else 1
    return RedirectSightings(target=seen, count=now_seen, adopt=now_seen >= SIGHTINGS_TO_MOVE)


RECENT = 20
DAMAGED = "The feed is damaged. Some of its entries may be missing."
"""Kept as `last_error` of a feed that could be read in part; its status is `success`."""


@record
class FetchState:
    """All that is kept of a feed's checks, under the names of its columns."""

    status: Status = "pending"
    etag: str | None = None
    last_modified: str | None = None
    cache_control: str | None = None
    expires_at: Instant | None = None
    retry_after_until: Instant | None = None
    last_checked_at: Instant | None = None
    next_check_at: Instant | None = None
    """None rests: stopped, paused by all, or not polled."""
    next_check_rule: str | None = None
    next_check_delay: Millis | None = None
    last_http_status: int | None = None
    last_success_at: Instant | None = None
    last_error_at: Instant | None = None
    last_error: str | None = None
    consecutive_failures: int = 0
    stopped_at: Instant | None = None
    stop_reason: str | None = None
    body_hash: str | None = None
    last_changed_at: Instant | None = None
    average_gap: Millis | None = None
    rhythm: CheckSchedule = field(default=CheckSchedule())
    redirect_url: str | None = None
    redirect_count: int = 0
    oldest_listed_id: int = 0
    newest_entry_id: int = 0
    newest_entry_at: Instant | None = None


@record
class Terms:
    """Under which a check is judged: the moment, the operator's and the readers' wishes, and chance."""

    now: Instant
    jitter: float
    bounds: Bounds
    max_failures: int
    operator: Millis | None = None
    wish: Millis | None = None
    pushed: bool = False


def after_unchanged(
    state: FetchState, hints: CacheHeaders, redirected: Redirected | None, status: int, terms: Terms
) -> FetchState:
    """304 or the same document: what the answer does not say again is kept."""
    kept = CacheHeaders(
        etag=hints.etag or state.etag,
        last_modified=hints.last_modified or state.last_modified,
        cache_control=state.cache_control if hints.cache_control is None else hints.cache_control,
        expires=state.expires_at if hints.expires is None else hints.expires,
        retry_after=hints.retry_after,
    )
    damage = DAMAGED if state.last_error == DAMAGED else None
    return _succeeded(state, kept, redirected, status, terms, damage)


def after_document(
    state: FetchState,
    hints: CacheHeaders,
    redirected: Redirected | None,
    status: int,
    terms: Terms,
    *,
    body_hash: str,
    times: Iterable[Instant],
    rhythm: CheckSchedule,
    damaged: bool = False,
) -> FetchState:
    """Another document than before. `times` are the publications it lists."""
    newest_at, gap = habit_of(times, terms.now)
    learnt = replace(
        state,
        body_hash=body_hash,
        rhythm=rhythm,
        average_gap=gap if gap is not None else state.average_gap,
        newest_entry_at=newest_at if newest_at is not None else state.newest_entry_at,
    )
    return _succeeded(learnt, hints, redirected, status, terms, DAMAGED if damaged else None)


def after_failure(state: FetchState, outcome: Gone | Throttled | Failed, terms: Terms) -> FetchState:
    failures = state.consecutive_failures + 1
    hints = CacheHeaders() if isinstance(outcome, Gone) else outcome.hints
    check = next_check_after_failure(
        terms.now,
        publish_pattern(state, terms),
        hints,
        failures=failures,
        jitter=terms.jitter,
        bounds=terms.bounds,
    )
    failed = replace(
        state,
        status=status_of(outcome),
        retry_after_until=_left_alone_until(hints, terms),
        last_checked_at=terms.now,
        next_check_at=check.at,
        next_check_rule=check.rule.value,
        next_check_delay=check.delay,
        last_http_status=outcome.status,
        last_error_at=terms.now,
        last_error=outcome.message,
        consecutive_failures=failures,
    )
    verdict = status_after_failure(failures, outcome, terms.max_failures)
    if isinstance(verdict, Stop):
        return stopped(failed, verdict.reason, terms.now)
    return failed


def stopped(state: FetchState, reason: str, now: Instant) -> FetchState:
    return replace(
        state,
        stopped_at=now,
        stop_reason=reason,
        next_check_at=None,
        next_check_rule=None,
        next_check_delay=None,
    )


def rescheduled(state: FetchState, terms: Terms) -> FetchState:
    """The next check by other wishes, counted from the last one; what the server asked for still holds."""
    if state.last_checked_at is None or state.next_check_at is None:
        return state
    since, known = state.last_checked_at, publish_pattern(state, terms)
    hints = CacheHeaders(
        cache_control=state.cache_control, expires=state.expires_at, retry_after=state.retry_after_until
    )
    if state.consecutive_failures:
        check = next_check_after_failure(
            since,
            known,
            hints,
            failures=state.consecutive_failures,
            jitter=terms.jitter,
            bounds=terms.bounds,
        )
    else:
        check = next_check_after_success(since, known, hints, jitter=terms.jitter, bounds=terms.bounds)
    return replace(
        state, next_check_at=check.at, next_check_rule=check.rule.value, next_check_delay=check.delay
    )


def publish_pattern(state: FetchState, terms: Terms) -> PublishPattern:
    """Three evenly spaced publications say all that the schedule asks of a feed's history."""
    newest, gap = state.newest_entry_at, state.average_gap
    times = () if newest is None or gap is None else (newest, newest - gap, newest - 2 * gap)
    return PublishPattern(
        times=times, rhythm=state.rhythm, operator=terms.operator, wish=terms.wish, pushed=terms.pushed
    )


def habit_of(times: Iterable[Instant], now: Instant) -> tuple[Instant | None, Millis | None]:
    """The newest publication, and the median gap between the recent ones where there are enough."""
    recent = sorted({moment for moment in times if moment <= now}, reverse=True)[:RECENT]
    if not recent:
        return None, None
    gap = int(median(newer - older for newer, older in pairwise(recent))) if len(recent) > 2 else None
    return recent[0], gap


def _succeeded(
    state: FetchState,
    kept: CacheHeaders,
    redirected: Redirected | None,
    status: int,
    terms: Terms,
    damage: str | None,
) -> FetchState:
    check = next_check_after_success(
        terms.now, publish_pattern(state, terms), kept, jitter=terms.jitter, bounds=terms.bounds
    )
    target = redirected.url if redirected and redirected.permanent else None
    sighting = count_redirect(state.redirect_url, state.redirect_count, target)
    return replace(
        state,
        status="success",
        etag=kept.etag,
        last_modified=kept.last_modified,
        cache_control=kept.cache_control,
        expires_at=kept.expires,
        retry_after_until=_left_alone_until(kept, terms),
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
        redirect_url=sighting.target,
        redirect_count=sighting.count,
    )


def _left_alone_until(hints: CacheHeaders, terms: Terms) -> Instant | None:
    """The cap ends what a server may ask for, by mistake or in malice."""
    return None if hints.retry_after is None else min(hints.retry_after, terms.now + terms.bounds.cap)


@record
class FeedMetadata:
    """What a feed says of itself, as far as it is kept."""

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
    wish: Millis | None = None
    """The shortest interval a subscriber asked for."""
    urgent: bool = False
    pushed_since: Instant | None = None
    """Set: a hub sends this feed's news."""
    push_misses: int = 0
    """How often in a row a check found what the hub should have sent."""
    about: FeedMetadata = field(default=FeedMetadata())
    state: FetchState = field(default=FetchState())
    secrets_lost: bool = False
    """Its password or proxy was encrypted with a key that is not here: it has to be entered again."""

    @property
    def first_fetch(self) -> bool:
        return self.state.last_success_at is None and self.state.newest_entry_id == 0

    @property
    def relies_on_push(self) -> bool:
        return self.pushed_since is not None and self.push_misses == 0

    @property
    def hub_was_watched(self) -> bool:
        """Whether its hub should have sent whatever appeared since the last check."""
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
