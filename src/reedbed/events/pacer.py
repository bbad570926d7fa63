"""Politeness towards each host, across all workers: one request per `delay`, in the order they ask."""

from typing import Protocol

from reedbed.domain.times import Instant, Millis

FORGET_AFTER = 4_096


class Pacer(Protocol):
    async def reserve(self, host: str, now: Instant, delay: Millis) -> Instant:
        """The moment of this caller's turn; the next caller's is `delay` later."""
        ...


class MemoryPacer:
    def __init__(self) -> None:
        self._next: dict[str, Instant] = {}

    async def reserve(self, host: str, now: Instant, delay: Millis) -> Instant:
        turn = max(now, self._next.get(host, 0))
        self._next[host] = turn + delay
        if len(self._next) > FORGET_AFTER:
            self._next = {name: moment for name, moment in self._next.items() if moment > now}
        return turn
