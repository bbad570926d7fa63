"""One test for both makes of the bus."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from reedbed.domain.live import ChangeEvent
from reedbed.events.bus import QUEUE, Bus, MemoryBus
from reedbed.events.redis import RedisAvailability, RedisBus, connect

PATIENCE = 30.0


@pytest.fixture(params=["memory", "redis"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    if request.param == "memory":
        yield MemoryBus()
        return
    client = await connect(request.getfixturevalue("redis_url"))
    redis_bus = RedisBus(client, RedisAvailability())
    await redis_bus.ready()
    yield redis_bus
    await redis_bus.close()
    await client.aclose()


async def test_every_listener_hears_a_hint(bus: Bus) -> None:
    with bus.listen() as one, bus.listen() as other:
        await bus.publish(ChangeEvent("new_entry", feed_id=7, data={"ids": [1, 2]}))
        heard = [await one.next(PATIENCE), await other.next(PATIENCE)]
    assert all(hint and (hint.topic, hint.feed_id, hint.data) == ("new_entry", 7, {"ids": [1, 2]}) for hint in heard)


async def test_a_listener_that_left_hears_nothing(bus: Bus) -> None:
    with bus.listen() as gone:
        pass
    with bus.listen() as here:
        await bus.publish(ChangeEvent("counts", user_id=1))
        assert await here.next(PATIENCE)
    assert await gone.next(0.01) is None


async def test_silence_ends_after_the_given_time(bus: Bus) -> None:
    with bus.listen() as listener:
        assert await listener.next(0.01) is None


async def test_a_stream_that_comes_back_gets_what_it_missed(bus: Bus) -> None:
    with bus.listen() as listener:
        for number in range(3):
            await bus.publish(ChangeEvent("counts", data={"number": number}))
        heard = [await listener.next(PATIENCE) for _ in range(3)]
    assert heard[0] is not None
    missed = bus.since(heard[0].id)
    assert missed is not None
    assert [hint.data["number"] for hint in missed] == [1, 2]


async def test_an_unknown_last_id_means_read_everything_again(bus: Bus) -> None:
    assert bus.since("never-seen") is None


async def test_a_listener_too_slow_is_told_so_and_does_not_grow(bus: Bus) -> None:
    with bus.listen() as slow, bus.listen() as quick:
        for number in range(QUEUE + 5):
            await bus.publish(ChangeEvent("counts", data={"number": number}))
            assert await quick.next(PATIENCE)
        await asyncio.sleep(0)
    assert slow.missed
    assert not quick.missed


async def test_a_bus_closes_also_while_it_pings(redis_url: str) -> None:
    client = await connect(redis_url)
    for turns in range(200):
        redis_bus = RedisBus(client, RedisAvailability())
        await redis_bus.ready()
        for _ in range(turns % 20):
            await asyncio.sleep(0)
        closing = asyncio.create_task(redis_bus.close())
        done, _ = await asyncio.wait([closing], timeout=10)
        assert done, f"still open after ten seconds, closed {turns % 20} turns after it began"
    await client.aclose()
