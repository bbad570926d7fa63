"""Token buckets that hold for one process, or through Redis for all of them."""

import time
from collections.abc import Callable
from typing import Any, Protocol

import structlog
from redis.exceptions import RedisError

from reedbed.domain.limits import Allowance

log = structlog.get_logger()

MOST_BUCKETS = 100_000


class Limiter(Protocol):
    async def wait_for(self, key: str, allowance: Allowance) -> float:
        """Take one token; 0 when it may go on, else the seconds until it may."""
        ...


class MemoryLimiter:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        now = self._clock()
        tokens, then = self._buckets.get(key, (allowance.burst, now))
        tokens = min(allowance.burst, tokens + (now - then) * allowance.per_second)
        if tokens < 1:
            self._buckets[key] = (tokens, now)
            return (1 - tokens) / allowance.per_second
        if len(self._buckets) >= MOST_BUCKETS and key not in self._buckets:
            self._forget_oldest()
        self._buckets[key] = (tokens - 1, now)
        return 0.0

    def _forget_oldest(self) -> None:
        oldest_first = sorted(self._buckets, key=lambda key: self._buckets[key][1])
        for key in oldest_first[: MOST_BUCKETS // 10]:
            del self._buckets[key]


_TAKE = """
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'then')
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local burst, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens = tonumber(bucket[1]) or burst
local before = tonumber(bucket[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - before) * rate)
local wait = 0
if tokens < 1 then wait = (1 - tokens) / rate else tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'then', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate) + 1)
return tostring(wait)
"""


class RedisLimiter:
    """The same buckets in Redis. While Redis is away each process counts for itself."""

    def __init__(self, client: Any) -> None:
        self._take: Any = client.register_script(_TAKE)
        self._alone = MemoryLimiter()

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        try:
            wait = await self._take(
                keys=[f"reedbed:limit:{key}"], args=[allowance.burst, allowance.per_second]
            )
        except (RedisError, OSError) as error:
            log.warning("rate limits count per process, redis does not answer", error=str(error))
            return await self._alone.wait_for(key, allowance)
        return float(wait)
