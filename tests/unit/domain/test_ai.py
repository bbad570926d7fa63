"""The breaker's transitions, its pace and its rests, on plain values."""

from reedbed.domain.ai import Breaker, BreakerPolicy, BreakerWait, admit, effective_state, failed, limited, succeeded
from reedbed.domain.times import HOUR, MINUTE, SECOND

POLICY = BreakerPolicy()
NOW = 1_000_000_000_000


def opened() -> Breaker:
    breaker = Breaker()
    for _ in range(POLICY.failure_threshold):
        breaker = failed(breaker, POLICY, NOW)
    return breaker


def test_it_opens_with_the_fifth_failure_in_a_row() -> None:
    breaker = Breaker()
    states = []
    for _ in range(5):
        breaker = failed(breaker, POLICY, NOW)
        states.append(breaker.state)
    assert states == ["CLOSED"] * 4 + ["OPEN"]


def test_a_success_in_between_starts_the_count_again() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker = failed(breaker, POLICY, NOW)
    breaker = failed(succeeded(breaker, POLICY, NOW), POLICY, NOW)
    assert (breaker.state, breaker.failures) == ("CLOSED", 1)


def test_an_open_one_is_left_alone_until_it_has_rested() -> None:
    assert admit(opened(), POLICY, NOW + 299 * SECOND) == BreakerWait(NOW + 300 * SECOND, "open")
    half = admit(opened(), POLICY, NOW + 300 * SECOND)
    assert isinstance(half, Breaker)
    assert (half.state, half.half_successes) == ("HALF", 0)
    assert effective_state(opened(), POLICY, NOW + 300 * SECOND) == "HALF"


def test_a_half_open_one_closes_with_the_third_success_and_opens_with_any_failure() -> None:
    half = admit(opened(), POLICY, NOW + 300 * SECOND)
    assert isinstance(half, Breaker)
    twice = succeeded(succeeded(half, POLICY, NOW), POLICY, NOW)
    assert twice.state == "HALF"
    assert failed(twice, POLICY, NOW).state == "OPEN"
    closed = succeeded(twice, POLICY, NOW)
    assert (closed.state, closed.failures) == ("CLOSED", 0)


def test_a_late_answer_does_not_close_an_open_one() -> None:
    assert succeeded(opened(), POLICY, NOW).state == "OPEN"


def test_the_pace_counts_from_the_call_and_not_from_its_end() -> None:
    called = admit(Breaker(), POLICY, NOW)
    assert isinstance(called, Breaker)
    assert admit(called, POLICY, NOW + 2_999) == BreakerWait(NOW + 3_000, "pace")
    assert isinstance(admit(called, POLICY, NOW + 3_000), Breaker)


def test_slowing_down_is_no_failure_and_lasts_a_minute_or_what_was_asked() -> None:
    breaker = limited(Breaker(), NOW)
    assert (breaker.state, breaker.failures) == ("CLOSED", 0)
    assert admit(breaker, POLICY, NOW + 59 * SECOND) == BreakerWait(NOW + MINUTE, "limited")
    assert limited(Breaker(), NOW, 10 * MINUTE).rate_limited_until == NOW + 10 * MINUTE
    assert limited(Breaker(), NOW, 99 * HOUR).rate_limited_until == NOW + HOUR
