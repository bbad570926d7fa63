from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.pacing import Slot, may_start, reserve


def test_a_fresh_host_starts_at_once() -> None:
    assert reserve(None, now=5_000) == Slot(at=5_000, wait=0)


def test_the_next_request_waits_its_second() -> None:
    assert reserve(5_000, now=5_200) == Slot(at=6_000, wait=800)
    assert reserve(5_000, now=9_000) == Slot(at=9_000, wait=0)


def test_no_delay_is_no_pacing() -> None:
    assert reserve(5_000, now=5_000, delay=0) == Slot(at=5_000, wait=0)


@given(st.lists(st.integers(0, 3_000), min_size=2, max_size=30), st.integers(1, 5_000))
def test_slots_are_always_a_delay_apart(steps: list[int], delay: int) -> None:
    now, last, slots = 0, None, list[int]()
    for step in steps:
        now += step
        last = reserve(last, now, delay).at
        slots.append(last)
    assert all(later - earlier >= delay for earlier, later in pairwise(slots))


def test_two_may_be_in_flight() -> None:
    assert [may_start(count) for count in (0, 1, 2)] == [True, True, False]
    assert may_start(99, limit=0)
