"""Claims: fair, urgent first, by lease, never twice, and by an index even among very many feeds."""

import asyncio
from typing import Any

from reedbed.domain.times import MINUTE
from reedbed.store import refresh
from reedbed.store.engine.postgresql import POSTGRESQL
from reedbed.store.engine.statements import SQLITE
from tests.harness import RuntimeHarness, open_harness

NOW = 1_000_000_000


async def test_urgent_feeds_come_first_then_the_longest_due(harness: RuntimeHarness) -> None:
    await _feeds(harness, [("a", NOW - 10, False), ("b", NOW - 20, False), ("c", NOW - 1, True), ("d", NOW + 1, True)])

    taken = [await _claim(harness, limit=1) for _ in range(4)]

    assert taken == [["c"], ["b"], ["a"], []]


async def test_one_host_does_not_hide_the_others(harness: RuntimeHarness) -> None:
    busy = [("busy", NOW - 1000 + place, False) for place in range(20)]
    await _feeds(harness, [*busy, ("calm", NOW - 5, False), ("quiet", NOW - 4, False)])

    assert sorted(await _claim(harness, limit=6)) == ["busy", "busy", "busy", "busy", "calm", "quiet"]


async def test_no_more_of_one_host_than_asked_for(harness: RuntimeHarness) -> None:
    await _feeds(harness, [("busy", NOW - 1000 + place, False) for place in range(20)])

    assert len(await _claim(harness, limit=10, per_host=3)) == 3


async def test_a_crashed_lease_is_claimed_again_when_it_has_run_out(harness: RuntimeHarness) -> None:
    await _feeds(harness, [("a", NOW - 1, False)])

    assert await _claim(harness, holder="crashed") == ["a"]
    assert await _claim(harness, holder="other", now=NOW + 10 * MINUTE - 1) == []
    assert await _claim(harness, holder="other", now=NOW + 10 * MINUTE) == ["a"]


async def test_many_workers_never_claim_the_same_feed(harness: RuntimeHarness) -> None:
    await _feeds(harness, [(f"host{place % 7}", NOW - place, place % 3 == 0) for place in range(200)])

    async def worker(name: str) -> list[int]:
        mine: list[int] = []
        while claimed := await _claim_ids(harness, holder=name, limit=7):
            mine += claimed
        return mine

    claims = await asyncio.gather(*(worker(f"worker {number}") for number in range(5)))

    every = [feed_id for mine in claims for feed_id in mine]
    assert len(every) == 200
    assert len(set(every)) == 200


async def test_a_feed_given_back_is_due_at_its_moment(harness: RuntimeHarness) -> None:
    await _feeds(harness, [("a", NOW - 1, False)])
    (feed_id,) = await _claim_ids(harness)
    async with harness.runtime.db.write() as tx:
        await refresh.give_back(tx, "worker", [(feed_id, NOW + 5_000)])

    assert await _claim(harness) == []
    async with harness.runtime.db.read() as tx:
        assert await refresh.next_due(tx, NOW) == NOW + 5_000
    assert await _claim(harness, now=NOW + 5_000) == ["a"]


async def test_a_claim_walks_its_indexes_on_sqlite(sqlite_url: str) -> None:
    async with open_harness(sqlite_url) as harness:
        plan = await _plan(harness, "EXPLAIN QUERY PLAN ", SQLITE)
    assert "USING INDEX ix_feed_fetch_state_urgent" in plan
    assert "USING INDEX ix_feed_fetch_state_due" in plan
    assert "SCAN feed_fetch_state" not in plan


async def test_a_claim_walks_its_indexes_on_postgresql(postgres_url: str) -> None:
    async with open_harness(postgres_url) as harness:
        await harness.change(
            "INSERT INTO feeds (url, created_at) SELECT 'http://h' || n || '.test/', 1 FROM generate_series(1, 20000) n"
        )
        await harness.change(
            "INSERT INTO feed_fetch_state (feed_id, host, next_check_at, urgent)"
            " SELECT id, 'h' || (id % 500), :now + id * 1000 - 100000, id % 1000 = 0 FROM feeds",
            now=NOW,
        )
        await harness.change("ANALYZE feed_fetch_state")
        plan = await _plan(harness, "EXPLAIN ", POSTGRESQL)
    assert "ix_feed_fetch_state_urgent" in plan
    assert "ix_feed_fetch_state_due" in plan
    assert "Seq Scan" not in plan


async def _plan(harness: RuntimeHarness, explain: str, dialect: Any) -> str:
    compiled = refresh.CLAIM.on(dialect)
    given = {"holder": "w", "until": NOW, "now": NOW, "window": 40, "per_host": 9, "limit": 10}
    arguments = compiled.arguments(given)
    async with harness.runtime.db.write() as tx:
        driver: Any = tx
        if dialect is SQLITE:
            rows = await driver._job(
                lambda connection: connection.execute(explain + compiled.sql, arguments).fetchall()
            )
            return "\n".join(row[3] for row in rows)
        rows = await driver._connection.fetch(explain + compiled.sql, *arguments)
        return "\n".join(row[0] for row in rows)


async def _feeds(harness: RuntimeHarness, feeds: list[tuple[str, int, bool]]) -> None:
    """Feeds of these hosts, due at these moments, urgent or not."""
    user_id = await harness.person()
    for place, (host, due, urgent) in enumerate(feeds):
        feed_id = await harness.follow(f"http://{host}/{place}", user_id=user_id)
        await harness.change(
            "UPDATE feed_fetch_state SET next_check_at = :due, urgent = :urgent WHERE feed_id = :id",
            due=due,
            urgent=urgent,
            id=feed_id,
        )


async def _claim(
    harness: RuntimeHarness, *, holder: str = "worker", now: int = NOW, limit: int = 10, per_host: int = 100
) -> list[str]:
    async with harness.runtime.db.write() as tx:
        claimed = await refresh.claim_due(tx, holder, now, limit=limit, lease=10 * MINUTE, per_host=per_host)
    return [due.host for due in claimed]


async def _claim_ids(harness: RuntimeHarness, *, holder: str = "worker", limit: int = 10) -> list[int]:
    async with harness.runtime.db.write() as tx:
        claimed = await refresh.claim_due(tx, holder, NOW, limit=limit, lease=10 * MINUTE)
    return [due.id for due in claimed]
