"""Token buckets that hold for one process, or through Redis for all of them."""

import time
from collections.abc import Callable
from typing import Protocol

from reedbed.domain.limits import Allowance

MOST_BUCKETS = 100_000


class Limiter(Protocol):
    async def wait_for(self, key: str, allowance: Allowance) -> float:
        """Take one token; 0 when it may go on, else the seconds until it may."""
        ...

    async def give_back(self, key: str, allowance: Allowance) -> None:
        """Return one token that was taken."""
        ...


class MemoryLimiter:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        now = self._clock()
        tokens, then = self._buckets.get(key, (allowance.burst, now))
        # Even a clock that only counts on goes back where a machine or a test sets it.
        tokens = min(allowance.burst, tokens + max(0.0, now - then) * allowance.per_second)
        if tokens < 1:
            self._buckets[key] = (tokens, now)
            return (1 - tokens) / allowance.per_second
        if len(self._buckets) >= MOST_BUCKETS and key not in self._buckets:
            self._forget_oldest()
        self._buckets[key] = (tokens - 1, now)
        return 0.0

    async def give_back(self, key: str, allowance: Allowance) -> None:
        if key in self._buckets:
            tokens, then = self._buckets[key]
            self._buckets[key] = (min(allowance.burst, tokens + 1), then)

    def _forget_oldest(self) -> None:
        oldest_first = sorted(self._buckets, key=lambda key: self._buckets[key][1])
        for key in oldest_first[: MOST_BUCKETS // 10]:
            del self._buckets[key]
