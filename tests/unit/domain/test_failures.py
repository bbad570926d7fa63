import pytest

from reedbed.domain.failures import Failure, FailureCode, untranslated
from reedbed.domain.refresh.outcomes import Failed, Fetched, Gone, NotModified, Outcome, Throttled
from reedbed.domain.refresh.state import (
    Keep,
    RedirectCount,
    Stop,
    count_redirect,
    is_move,
    status_after_failure,
    status_of,
)

TIMEOUT = Failed("temporary_error", Failure(FailureCode.SERVER_TIMEOUT, {"seconds": "30"}))


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Fetched(200, "http://a/", b"", None), "success"),
        (NotModified(), "success"),
        (Gone(), "permanent_error"),
        (Throttled(429), "temporary_error"),
        (TIMEOUT, "temporary_error"),
        (Failed("unauthorized", untranslated("")), "unauthorized"),
        (Failed("permanent_error", untranslated("")), "permanent_error"),
        (Failed("something else", untranslated("")), "temporary_error"),
    ],
)
def test_every_outcome_has_a_status_word(outcome: Outcome, status: str) -> None:
    assert status_of(outcome) == status


def test_a_feed_stops_at_its_last_allowed_failure() -> None:
    assert status_after_failure(9, TIMEOUT) == Keep()
    assert status_after_failure(10, TIMEOUT) == Stop(
        Failure(FailureCode.STOPPED_AFTER_FAILURES, {"count": 10}, TIMEOUT.failure)
    )


def test_one_strike_can_be_enough() -> None:
    assert isinstance(status_after_failure(1, TIMEOUT, max_failures=1), Stop)
    assert isinstance(status_after_failure(1, TIMEOUT, max_failures=0), Stop)


def test_gone_stops_at_once() -> None:
    assert isinstance(status_after_failure(1, Gone()), Stop)


def test_a_redirect_is_believed_at_the_third_sighting_in_a_row() -> None:
    first = count_redirect(None, 0, "http://b/")
    second = count_redirect(first.target, first.count, "http://b/")
    third = count_redirect(second.target, second.count, "http://b/")
    assert [is_move(each.count) for each in (first, second, third)] == [False, False, True]


def test_another_target_or_none_starts_the_count_again() -> None:
    assert count_redirect("http://b/", 2, "http://c/") == RedirectCount("http://c/", 1)
    assert count_redirect("http://b/", 2, None) == RedirectCount()
