"""Splitting long work into batches that are too short to delay other writers noticeably.

The cost of a batch is measured in entries without text; long texts count for more. So a batch of long texts
takes no longer than the batch of short texts before it, whose time determined the size.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

TARGET_BATCH_MS = 30.0
"""Target time for which a batch blocks other writers."""
TOO_LONG_MS = 100.0
"""Noticeable for users."""
FIRST = 10.0
MIN_SIZE, SMALL_SIZE, MAX_SIZE = 1.0, 40.0, 200.0
SIGNS = 2_000
"""This many characters of text cost as much as an entry without text."""


def weight(chars: int) -> float:
    return 1 + chars / SIGNS


def next_size(size: float, weighed: float, took_ms: float) -> float:
    """The size that fits the target time, from the cost and time of the last batch; changes by at most half.

    Starting and ending a batch takes time too, on a busy machine most of it. So a batch below
    `SMALL_SIZE` grows, and gets smaller only if it took too long.
    """
    fitting = weighed * TARGET_BATCH_MS / max(took_ms, 0.1)
    if fitting > size and weighed < size / 2:
        return size  # the last batch was only a remainder
    minimum = MIN_SIZE if took_ms > TOO_LONG_MS else SMALL_SIZE
    return min(max(fitting, size * 0.5, minimum), size * 1.5, MAX_SIZE)


def cut(waiting: Sequence[T], size: float, size_of: Callable[[T], float]) -> int:
    """How many items form the next batch: at least one, and such that no small remainder is left."""
    sums = list(accumulate(map(size_of, waiting)))
    share = sums[-1] / max(1, round(sums[-1] / size))
    return next((count for count, total in enumerate(sums, 1) if total >= share), len(sums))
