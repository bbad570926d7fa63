import pytest

from reedbed.domain.refresh.outcomes import Failed, Fetched, Gone, NotModified, Outcome, Throttled
from reedbed.domain.refresh.state import (
    Keep,
    Sighting,
    Stop,
    redirect_sighting,
    status_of,
    verdict_after_failure,
)

TIMEOUT = Failed("temporary_error", "The server did not answer in time.")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Fetched(200, "http://a/", b"", None), "success"),
        (NotModified(), "success"),
        (Gone(), "permanent_error"),
        (Throttled(429), "temporary_error"),
        (TIMEOUT, "temporary_error"),
        (Failed("unauthorized", ""), "unauthorized"),
        (Failed("permanent_error", ""), "permanent_error"),
        (Failed("something else", ""), "temporary_error"),
    ],
)
def test_every_outcome_has_a_status_word(outcome: Outcome, status: str) -> None:
    assert status_of(outcome) == status


def test_a_feed_stops_at_its_last_allowed_failure() -> None:
    assert verdict_after_failure(9, TIMEOUT) == Keep()
    assert verdict_after_failure(10, TIMEOUT) == Stop(
        "Stopped after 10 failures in a row. The last one: The server did not answer in time."
    )


def test_one_strike_can_be_enough() -> None:
    assert isinstance(verdict_after_failure(1, TIMEOUT, max_failures=1), Stop)
    assert isinstance(verdict_after_failure(1, TIMEOUT, max_failures=0), Stop)


def test_gone_stops_at_once() -> None:
    assert isinstance(verdict_after_failure(1, Gone()), Stop)


def test_a_redirect_is_believed_at_the_third_sighting_in_a_row() -> None:
    first = redirect_sighting(None, 0, "http://b/")
    second = redirect_sighting(first.target, first.count, "http://b/")
    third = redirect_sighting(second.target, second.count, "http://b/")
    assert [first.adopt, second.adopt, third.adopt] == [False, False, True]


def test_another_target_or_none_starts_the_count_again() -> None:
    assert redirect_sighting("http://b/", 2, "http://c/") == Sighting("http://c/", 1)
    assert redirect_sighting("http://b/", 2, None) == Sighting()
