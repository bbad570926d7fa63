"""When to come back to a server that did not take something."""

import pytest

from reedbed.domain.refresh.outcomes import is_retryable, next_try
from reedbed.domain.times import DAY, HOUR, MINUTE


def test_each_wait_is_as_long_as_all_before_it_until_it_was_tried_long_enough() -> None:
    waits: list[int] = []
    now = 0
    while (at := next_try(0, now, give_up_after=HOUR)) is not None:
        waits.append((at - now) // MINUTE)
        now = at
    assert waits == [1, 1, 2, 4, 8, 16, 32]
    assert next_try(0, 20 * HOUR, give_up_after=DAY, max_wait=6 * HOUR) == 26 * HOUR
    assert next_try(0, MINUTE, give_up_after=DAY, min_wait=5 * MINUTE) == 6 * MINUTE


@pytest.mark.parametrize(
    ("status", "again"), [(500, True), (503, True), (429, True), (408, True), (404, False), (410, False)]
)
def test_what_may_pass_is_tried_again(status: int, again: bool) -> None:
    assert is_retryable(status) is again
