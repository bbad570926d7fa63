"""Politeness towards each host, across all workers: one request per `delay`, in the order they ask."""

from typing import Any, Protocol

import structlog
from redis.exceptions import RedisError

from reedbed.domain.times import Instant, Millis

log = structlog.get_logger()

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


_RESERVE = """
local now, delay = tonumber(ARGV[1]), tonumber(ARGV[2])
local turn = math.max(now, tonumber(redis.call('GET', KEYS[1])) or 0)
local life = string.format('%.0f', turn - now + delay)
redis.call('SET', KEYS[1], string.format('%.0f', turn + delay), 'PX', life)
return string.format('%.0f', turn)
"""


class RedisPacer:
    """The same turns in Redis. While Redis is away each worker keeps to its own."""

    def __init__(self, client: Any) -> None:
        self._reserve: Any = client.register_script(_RESERVE)
        self._alone = MemoryPacer()

    async def reserve(self, host: str, now: Instant, delay: Millis) -> Instant:
        if delay <= 0:
            return now
        try:
            return int(await self._reserve(keys=[f"reedbed:host:{host}"], args=[now, delay]))
        except (RedisError, OSError) as error:
            log.warning("hosts are paced per process, redis does not answer", error=str(error))
            return await self._alone.reserve(host, now, delay)
