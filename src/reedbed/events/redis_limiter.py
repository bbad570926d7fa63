"""Token buckets in Redis, for all processes together."""

from typing import Any

import structlog
from redis.exceptions import RedisError

from reedbed.domain.limits import Allowance
from reedbed.events.limiter import MemoryLimiter
from reedbed.events.redis_reach import Reach

log = structlog.get_logger()

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

    def __init__(self, client: Any, reach: Reach) -> None:
        self._take: Any = client.register_script(_TAKE)
        self._reach = reach
        self._alone = MemoryLimiter()

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        if self._reach.lost:
            return await self._alone.wait_for(key, allowance)
        try:
            wait = await self._take(
                keys=[f"reedbed:limit:{key}"], args=[allowance.burst, allowance.per_second]
            )
        except (RedisError, OSError) as error:
            self._reach.note_loss()
            log.warning("rate limits count per process, redis does not answer", error=str(error))
            return await self._alone.wait_for(key, allowance)
        return float(wait)
