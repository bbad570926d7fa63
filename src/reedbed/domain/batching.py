"""Long work cut into pieces, each so short that nobody notices waiting for it.

What a piece weighs is counted in entries without text: what is long counts for more. So a piece of long texts
is no longer than the one of short texts before it, from whose time its size was learnt.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

PIECE_MS = 30.0
"""How long a piece is to keep other writers waiting."""
TOO_LONG_MS = 100.0
"""What a person would notice."""
FIRST = 10.0
SMALLEST, SMALL, LARGEST = 1.0, 40.0, 200.0
SIGNS = 2_000
"""So many signs of text are as much work as an entry is without."""


def weight(signs: int) -> float:
    return 1 + signs / SIGNS


def next_size(size: float, weighed: float, took_ms: float) -> float:
    """As much as fits into the time, by what the last piece weighed and took; changing by half at most.

    Beginning and ending takes its time, too, and on a busy machine most of it, however small a piece is. So
    one that is small already grows, and becomes smaller only if it took too long.
    """
    fitting = weighed * PIECE_MS / max(took_ms, 0.1)
    if fitting > size and weighed < size / 2:
        return size  # it was only the rest of something
    least = SMALLEST if took_ms > TOO_LONG_MS else SMALL
    return min(max(fitting, size * 0.5, least), size * 1.5, LARGEST)


def cut(waiting: Sequence[T], size: float, weigh: Callable[[T], float]) -> int:
    """How many of these make the next piece: at least one, and so that no small rest is left for the last."""
    sums = list(accumulate(map(weigh, waiting)))
    share = sums[-1] / max(1, round(sums[-1] / size))
    return next((n for n, sum_ in enumerate(sums, 1) if sum_ >= share), len(sums))
