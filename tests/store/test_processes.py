"""Who runs, what each has in hand, and what becomes of it when one falls silent."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import select

from reedbed.domain.times import MINUTE, SECOND
from reedbed.store import instance, jobs
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Query
from reedbed.store.tables import metadata
from tests.harness import open_harness, run
from tests.rows import as_tuple
from tests.user_data import give_everything

NOW = 1_000_000
WAITING = {
    "mail_boxes": ("next_check_at",),
    "digest_schedules": ("next_at",),
    "websub_subscriptions": ("due_at", "expires_at"),
}


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    database = await open_database(database_url)
    yield database
    await database.close()


async def test_everyone_is_listed_with_what_they_have_in_hand(db: Database) -> None:
    async with db.write() as tx:
        await _beat(tx, "one")
        await _beat(tx, "two")
        await jobs.add(tx, "opml", {}, now=NOW)
        await jobs.claim(tx, ["opml"], "one", NOW, NOW + MINUTE)
        await jobs.acquire_lease(tx, "sweeping", "two", NOW, MINUTE)
        one, two = await jobs.list_processes(tx)
    assert (one.name, one.role, one.in_hand, one.chores) == ("one", "worker", {"jobs": 1}, ())
    assert (two.in_hand, two.chores) == ({}, ("sweeping",))
    assert abs(one.silent_for) < 5 * SECOND


async def test_the_work_of_a_silent_process_is_free_at_once(database_url: str) -> None:
    async with open_harness(database_url) as harness:
        feed = await harness.follow("https://feeds.example.org/")
        db = harness.runtime.db
        async with db.write() as tx:
            await _beat(tx, "dead")
            await _beat(tx, "living")
            await jobs.add(tx, "opml", {}, now=NOW)
            await jobs.claim(tx, ["opml"], "dead", NOW, NOW + MINUTE)
            await jobs.acquire_lease(tx, "sweeping", "dead", NOW, MINUTE)
            await run(
                tx,
                "UPDATE feed_fetch_state SET lease_holder = 'dead', leased_until = :until",
                until=harness.runtime.now() + 10 * MINUTE,
            )
            await run(
                tx,
                "UPDATE processes SET heartbeat_at = heartbeat_at - :silence WHERE name = 'dead'",
                silence=30 * SECOND,
            )
            assert await jobs.remove_dead_processes(tx, 20 * SECOND) == ["dead"]
            assert await jobs.remove_dead_processes(tx, 20 * SECOND) == []
            assert [each.name for each in await jobs.list_processes(tx)] == ["living"]
            (again,) = await jobs.claim(tx, ["opml"], "living", NOW, NOW + MINUTE)
            assert again.attempts == 2
            assert await jobs.acquire_lease(tx, "sweeping", "living", NOW, MINUTE)
            assert await crawl_claim(tx, harness.runtime.now()) == [feed]


async def test_who_leaves_gives_back_what_it_held(db: Database) -> None:
    async with db.write() as tx:
        await _beat(tx, "leaving")
        await jobs.add(tx, "opml", {}, now=NOW)
        await jobs.claim(tx, ["opml"], "leaving", NOW, NOW + MINUTE)
        await jobs.remove_process(tx, "leaving")
        assert await jobs.list_processes(tx) == []
        assert len(await jobs.claim(tx, ["opml"], "other", NOW, NOW + MINUTE)) == 1


async def test_what_waits_for_a_moment_only_a_wrong_clock_can_have_written_is_due(database_url: str) -> None:
    """The clock stood years ahead for a while: the schedule it left behind is not waited for."""
    years = 10 * 365 * 24 * 60 * MINUTE
    async with open_harness(database_url) as harness:
        feed = await harness.follow("https://feeds.example.org/")
        now = harness.runtime.now()
        await harness.change("UPDATE feed_fetch_state SET next_check_at = :ahead", ahead=now + years)
        async with harness.runtime.db.write() as tx:
            await jobs.add(tx, "opml", {}, now=now + years)
            await jobs.acquire_lease(tx, "sweeping", "someone", now + years, MINUTE)
            assert await instance.repair_future_timestamps(tx, now, longest_rest=48 * 60 * MINUTE) == 3
            assert await crawl_claim(tx, now) == [feed]
            assert len(await jobs.claim(tx, ["opml"], "other", now, now + MINUTE)) == 1
            assert await jobs.acquire_lease(tx, "sweeping", "other", now, MINUTE)
            assert await instance.repair_future_timestamps(tx, now, longest_rest=48 * 60 * MINUTE) == 0


async def test_a_mailbox_a_digest_and_a_hub_do_not_wait_for_a_wrong_clock(database_url: str) -> None:
    async with open_harness(database_url) as harness:
        now = harness.runtime.now()
        later = now + 10 * 365 * 24 * 60 * MINUTE
        async with harness.runtime.db.write() as tx:
            await give_everything(tx, now)
            soon = {table: await _moments(tx, table) for table in WAITING}
            assert await instance.repair_future_timestamps(tx, now, longest_rest=MINUTE) == 0
            assert {table: await _moments(tx, table) for table in WAITING} == soon
            for table, columns in WAITING.items():
                wrong = ", ".join(f"{name} = :later" for name in columns)
                await run(tx, f"UPDATE {table} SET {wrong}", later=later)
            assert await instance.repair_future_timestamps(tx, now, longest_rest=MINUTE) == len(WAITING)
            for table, columns in WAITING.items():
                assert await _moments(tx, table) == [now] * len(columns)


async def _moments(tx, table: str) -> list[int]:
    columns = [metadata.tables[table].c[name] for name in WAITING[table]]
    return [*(await tx.get(Query(select(*columns), into=as_tuple)))]


async def _beat(tx, name: str) -> None:
    await jobs.record_heartbeat(tx, name, role="worker", version="1", started_at=NOW)


async def crawl_claim(tx, now: int) -> list[int]:
    from reedbed.store import refresh

    return [due.id for due in await refresh.claim_due(tx, "living", now, limit=10, lease=MINUTE)]
