"""PostgreSQL stops, dies and stands still under load: answers come soon, and nothing acknowledged is lost."""

import asyncio
import time
from collections.abc import Callable

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from reedbed.domain.errors import Unavailable
from reedbed.store.engine.postgresql import MAX_WAIT_SECONDS, ConnectionProbe, PostgresqlDatabase, open_postgresql
from reedbed.store.engine.statements import Query
from tests.effort import REPEAT_FACTOR
from tests.processes import wait_for
from tests.rows import as_tuple
from tests.servers import run_apart

from .conftest import Fleet
from .load import people

SOON = MAX_WAIT_SECONDS / 2
"""A frozen server is noticed in three seconds, and this machine may be busy; unnoticed, it takes thirty."""
AFTER_TROUBLE = 120
"""Seconds; a feed whose check met the fault comes back after a minute."""

SLEEP = "SELECT pg_sleep(50)"

WAYS = {
    "stopped": (lambda fleet: fleet.postgres.stop(), lambda fleet: fleet.postgres.start()),
    "killed": (lambda fleet: fleet.postgres.kill(), lambda fleet: fleet.postgres.start()),
    "frozen": (lambda fleet: fleet.postgres.freeze(), lambda fleet: fleet.postgres.thaw()),
}


@pytest.mark.parametrize("way", list(WAYS) * max(1, REPEAT_FACTOR // 2))
def test_a_lost_postgresql_is_said_at_once_and_everything_goes_on_after(fleet: Fleet, way: str) -> None:
    lose, bring_back = WAYS[way]
    name = f"{way}-{time.monotonic_ns()}"
    fleet.wait_until_well()
    with people(fleet.clients) as told:
        wait_for("some folders", lambda: len(told.acknowledged) > 5)
        lose(fleet)
        try:
            wait_for("a refusal", lambda: told.statuses[503] > 3)
            _assert_said_plainly(fleet)
            time.sleep(1.0)
            fleet.site.publish(f"While {name}", feed=name)
        finally:
            bring_back(fleet)
        fleet.wait_until_well()
        before = len(told.acknowledged)
        wait_for("folders again", lambda: len(told.acknowledged) > before + 5)
    told.assert_only(200, 201, 503)
    assert told.broken == []
    assert told.without_retry_after == 0
    assert told.slowest < SOON
    fleet.assert_all_alive()
    assert told.acknowledged <= fleet.folders()
    fleet.follow(name)
    wait_for("the crawl goes on", lambda: f"While {name}" in fleet.titles(), AFTER_TROUBLE)


def test_a_slow_statement_is_no_silence(fleet: Fleet) -> None:
    """A lock holds one request up; all others are served, and this one ends well."""
    fleet.wait_until_well()
    with people(fleet.clients) as told:
        _hold_lock(fleet, "LOCK TABLE tags IN ACCESS EXCLUSIVE MODE", 3.5)
    told.assert_only(200, 201)


async def test_who_waits_for_a_connection_hears_of_the_silence_too(fleet: Fleet) -> None:
    """They would wait half a minute for one that is in use, because a busy server is no dead one."""
    fleet.wait_until_well()
    db = await open_postgresql(fleet.postgres.url, pool_size=1)
    asked = [asyncio.create_task(_ask(db)) for _ in range(5)]
    await _until_one_is_asleep(fleet)
    fleet.postgres.freeze()
    try:
        started = time.monotonic()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert time.monotonic() - started < MAX_WAIT_SECONDS - 5
    finally:
        fleet.postgres.thaw()
        await db.close()
    assert [type(answer) for answer in answers] == [Unavailable] * 5


async def test_a_silence_is_noticed_also_where_it_falls_into_the_first_beat(fleet: Fleet) -> None:
    async def connect_and_freeze() -> asyncpg.Connection:
        connection = await asyncpg.connect(fleet.postgres.url, timeout=60)
        fleet.postgres.freeze()
        return connection

    fleet.wait_until_well()
    pulse = ConnectionProbe(connect_and_freeze)
    try:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            async with pulse.patience():
                await asyncio.Event().wait()
        assert time.monotonic() - started < MAX_WAIT_SECONDS - 5
    finally:
        fleet.postgres.thaw()
        await pulse.stop()


async def _ask(db: PostgresqlDatabase) -> None:
    async with db.read() as tx:
        await tx.all(Query(text(SLEEP), into=as_tuple))


async def _until_one_is_asleep(fleet: Fleet) -> None:
    connection = await asyncpg.connect(fleet.postgres.url)
    asleep = "SELECT count(*) FROM pg_stat_activity WHERE query = $1 AND state = 'active'"
    async with asyncio.timeout(60):
        while not await connection.fetchval(asleep, SLEEP):  # noqa: ASYNC110  it happens in another process
            await asyncio.sleep(0.02)
    await connection.close()


def _assert_said_plainly(fleet: Fleet) -> None:
    client = fleet.client
    assert client.get("/healthz").status_code == 200
    for path in ("/readyz", "/api/v1/entries", "/api/v1/counts", "/api/v1/status"):
        answer = _timed(lambda path=path: client.get(path))
        assert answer.status_code == 503, path
        assert answer.json()["error"]["code"] == "unavailable"
        assert int(answer.headers["retry-after"]) > 0
    for path in ("/unread", "/login"):
        page = _timed(lambda path=path: httpx.get(f"{fleet.web[0].url}{path}", timeout=30))
        assert page.status_code in (200, 503), path
        if page.status_code == 503:
            assert "retry-after" in page.headers
            assert "<html" in page.text


def _timed(ask: Callable[[], httpx.Response]) -> httpx.Response:
    started = time.monotonic()
    answer = ask()
    assert time.monotonic() - started < SOON
    return answer


def _hold_lock(fleet: Fleet, statement: str, seconds: float) -> None:
    async def hold() -> None:
        connection = await asyncpg.connect(fleet.postgres.url)
        async with connection.transaction():
            await connection.execute(statement)
            await asyncio.sleep(seconds)
        await connection.close()

    run_apart(hold())
