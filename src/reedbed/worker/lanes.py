"""One lane for each host: few requests at a time, one start per `host_delay`, across all workers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from reedbed.domain.times import Instant
from reedbed.services.crawl import turn_at
from reedbed.services.runtime import Runtime

LONGEST = 30
"""Feeds that wait in one lane; more are given back with the time of their turn."""


@dataclass(slots=True)
class _Lane:
    gate: asyncio.Semaphore
    users: int = 0
    given_back: int = 0


class Lanes:
    """With a `host_delay` of 0 there are none, and every feed goes at once."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._delay = runtime.fetching.host_delay
        self._lanes: dict[str, _Lane] = {}
        self.waiting = 0
        """Feeds that wait for their host, and so for nothing of ours."""

    @property
    def longest(self) -> int:
        return LONGEST if self._delay else 1_000_000

    def too_late(self, host: str) -> Instant | None:
        """The moment to come back for a feed that would wait too long in its lane."""
        lane = self._lanes.get(host)
        if not self._delay or lane is None or lane.users < LONGEST:
            return None
        lane.given_back += 1
        return self._runtime.now() + (lane.users + lane.given_back) * self._delay

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncGenerator[None]:
        if not self._delay:
            yield
            return
        at_once = self._runtime.fetching.host_concurrency
        lane = self._lanes.setdefault(host, _Lane(asyncio.Semaphore(at_once)))
        lane.users += 1
        self.waiting += 1
        waits = True
        try:
            # Only as many of ours as there may be ask whether those of other processes leave them room.
            async with lane.gate, turn_at(self._runtime, host):
                self.waiting -= 1
                waits = False
                yield
        finally:
            self.waiting -= waits
            lane.users -= 1
            if not lane.users:
                del self._lanes[host]
