"""Token buckets in Redis, for all processes together.

Who has plenty left is not asked about at every step: of what is left a tenth is lent to the process, which
hands in what it has spent when that is used up or a moment has passed. Near the end every step is asked for.
"""

import time
from dataclasses import dataclass
from typing import Any

import structlog
from redis.exceptions import RedisError

from reedbed.domain.limits import Allowance
from reedbed.events.limiter import MemoryLimiter
from reedbed.events.redis_reach import Reach

log = structlog.get_logger()

LENT_SHARE = 10
LENT_SECONDS = 10.0
MOST_LOANS = 10_000

_TAKE = """
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'then')
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local burst, rate, spent, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens = tonumber(bucket[1]) or burst
local before = tonumber(bucket[2]) or now
tokens = math.min(burst, math.min(burst, tokens + math.max(0, now - before) * rate) - spent)
local wait = 0
if tokens < wanted then wait = (wanted - tokens) / rate else tokens = tokens - wanted end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'then', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate) + 1)
return {tostring(wait), tostring(tokens)}
"""


@dataclass(slots=True)
class _Loan:
    size: int
    until: float
    spent: int = 0


class RedisLimiter:
    """The same buckets in Redis. While Redis is away each process counts for itself."""

    def __init__(self, client: Any, reach: Reach) -> None:
        self._take: Any = client.register_script(_TAKE)
        self._reach = reach
        self._alone = MemoryLimiter()
        self._loans: dict[str, _Loan] = {}

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        if self._spent_from_loan(key):
            return 0.0
        if self._reach.lost:
            return await self._alone.wait_for(key, allowance)
        loan = self._loans.pop(key, None)
        try:
            wait, left = await self._take(
                keys=[f"reedbed:limit:{key}"],
                args=[allowance.burst, allowance.per_second, loan.spent if loan else 0, 1],
            )
        except (RedisError, OSError) as error:
            self._reach.note_loss()
            log.warning("rate limits count per process, redis does not answer", error=str(error))
            return await self._alone.wait_for(key, allowance)
        self._lend(key, int(float(left)) // LENT_SHARE)
        return float(wait)

    async def give_back(self, key: str, allowance: Allowance) -> None:
        if self._reach.lost:
            await self._alone.give_back(key, allowance)
            return
        try:
            await self._take(
                keys=[f"reedbed:limit:{key}"], args=[allowance.burst, allowance.per_second, -1, 0]
            )
        except (RedisError, OSError):
            self._reach.note_loss()

    def _spent_from_loan(self, key: str) -> bool:
        loan = self._loans.get(key)
        if loan is None or loan.spent >= loan.size or time.monotonic() > loan.until:
            return False
        loan.spent += 1
        return True

    def _lend(self, key: str, size: int) -> None:
        loan = self._loans.get(key)
        if loan is not None:  # lent to one who asked at the same time
            loan.size = min(loan.size, loan.spent + size)
            return
        if len(self._loans) >= MOST_LOANS:
            self._loans.clear()
        if size > 0:
            self._loans[key] = _Loan(size, time.monotonic() + LENT_SECONDS)
