"""How a check moves a feed's state on: plain values in, plain values out."""

from dataclasses import replace

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import CheckSchedule
from reedbed.domain.refresh.outcomes import CacheHeaders, Failed, Gone, Redirected, Throttled
from reedbed.domain.refresh.schedule import Bounds
from reedbed.domain.refresh.state import (
    FetchState,
    Terms,
    after_document,
    after_failure,
    after_unchanged,
    publication_gap,
)
from reedbed.domain.times import DAY, HOUR, MINUTE

OH = Failure(FailureCode.RESPONSE_UNREADABLE)
NOW = 1_790_000_000_000
TERMS = Terms(now=NOW, jitter=0.5, bounds=Bounds(), max_failures=3)
KNOWN = FetchState(
    status="success",
    etag='"a"',
    last_modified="then",
    cache_control="max-age=7200",
    expires_at=NOW + HOUR,
    body_hash="h",
    average_gap=4 * HOUR,
    newest_entry_at=NOW - HOUR,
)


def test_a_304_that_says_nothing_keeps_what_was_said_before() -> None:
    after = after_unchanged(KNOWN, CacheHeaders(), None, 304, TERMS)
    kept = ("etag", "last_modified", "cache_control", "expires_at", "body_hash", "newest_entry_at")
    assert [getattr(after, name) for name in kept] == [getattr(KNOWN, name) for name in kept]
    assert (after.last_http_status, after.last_success_at) == (304, NOW)


def test_a_new_document_replaces_the_validators_even_by_none() -> None:
    after = after_document(KNOWN, CacheHeaders(), None, 200, TERMS, body_hash="i", times=[], rhythm=CheckSchedule())
    assert (after.etag, after.last_modified, after.cache_control, after.expires_at) == (None, None, None, None)
    assert (after.body_hash, after.average_gap) == ("i", 4 * HOUR)


def test_a_failure_leaves_the_freshness_alone() -> None:
    after = after_failure(KNOWN, Failed("temporary_error", OH, 500, CacheHeaders(cache_control="no")), TERMS)
    assert (after.cache_control, after.expires_at, after.etag) == ("max-age=7200", NOW + HOUR, '"a"')
    assert (after.last_error, after.last_error_at, after.consecutive_failures) == (OH, NOW, 1)


def test_a_success_forgets_the_failures() -> None:
    failed = replace(
        KNOWN, status="temporary_error", consecutive_failures=2, last_error=OH, stopped_at=1, stop_reason=OH
    )
    after = after_unchanged(failed, CacheHeaders(), None, 304, TERMS)
    assert (after.consecutive_failures, after.last_error, after.stopped_at, after.stop_reason) == (0, None, None, None)


def test_gone_and_too_many_failures_put_a_feed_to_rest() -> None:
    gone = after_failure(KNOWN, Gone(), TERMS)
    tired = after_failure(replace(KNOWN, consecutive_failures=2), Failed("temporary_error", OH), TERMS)
    patient = after_failure(replace(KNOWN, consecutive_failures=1), Failed("temporary_error", OH), TERMS)
    assert [state.next_check_at for state in (gone, tired)] == [None, None]
    assert patient.next_check_at is not None


def test_no_server_can_ask_for_more_than_the_cap() -> None:
    after = after_failure(KNOWN, Throttled(429, CacheHeaders(retry_after=NOW + 1000 * DAY)), TERMS)
    assert after.retry_after_until == after.next_check_at == NOW + 48 * HOUR


def test_sightings_of_a_permanent_redirect_are_counted_in_a_row() -> None:
    moved, other = Redirected("https://b.test/", True), Redirected("https://b.test/", False)
    state, counts = KNOWN, []
    for redirected in (moved, moved, other, moved):
        state = after_unchanged(state, CacheHeaders(), redirected, 304, TERMS)
        counts.append(state.redirect_count)
    assert counts == [1, 2, 0, 1]


def test_a_habit_is_the_newest_publication_and_the_median_gap() -> None:
    times = [NOW - span for span in (0, HOUR, 3 * HOUR, 5 * HOUR)]
    assert publication_gap([*times, NOW + DAY], NOW) == (NOW, 2 * HOUR)
    assert publication_gap(times[:2], NOW) == (NOW, None)
    assert publication_gap([], NOW) == (None, None)


def test_the_kept_habit_gives_the_interval_of_the_publications_it_came_from() -> None:
    after = after_unchanged(KNOWN, CacheHeaders(cache_control="no-cache"), None, 304, TERMS)
    assert (after.next_check_rule, after.next_check_delay) == ("rhythm", 2 * HOUR)
    assert after.next_check_at == NOW + 2 * HOUR
    assert after.next_check_delay > MINUTE
