"""How long work is cut into pieces."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reedbed.services.batching import (
    FIRST,
    MAX_SIZE,
    MIN_SIZE,
    SIGNS,
    SMALL_SIZE,
    TARGET_BATCH_MS,
    TOO_LONG_MS,
    cut,
    next_size,
    weight,
)


def learnt(cost_ms: float, each_ms: float, pieces: int = 30) -> list[float]:
    """The sizes of pieces that cost so much in any case, and so much for each entry."""
    sizes = [FIRST]
    for _ in range(pieces):
        sizes.append(next_size(sizes[-1], sizes[-1], cost_ms + each_ms * sizes[-1]))
    return sizes


def test_pieces_grow_until_they_take_their_time() -> None:
    sizes = learnt(cost_ms=1, each_ms=0.3)
    assert all(after <= before * 1.5 for before, after in pairwise(sizes))
    assert 0.8 * TARGET_BATCH_MS < 1 + 0.3 * sizes[-1] < 1.2 * TARGET_BATCH_MS
    assert learnt(cost_ms=0, each_ms=0)[-1] == MAX_SIZE


def test_a_busy_machine_does_not_make_pieces_ever_smaller() -> None:
    assert learnt(cost_ms=2 * TARGET_BATCH_MS, each_ms=0.1)[-1] >= SMALL_SIZE / 2


def test_what_takes_too_long_becomes_as_small_as_can_be() -> None:
    assert learnt(cost_ms=0, each_ms=2 * TOO_LONG_MS)[-1] == MIN_SIZE


def test_a_small_rest_says_little() -> None:
    assert next_size(100, 5, 0.5) == 100
    assert next_size(100, 5, 5 * TOO_LONG_MS) < 100


def test_long_texts_count_for_more() -> None:
    texts = [0] * 50 + [SIGNS * 99] * 4
    piece = cut(texts, 100, weight)
    assert 50 <= piece <= 51
    assert cut(texts[50:], 100, weight) == 1


@given(st.lists(st.floats(min_value=1, max_value=500), min_size=1), st.floats(min_value=1, max_value=200))
def test_every_piece_takes_something_and_none_much_more_than_it_may(weights: list[float], size: float) -> None:
    count = cut(weights, size, lambda one: one)
    assert 1 <= count <= len(weights)
    assert sum(weights[: count - 1]) <= size * 1.5
