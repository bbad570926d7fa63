"""The bus of many processes: one Redis channel all of them hear. Losing Redis loses hints, never work."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import orjson
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from reedbed.domain.errors import Unavailable
from reedbed.domain.hints import Hint
from reedbed.events.bus import LocalHub, new_hint_id

log = structlog.get_logger()

CHANNEL = "reedbed:hints"
RECONNECT_SECONDS = 1.0


class RedisBus(LocalHub):
    def __init__(self, client: Any) -> None:
        super().__init__()
        self._redis = client
        self._listening = asyncio.Event()
        self._hearing = asyncio.create_task(self._hear(), name="redis-bus")

    async def ready(self) -> None:
        """Returns when hints of others are heard."""
        await self._listening.wait()

    async def publish(self, hint: Hint) -> None:
        message = orjson.dumps(_as_dict(replace(hint, id=new_hint_id())))
        try:
            await self._redis.publish(CHANNEL, message)
        except (RedisError, OSError) as error:
            log.warning("hint lost, redis does not answer", topic=hint.topic, error=str(error))

    async def close(self) -> None:
        self._hearing.cancel()
        with suppress(asyncio.CancelledError):
            await self._hearing

    async def _hear(self) -> None:
        while True:
            try:
                await self._hear_until_lost()
            except (RedisError, OSError) as error:
                log.warning("redis lost, trying again", error=str(error))
                await asyncio.sleep(RECONNECT_SECONDS)
                self.miss()

    async def _hear_until_lost(self) -> None:
        async with self._redis.pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(CHANNEL)
            self._listening.set()
            async for message in channel.listen():
                self.deliver(Hint(**orjson.loads(message["data"])))


async def connect(url: str) -> Any:
    client: Any = cast(Any, Redis).from_url(url, socket_connect_timeout=5, health_check_interval=15)
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
