"""Turns at each host in Redis, for all workers together."""

from typing import Any

import structlog
from redis.exceptions import RedisError

from reedbed.domain.times import Millis
from reedbed.events.pacer import LONGEST_WAIT, MemoryPacer
from reedbed.events.redis_reach import Reach

log = structlog.get_logger()

# By the clock of Redis: workers on several machines do not agree about the time, and theirs may be set.
_RESERVE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local delay = tonumber(ARGV[1])
local turn = math.min(math.max(now, tonumber(redis.call('GET', KEYS[1])) or 0), now + tonumber(ARGV[2]))
local life = string.format('%.0f', turn - now + delay)
redis.call('SET', KEYS[1], string.format('%.0f', turn + delay), 'PX', life)
return string.format('%.0f', turn - now)
"""


class RedisPacer:
    """The same turns in Redis. While Redis is away each worker keeps to its own."""

    def __init__(self, client: Any, reach: Reach) -> None:
        self._reserve: Any = client.register_script(_RESERVE)
        self._reach = reach
        self._alone = MemoryPacer()

    async def reserve(self, host: str, delay: Millis) -> Millis:
        if delay <= 0:
            return 0
        if self._reach.lost:
            return await self._alone.reserve(host, delay)
        try:
            return int(await self._reserve(keys=[f"reedbed:host:{host}"], args=[delay, LONGEST_WAIT]))
        except (RedisError, OSError) as error:
            self._reach.note_loss()
            log.warning("hosts are paced per process, redis does not answer", error=str(error))
            return await self._alone.reserve(host, delay)
