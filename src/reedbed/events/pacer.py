"""Politeness towards each host, across all workers: one request per `delay`, in the order they ask."""

import time
from collections.abc import Callable
from typing import Protocol

from reedbed.domain.times import HOUR, SECOND, Millis

FORGET_AFTER = 4_096
LONGEST_WAIT: Millis = HOUR
"""No queue at a host is longer; a turn beyond is a clock that was set."""


class Pacer(Protocol):
    async def reserve(self, host: str, delay: Millis) -> Millis:
        """How long to wait for this caller's turn; the next caller's is `delay` later."""
        ...


class MemoryPacer:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, Millis] = {}

    async def reserve(self, host: str, delay: Millis) -> Millis:
        now = int(self._clock() * SECOND)
        turn = min(max(now, self._next.get(host, 0)), now + LONGEST_WAIT)
        self._next[host] = turn + delay
        if len(self._next) > FORGET_AFTER:
            self._next = {name: moment for name, moment in self._next.items() if moment > now}
        return turn - now
