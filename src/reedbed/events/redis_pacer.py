"""Turns at each host in Redis, for all workers together."""

import secrets
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


_ENTER = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
    return 0
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""


class RedisPacer:
    """The same turns in Redis. While Redis is away each worker keeps to its own."""

    def __init__(self, client: Any, reach: Reach) -> None:
        self._client = client
        self._reserve: Any = client.register_script(_RESERVE)
        self._enter: Any = client.register_script(_ENTER)
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
            self._note_loss(error)
            return await self._alone.reserve(host, delay)

    async def enter(self, host: str, most: int, lease: Millis) -> str | None:
        if self._reach.lost:
            return await self._alone.enter(host, most, lease)
        token = secrets.token_hex(8)
        try:
            entered = await self._enter(keys=[_in_flight(host)], args=[most, lease, token])
        except (RedisError, OSError) as error:
            self._note_loss(error)
            return await self._alone.enter(host, most, lease)
        return token if entered else None

    async def leave(self, host: str, token: str) -> None:
        await self._alone.leave(host, token)
        if self._reach.lost:
            return
        try:
            await self._client.zrem(_in_flight(host), token)
        except (RedisError, OSError) as error:
            self._note_loss(error)

    def _note_loss(self, error: Exception) -> None:
        self._reach.note_loss()
        log.warning("hosts are paced per process, redis does not answer", error=str(error))


def _in_flight(host: str) -> str:
    return f"reedbed:in_flight:{host}"
