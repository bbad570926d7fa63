"""Turns at each host in Redis, for all workers together."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson
import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from reedbed.domain.errors import Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.times import Millis
from reedbed.domain.users import Allowance
from reedbed.events.bus import LocalHub, new_event_id
from reedbed.events.limits import MAX_WAIT, MemoryHostThrottle, MemoryLimiter

REST_SECONDS = 2.0


class RedisAvailability:
    """Shared by everything that asks one Redis: after a loss nobody asks for two seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rests_until = 0.0

    @property
    def lost(self) -> bool:
        return self._clock() < self._rests_until

    def note_loss(self) -> None:
        self._rests_until = self._clock() + REST_SECONDS


log = structlog.get_logger()

CHANNEL = "reedbed:hints"
RECONNECT_SECONDS = 1.0
ANSWER_SECONDS = 1.0
CONNECTIONS = 50
PING_SECONDS = 1.0
CANCEL_SECONDS = 0.05
MAX_SILENCE = 3
"""Pings without an answer, after which the connection is made anew."""


class RedisBus(LocalHub):
    def __init__(self, client: Any, reach: RedisAvailability) -> None:
        super().__init__()
        self._redis = client
        self._reach = reach
        self._listening = asyncio.Event()
        self._hearing = asyncio.create_task(self._hear(), name="redis-bus")

    async def ready(self) -> None:
        """Returns when hints of others are heard."""
        await self._listening.wait()

    async def publish(self, hint: ChangeEvent) -> None:
        named = replace(hint, id=new_event_id())
        if not await self._told(named):
            self.deliver(named)  # the others read again when Redis is back

    async def close(self) -> None:
        # Again and again: in Python 3.11 `wait_for`, in which a ping is sent, may swallow a cancel.
        while not self._hearing.done():
            self._hearing.cancel()
            await asyncio.wait([self._hearing], timeout=CANCEL_SECONDS)

    async def _told(self, hint: ChangeEvent) -> bool:
        if self._reach.lost:
            return False
        try:
            await self._redis.publish(CHANNEL, orjson.dumps(_as_dict(hint)))
        except (RedisError, OSError) as error:
            self._reach.note_loss()
            log.warning("a hint stays in this process, redis does not answer", error=str(error))
            return False
        return True

    async def _hear(self) -> None:
        while True:
            try:
                await self._hear_until_lost()
            except (RedisError, OSError, ValueError) as error:
                log.warning("redis lost, trying again", error=str(error))
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _hear_until_lost(self) -> None:
        async with self._redis.pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(CHANNEL)
            if self._listening.is_set():
                self.miss()  # only now: what passes from here on is heard
            self._listening.set()
            silent = 0
            while silent < MAX_SILENCE:
                message = await channel.get_message(timeout=PING_SECONDS)
                if message is None:
                    silent += 1
                    await channel.ping()
                    continue
                silent = 0
                if message["type"] == "message":
                    self.deliver(ChangeEvent(**orjson.loads(message["data"])))
        raise TimeoutError("it has fallen silent")


async def connect(url: str) -> Any:
    """A bounded client that answers or fails within a second, and never tries twice by itself."""
    pool = cast(Any, BlockingConnectionPool).from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=ANSWER_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    client: Any = cast(Any, Redis).from_pool(pool)
    try:
        await client.ping()
    except (RedisError, OSError) as error:
        await client.aclose()
        raise Unavailable(f"Redis does not answer at {_without_password(url)}: {error}.") from error
    return client


def _as_dict(hint: ChangeEvent) -> dict[str, Any]:
    return {
        "topic": hint.topic,
        "user_id": hint.user_id,
        "feed_id": hint.feed_id,
        "data": dict(hint.data),
        "id": hint.id,
    }


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


LENT_SHARE = 10
LENT_SECONDS = 10.0
MAX_LOANS = 10_000

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
class _Checkout:
    size: int
    until: float
    spent: int = 0


class RedisLimiter:
    """The same buckets in Redis. While Redis is away each process counts for itself."""

    def __init__(self, client: Any, reach: RedisAvailability) -> None:
        self._take: Any = client.register_script(_TAKE)
        self._reach = reach
        self._alone = MemoryLimiter()
        self._loans: dict[str, _Checkout] = {}

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
        if len(self._loans) >= MAX_LOANS:
            self._loans.clear()
        if size > 0:
            self._loans[key] = _Checkout(size, time.monotonic() + LENT_SECONDS)


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


class RedisHostThrottle:
    """The same turns in Redis. While Redis is away each worker keeps to its own."""

    def __init__(self, client: Any, reach: RedisAvailability) -> None:
        self._client = client
        self._reserve: Any = client.register_script(_RESERVE)
        self._enter: Any = client.register_script(_ENTER)
        self._reach = reach
        self._alone = MemoryHostThrottle()

    async def reserve(self, host: str, delay: Millis) -> Millis:
        if delay <= 0:
            return 0
        if self._reach.lost:
            return await self._alone.reserve(host, delay)
        try:
            return int(await self._reserve(keys=[f"reedbed:host:{host}"], args=[delay, MAX_WAIT]))
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
