"""Whether Redis answered lately. What hangs must not make every request wait to find that out again."""

import time
from collections.abc import Callable

REST_SECONDS = 2.0


class Reach:
    """Shared by everything that asks one Redis: after a loss nobody asks for two seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rests_until = 0.0

    @property
    def lost(self) -> bool:
        return self._clock() < self._rests_until

    def note_loss(self) -> None:
        self._rests_until = self._clock() + REST_SECONDS
