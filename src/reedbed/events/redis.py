"""Redis: the event bus between processes, rate limits and host throttling shared by all workers.

Without Redis each process falls back to its own memory.
"""

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
from reedbed.events.limits import MAX_WAIT, HostTurn, MemoryHostThrottle, MemoryLimiter

UNAVAILABLE_SECONDS = 2.0


class RedisAvailability:
    """Shared by all clients of one Redis: after an error, none of them tries for two seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._unavailable_until = 0.0

    @property
    def lost(self) -> bool:
        return self._clock() < self._unavailable_until

    def record_loss(self) -> None:
        self._unavailable_until = self._clock() + UNAVAILABLE_SECONDS


log = structlog.get_logger()

# --- Event bus

CHANNEL = "reedbed:hints"
RECONNECT_SECONDS = 1.0
ANSWER_SECONDS = 1.0
CONNECTIONS = 50
PING_SECONDS = 1.0
CANCEL_SECONDS = 0.05
MAX_SILENCE = 3
"""The number of unanswered pings after which the connection is reopened."""


class RedisBus(LocalHub):
    def __init__(self, client: Any, availability: RedisAvailability) -> None:
        super().__init__()
        self._redis = client
        self._availability = availability
        self._subscribed = asyncio.Event()
        self._receiver = asyncio.create_task(self._receive(), name="redis-bus")

    async def ready(self) -> None:
        """Wait until events of other processes are received."""
        await self._subscribed.wait()

    async def publish(self, event: ChangeEvent) -> None:
        identified = replace(event, id=new_event_id())
        if not await self._send(identified):
            self.deliver(identified)  # the other processes reload when Redis is back

    async def close(self) -> None:
        # Repeat, because `wait_for` in Python 3.11, used for sending a ping, may swallow a cancel.
        while not self._receiver.done():
            self._receiver.cancel()
            await asyncio.wait([self._receiver], timeout=CANCEL_SECONDS)

    async def _send(self, event: ChangeEvent) -> bool:
        if self._availability.lost:
            return False
        try:
            await self._redis.publish(CHANNEL, orjson.dumps(_as_dict(event)))
        except (RedisError, OSError) as error:
            self._availability.record_loss()
            log.warning("redis does not answer, an event reaches this process only", error=str(error))
            return False
        return True

    async def _receive(self) -> None:
        while True:
            try:
                await self._receive_until_lost()
            except (RedisError, OSError, ValueError) as error:
                log.warning("redis lost, trying again", error=str(error))
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _receive_until_lost(self) -> None:
        async with self._redis.pubsub(ignore_subscribe_messages=True) as pubsub:
            await pubsub.subscribe(CHANNEL)
            if self._subscribed.is_set():
                self.miss()  # only now, because events are received from here on
            self._subscribed.set()
            unanswered = 0
            while unanswered < MAX_SILENCE:
                message = await pubsub.get_message(timeout=PING_SECONDS)
                if message is None:
                    unanswered += 1
                    await pubsub.ping()
                    continue
                unanswered = 0
                if message["type"] == "message":
                    self.deliver(ChangeEvent(**orjson.loads(message["data"])))
        raise TimeoutError("no answer to pings")


async def connect(url: str) -> Any:
    """A client with a connection limit and a timeout of one second, without automatic retries."""
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
        raise Unavailable(
            "Redis does not answer at %(url)s: %(error)s.", url=_without_password(url), error=str(error)
        ) from error
    return client


def _as_dict(event: ChangeEvent) -> dict[str, Any]:
    return {
        "topic": event.topic,
        "user_id": event.user_id,
        "feed_id": event.feed_id,
        "data": dict(event.data),
        "id": event.id,
    }


def _without_password(url: str) -> str:
    scheme, _, remainder = url.partition("://")
    return f"{scheme}://{remainder.rpartition('@')[2]}"


# --- Rate limits

CHECKOUT_SHARE = 10
CHECKOUT_SECONDS = 10.0
MAX_CHECKOUTS = 10_000

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
    """Token buckets in Redis. While Redis is unavailable, each process counts for itself."""

    def __init__(self, client: Any, availability: RedisAvailability) -> None:
        self._take: Any = client.register_script(_TAKE)
        self._availability = availability
        self._fallback = MemoryLimiter()
        self._checkouts: dict[str, _Checkout] = {}

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        if self._spend_checked_out(key):
            return 0.0
        if self._availability.lost:
            return await self._fallback.wait_for(key, allowance)
        checkout = self._checkouts.pop(key, None)
        try:
            wait, remaining = await self._take(
                keys=[f"reedbed:limit:{key}"],
                args=[allowance.burst, allowance.per_second, checkout.spent if checkout else 0, 1],
            )
        except (RedisError, OSError) as error:
            self._availability.record_loss()
            log.warning("rate limits count per process, redis does not answer", error=str(error))
            return await self._fallback.wait_for(key, allowance)
        self._check_out(key, int(float(remaining)) // CHECKOUT_SHARE)
        return float(wait)

    async def give_back(self, key: str, allowance: Allowance) -> None:
        if self._availability.lost:
            await self._fallback.give_back(key, allowance)
            return
        try:
            await self._take(keys=[f"reedbed:limit:{key}"], args=[allowance.burst, allowance.per_second, -1, 0])
        except (RedisError, OSError):
            self._availability.record_loss()

    def _spend_checked_out(self, key: str) -> bool:
        checkout = self._checkouts.get(key)
        if checkout is None or checkout.spent >= checkout.size or time.monotonic() > checkout.until:
            return False
        checkout.spent += 1
        return True

    def _check_out(self, key: str, size: int) -> None:
        checkout = self._checkouts.get(key)
        if checkout is not None:  # a concurrent call has checked out tokens already
            checkout.size = min(checkout.size, checkout.spent + size)
            return
        if len(self._checkouts) >= MAX_CHECKOUTS:
            self._checkouts.clear()
        if size > 0:
            self._checkouts[key] = _Checkout(size, time.monotonic() + CHECKOUT_SECONDS)


# --- Host throttling

# Uses the clock of Redis, because the clocks of several machines differ and may be changed.
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
    """Host throttling in Redis. While Redis is unavailable, each worker throttles by itself."""

    def __init__(self, client: Any, availability: RedisAvailability) -> None:
        self._client = client
        self._reserve: Any = client.register_script(_RESERVE)
        self._enter: Any = client.register_script(_ENTER)
        self._availability = availability
        self._fallback = MemoryHostThrottle()

    async def reserve(self, host: str, delay: Millis) -> Millis:
        if delay <= 0:
            return 0
        if self._availability.lost:
            return await self._fallback.reserve(host, delay)
        try:
            return int(await self._reserve(keys=[f"reedbed:host:{host}"], args=[delay, MAX_WAIT]))
        except (RedisError, OSError) as error:
            self._record_loss(error)
            return await self._fallback.reserve(host, delay)

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        if self._availability.lost:
            return await self._fallback.enter(host, limit, lease=lease, delay=delay)
        token = secrets.token_hex(8)
        try:
            entered = await self._enter(keys=[_in_flight(host)], args=[limit, lease, token])
        except (RedisError, OSError) as error:
            self._record_loss(error)
            return await self._fallback.enter(host, limit, lease=lease, delay=delay)
        return HostTurn(token, await self.reserve(host, delay)) if entered else None

    async def leave(self, host: str, token: str) -> None:
        await self._fallback.leave(host, token)
        if self._availability.lost:
            return
        try:
            await self._client.zrem(_in_flight(host), token)
        except (RedisError, OSError) as error:
            self._record_loss(error)

    def _record_loss(self, error: Exception) -> None:
        self._availability.record_loss()
        log.warning("hosts are throttled per process, redis does not answer", error=str(error))


def _in_flight(host: str) -> str:
    return f"reedbed:in_flight:{host}"
