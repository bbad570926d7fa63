"""Token buckets, and places at hosts: one test for all makes."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from redis.asyncio import Redis

from reedbed.domain.users import Allowance
from reedbed.events.limits import FileHostThrottle, HostThrottle, HostTurn, Limiter, MemoryHostThrottle, MemoryLimiter
from reedbed.events.redis import RedisAvailability, RedisHostThrottle, RedisLimiter, connect
from reedbed.services.refresh.check import DatabaseHostThrottle
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import counting


@pytest.fixture(params=["memory", "redis"])
async def limiter(request: pytest.FixtureRequest) -> AsyncIterator[Limiter]:
    if request.param == "memory":
        yield MemoryLimiter()
        return
    client = await connect(request.getfixturevalue("redis_url"))
    yield RedisLimiter(client, RedisAvailability())
    await client.aclose()


async def test_a_burst_passes_and_the_next_one_waits(limiter: Limiter) -> None:
    allowance = Allowance(5, 0.01)

    waits = [await limiter.wait_for("login:a", allowance) for _ in range(6)]

    assert waits[:5] == [0, 0, 0, 0, 0]
    assert 90 < waits[5] <= 100


async def test_each_key_has_its_own_bucket(limiter: Limiter) -> None:
    allowance = Allowance(1, 0.01)

    assert await limiter.wait_for("login:a", allowance) == 0
    assert await limiter.wait_for("login:b", allowance) == 0
    assert await limiter.wait_for("login:a", allowance) > 0


async def test_a_bucket_fills_again_and_asking_in_vain_costs_nothing(limiter: Limiter) -> None:
    allowance = Allowance(1, 2)
    assert await limiter.wait_for("search:a", allowance) == 0

    waits = [await limiter.wait_for("search:a", allowance)]
    async with asyncio.timeout(30):
        while waits[-1] > 0:
            await asyncio.sleep(0.02)
            waits.append(await limiter.wait_for("search:a", allowance))

    assert waits == sorted(waits, reverse=True)


async def test_what_is_given_back_can_be_taken_again_and_fills_no_bucket_over(limiter: Limiter) -> None:
    slow = Allowance(2, 0.0001)
    assert [await limiter.wait_for("returned", slow) > 0 for _ in range(3)] == [False, False, True]
    await limiter.give_back("returned", slow)
    assert [await limiter.wait_for("returned", slow) > 0 for _ in range(2)] == [False, True]
    for _ in range(5):
        await limiter.give_back("returned", slow)
    assert [await limiter.wait_for("returned", slow) > 0 for _ in range(3)] == [False, False, True]


async def test_many_at_once_get_no_more_than_the_burst(limiter: Limiter) -> None:
    allowance = Allowance(10, 0.01)

    waits = await asyncio.gather(*(limiter.wait_for("requests:1", allowance) for _ in range(40)))

    assert waits.count(0) == 10


async def test_a_large_burst_is_counted_to_the_last_one(limiter: Limiter) -> None:
    allowance = Allowance(100, 0.01)

    waits = [await limiter.wait_for("requests:1", allowance) for _ in range(110)]

    assert waits.count(0) == 100
    assert all(waits[100:])


async def test_who_was_refused_among_many_at_once_stays_refused(limiter: Limiter) -> None:
    allowance = Allowance(100, 0.01)
    waits = await asyncio.gather(*(limiter.wait_for("requests:1", allowance) for _ in range(150)))

    assert waits.count(0) == 100
    assert await limiter.wait_for("requests:1", allowance) > 0


async def test_processes_share_a_bucket_though_each_was_lent_a_part(redis_url: str) -> None:
    client = await connect(redis_url)
    here, there = RedisLimiter(client, RedisAvailability()), RedisLimiter(client, RedisAvailability())
    allowance = Allowance(100, 0.01)

    waits = [await each.wait_for("requests:1", allowance) for _ in range(60) for each in (here, there)]

    assert 100 <= waits.count(0) <= 105
    await client.aclose()


async def test_one_with_plenty_left_is_rarely_asked_about(redis_url: str) -> None:
    client = await connect(redis_url)
    limiter = RedisLimiter(client, RedisAvailability())
    before = await client.info("commandstats")

    for _ in range(40):
        await limiter.wait_for("requests:1", Allowance(1_000, 10))

    asked = await client.info("commandstats")
    name = "cmdstat_evalsha"
    assert asked[name]["calls"] - before.get(name, {"calls": 0})["calls"] < 5
    await client.aclose()


async def test_without_redis_each_process_counts_for_itself(free_port: int) -> None:
    client = Redis.from_url(f"redis://127.0.0.1:{free_port}")
    limiter = RedisLimiter(client, RedisAvailability())
    allowance = Allowance(1, 0.01)

    assert await limiter.wait_for("login:a", allowance) == 0
    assert await limiter.wait_for("login:a", allowance) > 0
    await client.aclose()


async def test_a_clock_set_back_locks_nobody_out() -> None:
    now = 100_000.0
    limiter = MemoryLimiter(lambda: now)
    allowance = Allowance(3, 1)
    assert await limiter.wait_for("requests:1", allowance) == 0

    now -= 86_400

    assert await limiter.wait_for("requests:1", allowance) == 0


@pytest.fixture(params=["memory", "file", "redis", "postgresql"])
async def host_throttle(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[HostThrottle]:
    if request.param == "memory":
        yield MemoryHostThrottle()
        return
    if request.param == "file":
        of_file = FileHostThrottle(tmp_path / "hosts.lock")
        yield of_file
        of_file.close()
        return
    if request.param == "postgresql":
        db = await open_database(request.getfixturevalue("postgres_url"))
        yield DatabaseHostThrottle(db)
        await db.close()
        return
    client = await connect(request.getfixturevalue("redis_url"))
    yield RedisHostThrottle(client, RedisAvailability())
    await client.aclose()


async def test_a_host_has_so_many_places_and_one_is_free_again_when_it_is_left(host_throttle: HostThrottle) -> None:
    turns = await asyncio.gather(*(_enter(host_throttle, limit=2) for _ in range(5)))
    held = [turn for turn in turns if turn is not None]
    assert len(held) == 2
    assert await _enter(host_throttle, "b.example", limit=2) is not None
    await host_throttle.leave("a.example", held[0].token)
    await host_throttle.leave("a.example", "never given out")
    assert [await _enter(host_throttle, limit=2) is not None for _ in range(2)] == [True, False]


async def test_requests_to_a_host_begin_one_after_the_other(host_throttle: HostThrottle) -> None:
    turns = [await _enter(host_throttle, limit=9, delay=60_000) for _ in range(3)]
    waits = [turn.wait for turn in turns if turn is not None]
    waits.append(await host_throttle.reserve("a.example", 60_000))
    assert [round(wait / 60_000) for wait in waits] == [0, 1, 2, 3]
    assert await host_throttle.reserve("b.example", 60_000) == 0


async def test_a_place_whose_holder_died_is_free_after_its_lease(host_throttle: HostThrottle) -> None:
    assert await _enter(host_throttle, lease=3_000) is not None
    assert await _enter(host_throttle) is None
    async with asyncio.timeout(30):
        while await _enter(host_throttle) is None:  # noqa: ASYNC110  a clock is waited for
            await asyncio.sleep(0.05)


async def test_without_redis_each_process_keeps_to_the_number_by_itself(free_port: int) -> None:
    host_throttle = RedisHostThrottle(Redis.from_url(f"redis://127.0.0.1:{free_port}/0"), RedisAvailability())
    turns = [await _enter(host_throttle, limit=2) for _ in range(3)]
    assert [turn is not None for turn in turns] == [True, True, False]
    assert turns[0] is not None
    await host_throttle.leave("a.example", turns[0].token)
    assert await _enter(host_throttle, limit=2) is not None


async def test_locks_of_a_file_count_what_other_processes_have_in_flight(tmp_path: Path) -> None:
    file = tmp_path / "hosts.lock"
    host_throttle = FileHostThrottle(file)
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        turn = await _enter(host_throttle, limit=2)
        assert turn is not None
        assert other.submit(_take_turns, file, 2).result() == 1
        assert await _enter(host_throttle, limit=2) is None
        assert await _enter(host_throttle, "b.example", limit=2) is not None
        await host_throttle.leave("a.example", turn.token)
        assert await _enter(host_throttle, limit=2) is not None
    assert [await _enter(host_throttle, limit=2) is not None for _ in range(2)] == [True, False]  # the other has ended
    assert file.stat().st_size == 0
    host_throttle.close()


_kept: list[FileHostThrottle] = []


def _take_turns(file: Path, limit: int) -> int:
    _kept.append(FileHostThrottle(file))

    async def take() -> int:
        return sum([await _enter(_kept[-1], limit=limit) is not None for _ in range(limit)])

    return asyncio.run(take())


async def test_a_turn_costs_one_statement_and_its_end_another(postgres_url: str) -> None:
    db = await open_database(postgres_url)
    host_throttle = DatabaseHostThrottle(db)
    with counting() as statements:
        turn = await _enter(host_throttle)
        assert turn is not None
        await host_throttle.leave("a.example", turn.token)
    await db.close()
    assert statements.value == 2


async def _enter(
    host_throttle: HostThrottle, host: str = "a.example", *, limit: int = 1, lease: int = 60_000, delay: int = 1
) -> HostTurn | None:
    return await host_throttle.enter(host, limit, lease=lease, delay=delay)
