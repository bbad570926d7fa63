"""The worker's loops on a real database and a real site."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from reedbed.domain.times import HOUR, MINUTE
from reedbed.events.redis import RedisAvailability, RedisHostThrottle, connect
from reedbed.services.jobs import run_exclusively
from reedbed.services.refresh import write as outcome_writer
from reedbed.services.refresh.check import request_refresh, wake_worker
from reedbed.services.runtime import Runtime
from reedbed.store.engine.connect import open_database
from reedbed.worker import refresh, work
from reedbed.worker.refresh import MAX_QUEUE, fetch_due_feeds
from tests.fault_injection import Stumbling
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness

LEASED = "SELECT count(*) FROM feed_fetch_state WHERE lease_holder IS NOT NULL"


@pytest.fixture
def sleepy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that looks for due feeds only when it is woken."""
    monkeypatch.setattr(refresh, "MAX_SLEEP", 600.0)


@pytest.mark.usefixtures("sleepy")
async def test_a_new_feed_is_fetched_at_once(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    async with _working(harness.runtime):
        await asyncio.sleep(0.3)
        feed_id = await harness.follow(site.feed_url())
        await wake_worker(harness.runtime)
        await _until(lambda: _has_titles(harness, feed_id, ["One"]))


@pytest.mark.usefixtures("sleepy")
async def test_news_outlive_a_database_that_stumbles(
    site: FeedSite, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome_writer, "PAUSES", (0.0, 0.0))
    async with _stumbling(site, harness, fails=2) as (stumbling, feed_id):
        await _until(lambda: _has_titles(harness, feed_id, ["One"]))
    assert (stumbling.fails, site.count()) == (0, 1)


@pytest.mark.usefixtures("sleepy")
async def test_a_feed_that_could_not_be_stored_comes_back_soon(
    site: FeedSite, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome_writer, "PAUSES", ())
    async with _stumbling(site, harness, fails=1) as (_, feed_id):
        await _until(lambda: _is_put_off(harness))
        harness.clock.ahead += MINUTE
        await wake_worker(harness.runtime)
        await _until(lambda: _has_titles(harness, feed_id, ["One"]))


async def test_two_workers_never_fetch_one_feed_twice(
    site: FeedSite, harness: RuntimeHarness, database_url: str
) -> None:
    names = [f"feed{number}" for number in range(40)]
    for name in names:
        site.publish("One", feed=name)
        site.misbehave(feed=name, delay=0.05)
        await harness.follow(site.feed_url(name))
    other = replace(harness.runtime, name="that worker", db=await open_database(database_url, pool_size=3))
    try:
        async with _working(harness.runtime), _working(other):
            await _until(lambda: _all_checked(harness))
    finally:
        await other.db.close()

    assert [site.count(name) for name in names] == [1] * 40
    assert await harness.column("SELECT count(*) FROM entries") == [40]


async def test_a_host_is_asked_in_turn_and_does_not_hold_up_others(database_url: str) -> None:
    async with (
        FeedSite() as slow,
        FeedSite(host="127.0.0.2") as other,
        open_harness(database_url, host_delay=150) as harness,
    ):
        for number in range(6):
            slow.publish("One", feed=f"f{number}")
            await harness.follow(slow.feed_url(f"f{number}"))
        other.publish("One")
        await harness.follow(other.feed_url())
        moments, meanwhile = _note_moments(slow), _note_moments(other)
        began = time.monotonic()
        async with _working(harness.runtime):
            await _until(lambda: _all_checked(harness))

    assert meanwhile[0] < moments[-1]
    # Each has its turn by the clock, whatever held up the one before it.
    assert [after for number, after in enumerate(moments) if after - began < 0.15 * number - 0.01] == []
    assert len(moments) == 6


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_workers_together_have_only_so_many_requests_in_flight_at_a_host(
    database_url: str, redis_url: str, at_once: int
) -> None:
    client = await connect(redis_url)
    ready = asyncio.Event()
    policy = {"host_delay": 5, "host_concurrency": at_once}
    async with FeedSite() as site, open_harness(database_url, **policy) as harness:
        for number in range(9):
            site.misbehave(feed=f"f{number}", until=ready)
            site.publish("One", feed=f"f{number}")
            await harness.follow(site.feed_url(f"f{number}"))
        one, other = (
            replace(harness.runtime, name=name, host_throttle=RedisHostThrottle(client, RedisAvailability()))
            for name in ("one", "other")
        )
        async with _working(one), _working(other):
            await _until(lambda: _arrived(site, at_once))
            await asyncio.sleep(0.5)  # in which no other one may come
            assert len(site.arrived) == at_once
            ready.set()
            await _until(lambda: _all_checked(harness))
    assert len(site.arrived) == 9
    assert await client.keys("reedbed:in_flight:*") == []
    await client.aclose()


async def test_what_would_wait_long_for_its_host_is_given_back(site: FeedSite, harness: RuntimeHarness) -> None:
    for number in range(MAX_QUEUE + 10):
        site.publish("One", feed=f"f{number}")
        await harness.follow(site.feed_url(f"f{number}"))
    runtime = replace(harness.runtime, fetching=replace(harness.runtime.fetching, host_delay=1_000))
    async with _working(runtime):
        await _until(lambda: _given_back(harness))
        assert (await harness.column(LEASED))[0] <= MAX_QUEUE

    assert await harness.column(LEASED) == [0]


async def test_a_stop_finishes_what_is_in_flight_and_puts_the_rest_back(site: FeedSite, database_url: str) -> None:
    async with open_harness(database_url, concurrency=2) as harness:
        names = [f"f{number}" for number in range(6)]
        for name in names:
            site.publish("One", feed=name)
            site.misbehave(feed=name, delay=1)
            await harness.follow(site.feed_url(name))
        async with _working(harness.runtime):
            await _until(lambda: _arrived(site, 2))

        assert await harness.column("SELECT count(*) FROM entries") == [2]
        assert await harness.column(LEASED) == [0]
        for name in names:
            site.behave(feed=name)
        assert len(await harness.check()) == 4


@pytest.mark.parametrize("many", [1, 5])
async def test_a_refresh_tells_its_progress(many: int, site: FeedSite, harness: RuntimeHarness) -> None:
    person = await harness.person()
    ids = []
    for number in range(many):
        site.publish("One", feed=f"f{number}")
        ids.append(await harness.follow(site.feed_url(f"f{number}"), user_id=person))
    await harness.check()
    stop = asyncio.Event()
    working = asyncio.create_task(work(harness.runtime, stop, grace=20))

    await request_refresh(harness.runtime, ids, user_id=person)

    await _until(lambda: _progress_ends(harness))
    stop.set()
    await working
    last = harness.heard("progress")[-1]
    assert (last.user_id, last.data["done"], last.data["total"]) == (person, many, many)
    assert await harness.column("SELECT state FROM jobs") == ["done"]
    assert [site.count(f"f{number}") for number in range(many)] == [2] * many


async def test_one_process_does_a_chore_and_another_takes_over_when_it_dies(harness: RuntimeHarness) -> None:
    done: list[str] = []
    other = replace(harness.runtime, name="that worker")

    async def chore() -> None:
        done.append("first")
        assert not await run_exclusively(other, "sweeping", never)

    async def never() -> None:
        raise AssertionError

    assert await run_exclusively(harness.runtime, "sweeping", chore)
    assert await run_exclusively(other, "sweeping", lambda: _note(done, "second"))
    await harness.change(
        "INSERT INTO leases (name, holder, taken_at, heartbeat_at, expires_at) VALUES ('icons', 'dead', 1, 1, :at)",
        at=harness.runtime.now() + HOUR,
    )
    assert not await run_exclusively(harness.runtime, "icons", never)
    harness.clock.ahead += HOUR
    assert await run_exclusively(harness.runtime, "icons", lambda: _note(done, "third"))
    assert done == ["first", "second", "third"]


async def test_a_chore_is_given_up_when_its_lease_is_lost(harness: RuntimeHarness) -> None:
    async def chore() -> None:
        await harness.change("UPDATE leases SET holder = 'that worker'")
        await asyncio.sleep(5)

    with pytest.raises(asyncio.CancelledError):
        await run_exclusively(harness.runtime, "sweeping", chore, ttl=150)


@asynccontextmanager
async def _stumbling(site: FeedSite, harness: RuntimeHarness, *, fails: int) -> AsyncIterator[tuple[Stumbling, int]]:
    """A feed under way when so many writes are about to fail."""
    stumbling = Stumbling(harness.runtime.db, fails=0)
    site.publish("One")
    ready = asyncio.Event()
    site.misbehave(until=ready)
    feed_id = await harness.follow(site.feed_url())
    async with _working(replace(harness.runtime, db=stumbling)):
        await _until(lambda: _arrived(site, 1))
        stumbling.fails = fails
        ready.set()
        yield stumbling, feed_id


@asynccontextmanager
async def _working(runtime: Runtime) -> AsyncIterator[None]:
    stop = asyncio.Event()
    working = asyncio.create_task(fetch_due_feeds(runtime, stop, grace=20))
    try:
        yield
    finally:
        stop.set()
        await working


async def _until(true: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await true():  # noqa: ASYNC110  what is waited for happens in a database
            await asyncio.sleep(0.03)


async def _has_titles(harness: RuntimeHarness, feed_id: int, titles: list[str]) -> bool:
    return await harness.titles(feed_id) == titles


async def _all_checked(harness: RuntimeHarness) -> bool:
    return await harness.column("SELECT count(*) FROM feed_fetch_state WHERE last_checked_at IS NULL") == [0]


async def _given_back(harness: RuntimeHarness) -> bool:
    """Some were put off without a check."""
    waiting = await harness.column(
        "SELECT count(*) FROM feed_fetch_state"
        " WHERE last_checked_at IS NULL AND lease_holder IS NULL AND next_check_at > :now",
        now=harness.runtime.now() + 10_000,
    )
    return waiting[0] > 3


async def _is_put_off(harness: RuntimeHarness) -> bool:
    due = await harness.column(
        "SELECT next_check_at FROM feed_fetch_state WHERE last_checked_at IS NULL AND lease_holder IS NULL"
    )
    return bool(due) and harness.runtime.now() < due[0] <= harness.runtime.now() + MINUTE


async def _arrived(site: FeedSite, count: int) -> bool:
    return len(site.arrived) >= count


async def _progress_ends(harness: RuntimeHarness) -> bool:
    return any(hint.data["done"] == hint.data["total"] for hint in harness.heard("progress"))


async def _note(done: list[str], what: str) -> None:
    done.append(what)


def _note_moments(site: FeedSite) -> list[float]:
    """When each request was answered, as a list that grows."""
    moments: list[float] = []

    class Noting(list[object]):
        def append(self, request: object) -> None:
            moments.append(time.monotonic())
            super().append(request)

    site.requests = Noting()
    return moments
