"""Rate limits per caller, and throttling of requests to each host: one per `delay`, and few at a time."""

import secrets
import time
from collections.abc import Callable
from typing import Protocol

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, SECOND, Millis
from reedbed.domain.users import Allowance

MAX_BUCKETS = 100_000


class Limiter(Protocol):
    async def wait_for(self, key: str, allowance: Allowance) -> float:
        """Take a token and return 0, or return the seconds to wait for one."""
        ...

    async def give_back(self, key: str, allowance: Allowance) -> None:
        """Put a token back."""
        ...


class MemoryLimiter:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        now = self._clock()
        tokens, updated_at = self._buckets.get(key, (allowance.burst, now))
        # Even a monotonic clock can go back if a machine or a test sets it.
        tokens = min(allowance.burst, tokens + max(0.0, now - updated_at) * allowance.per_second)
        if tokens < 1:
            self._buckets[key] = (tokens, now)
            return (1 - tokens) / allowance.per_second
        if len(self._buckets) >= MAX_BUCKETS and key not in self._buckets:
            self._delete_oldest()
        self._buckets[key] = (tokens - 1, now)
        return 0.0

    async def give_back(self, key: str, allowance: Allowance) -> None:
        if key in self._buckets:
            tokens, updated_at = self._buckets[key]
            self._buckets[key] = (min(allowance.burst, tokens + 1), updated_at)

    def _delete_oldest(self) -> None:
        oldest_first = sorted(self._buckets, key=lambda key: self._buckets[key][1])
        for key in oldest_first[: MAX_BUCKETS // 10]:
            del self._buckets[key]


CLEAN_UP_ABOVE = 4_096
MAX_WAIT: Millis = HOUR
"""The longest queue of a host; a later turn means that the clock was changed."""


@record
class HostTurn:
    """One of the concurrent requests to a host."""

    token: str
    wait: Millis
    """How long to wait before the request."""


class HostThrottle(Protocol):
    async def reserve(self, host: str, delay: Millis) -> Millis:
        """How long to wait for this caller's turn; the next turn is `delay` later."""
        ...

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        """A turn for one of `limit` concurrent requests, `delay` after the one before; None if all are in use.

        A turn that is not returned, because its process died, expires with its lease.
        """
        ...

    async def leave(self, host: str, token: str) -> None: ...


class MemoryHostThrottle:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, Millis] = {}
        self._in_flight: dict[str, dict[str, Millis]] = {}

    async def reserve(self, host: str, delay: Millis) -> Millis:
        now = int(self._clock() * SECOND)
        turn = min(max(now, self._next.get(host, 0)), now + MAX_WAIT)
        self._next[host] = turn + delay
        if len(self._next) > CLEAN_UP_ABOVE:
            self._next = {name: host_slot for name, host_slot in self._next.items() if host_slot > now}
        return turn - now

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        now = int(self._clock() * SECOND)
        held = {token: end for token, end in self._in_flight.get(host, {}).items() if end > now}
        self._in_flight[host] = held
        if len(held) >= limit:
            return None
        token = secrets.token_hex(8)
        held[token] = now + lease
        return HostTurn(token, await self.reserve(host, delay))

    async def leave(self, host: str, token: str) -> None:
        held = self._in_flight.get(host, {})
        held.pop(token, None)
        if not held:
            self._in_flight.pop(host, None)
