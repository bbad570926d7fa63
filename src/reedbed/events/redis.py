"""The bus of many processes: one Redis channel all of them hear. Losing Redis loses hints, never work."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import orjson
import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from reedbed.domain.errors import Unavailable
from reedbed.domain.hints import Hint
from reedbed.events.bus import LocalHub, new_hint_id
from reedbed.events.redis_reach import Reach

log = structlog.get_logger()

CHANNEL = "reedbed:hints"
RECONNECT_SECONDS = 1.0
ANSWER_SECONDS = 1.0
CONNECTIONS = 50
PING_SECONDS = 1.0
CANCEL_SECONDS = 0.05
LONGEST_SILENCE = 3
"""Pings without an answer, after which the connection is made anew."""


class RedisBus(LocalHub):
    def __init__(self, client: Any, reach: Reach) -> None:
        super().__init__()
        self._redis = client
        self._reach = reach
        self._listening = asyncio.Event()
        self._hearing = asyncio.create_task(self._hear(), name="redis-bus")

    async def ready(self) -> None:
        """Returns when hints of others are heard."""
        await self._listening.wait()

    async def publish(self, hint: Hint) -> None:
        named = replace(hint, id=new_hint_id())
        if not await self._told(named):
            self.deliver(named)  # the others read again when Redis is back

    async def close(self) -> None:
        # Again and again: in Python 3.11 `wait_for`, in which a ping is sent, may swallow a cancel.
        while not self._hearing.done():
            self._hearing.cancel()
            await asyncio.wait([self._hearing], timeout=CANCEL_SECONDS)

    async def _told(self, hint: Hint) -> bool:
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
            while silent < LONGEST_SILENCE:
                message = await channel.get_message(timeout=PING_SECONDS)
                if message is None:
                    silent += 1
                    await channel.ping()
                    continue
                silent = 0
                if message["type"] == "message":
                    self.deliver(Hint(**orjson.loads(message["data"])))
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


def _as_dict(hint: Hint) -> dict[str, Any]:
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
