"""One test for both makes of the limiter and the pacer."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from reedbed.domain.limits import Allowance
from reedbed.events.limiter import Limiter, MemoryLimiter
from reedbed.events.pacer import MemoryPacer, Pacer
from reedbed.events.redis import connect
from reedbed.events.redis_limiter import RedisLimiter
from reedbed.events.redis_pacer import RedisPacer


@pytest.fixture(params=["memory", "redis"])
async def limiter(request: pytest.FixtureRequest) -> AsyncIterator[Limiter]:
    if request.param == "memory":
        yield MemoryLimiter()
        return
    client = await connect(request.getfixturevalue("redis_url"))
    yield RedisLimiter(client)
    await client.aclose()


@pytest.fixture(params=["memory", "redis"])
async def pacer(request: pytest.FixtureRequest) -> AsyncIterator[Pacer]:
    if request.param == "memory":
        yield MemoryPacer()
        return
    client = await connect(request.getfixturevalue("redis_url"))
    yield RedisPacer(client)
    await client.aclose()


async def test_the_burst_is_free_and_then_one_waits(limiter: Limiter) -> None:
    few = Allowance(3, 0.1)
    assert [await limiter.wait_for("a", few) for _ in range(3)] == [0, 0, 0]
    assert 5 < await limiter.wait_for("a", few) <= 10
    assert await limiter.wait_for("b", few) == 0


async def test_tokens_come_back_with_time(limiter: Limiter) -> None:
    quick = Allowance(1, 20)
    assert await limiter.wait_for("a", quick) == 0
    assert await limiter.wait_for("a", quick) > 0
    await asyncio.sleep(0.15)
    assert await limiter.wait_for("a", quick) == 0


async def test_turns_at_one_host_lie_apart_and_other_hosts_do_not_wait(pacer: Pacer) -> None:
    turns = [await pacer.reserve("example.org", 1_000_000, 1_000) for _ in range(3)]
    assert turns == [1_000_000, 1_001_000, 1_002_000]
    assert await pacer.reserve("example.com", 1_000_000, 1_000) == 1_000_000


async def test_without_a_delay_nobody_waits(pacer: Pacer) -> None:
    assert [await pacer.reserve("example.org", 5, 0) for _ in range(3)] == [5, 5, 5]


async def test_while_redis_is_away_each_process_counts_for_itself() -> None:
    from redis.asyncio import Redis

    nowhere = Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=0.2)
    limiter, pacer = RedisLimiter(nowhere), RedisPacer(nowhere)
    assert await limiter.wait_for("a", Allowance(1, 0.1)) == 0
    assert await limiter.wait_for("a", Allowance(1, 0.1)) > 0
    assert await pacer.reserve("h", 10, 100) == 10
    assert await pacer.reserve("h", 10, 100) == 110
    await nowhere.aclose()
