"""Turns at each host in Redis, for all workers together."""

from typing import Any

import structlog
from redis.exceptions import RedisError

from reedbed.domain.times import Instant, Millis
from reedbed.events.pacer import MemoryPacer

log = structlog.get_logger()

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
