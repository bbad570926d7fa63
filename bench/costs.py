"""What a check, an entry, a request and a row cost on PostgreSQL: what docs/scaling.md reckons with.

CPU is that of this process and, apart, of PostgreSQL's processes. BENCH_FEEDS sets the number of feeds.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

from sqlalchemy import text

from bench.load import feed_site
from bench.table import record
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.users import Allowance, RateLimits
from reedbed.roles.app import create_app
from reedbed.services.refresh.check import refresh_feed
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.store import refresh
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Query
from reedbed.store.migrations import migrate
from tests import large_library, servers
from tests.clients import new_client, session_of
from tests.harness import RuntimeHarness, open_harness

DESCRIPTION = "what a check, an entry, a request and a row cost on PostgreSQL, for the reckoning of scale"

FEEDS = int(os.environ.get("BENCH_FEEDS", "300"))
ENTRIES = 10
SIDE_BY_SIDE = 10
REQUESTS = 200
PLENTY = Allowance(1_000_000, 1_000)
PEOPLE = large_library.LibrarySize(users=200, feeds=1_000, entries=1_000, followed=100)


async def main() -> None:
    with servers.postgres_server() as server:
        url = server.create()
        await migrate(url)
        async with feed_site(FEEDS, ENTRIES) as site, open_harness(url) as harness:
            await _crawl(harness, site)
        await _rows(server.create())


async def _crawl(harness: RuntimeHarness, site: str) -> None:
    user_id, token = await session_of(harness.runtime, "reader@example.org", "user")
    for number in range(FEEDS):
        await harness.follow(f"{site}/f/{number}", user_id=user_id)
    cpu = Cpu(harness.runtime.db)
    first = await cpu.of(lambda: _round(harness))
    unchanged = await cpu.of(lambda: _round(harness))
    await asyncio.to_thread(urlopen, f"{site}/advance?share=1")
    changed = await cpu.of(lambda: _round(harness))
    _tell("unchanged check", unchanged, FEEDS)
    _tell("check with one new entry of ten", changed, FEEDS)
    _tell(f"first check with {ENTRIES} entries", first, FEEDS)
    await _sizes(
        harness.runtime.db,
        ("entries", "entry_bodies", "search_entries"),
        "an entry of 240 words",
        FEEDS * (ENTRIES + 1),
    )
    app = create_app(replace(harness.runtime, limits=RateLimits(requests=PLENTY)))
    async with new_client(app, headers={"Authorization": f"Bearer {token}"}) as client:
        for path in ("/api/v1/entries?limit=50", "/api/v1/counts", "/api/v1/subscriptions"):
            await client.get(path)

            async def ask(path: str = path) -> None:
                for _ in range(REQUESTS):
                    answer = await client.get(path)
                    assert answer.status_code == 200, answer.text

            _tell(f"GET {path}, client included", await cpu.of(ask), REQUESTS)


async def _rows(url: str) -> None:
    await migrate(url)
    async with open_harness(url) as harness:
        await large_library.fill(harness.runtime.db, PEOPLE)
        for user in range(1, PEOPLE.users + 1):
            await large_library.make_unread(harness.runtime.db, user)
        (unread,) = await harness.column("SELECT count(*) FROM unread")
        await _sizes(harness.runtime.db, ("subscriptions",), "a subscription", PEOPLE.users * PEOPLE.followed)
        await _sizes(harness.runtime.db, ("unread",), "an unread entry of a reader", unread)


async def _round(harness: RuntimeHarness) -> None:
    runtime = harness.runtime
    await harness.change("UPDATE feed_fetch_state SET next_check_at = 1, retry_after_until = NULL")
    gate = asyncio.Semaphore(SIDE_BY_SIDE)
    async with OutcomeWriter(runtime) as writer:

        async def check(due: DueFeed) -> None:
            async with gate:
                assert (await refresh_feed(runtime, due, writer)).status == "success"

        for _ in range(0, FEEDS, 50):
            async with runtime.db.write() as tx:
                claimed = await refresh.claim_due(tx, runtime.name, runtime.now(), limit=50, lease=600_000)
            await asyncio.gather(*map(check, claimed))


class Cpu:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def of(self, work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
        """Milliseconds of this process and of PostgreSQL's."""
        own, before = time.process_time(), await self._of_servers()
        await work()
        after = await self._of_servers()
        used = sum(seconds - before.get(process, 0.0) for process, seconds in after.items())
        return (time.process_time() - own) * 1_000, used * 1_000

    async def _of_servers(self) -> dict[int, float]:
        async with self._db.read() as tx:
            rows = await tx.all(
                Query(text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()"), into=int)
            )
        ticks, spent = os.sysconf("SC_CLK_TCK"), dict[int, float]()
        for pid in rows:
            spent[pid] = _ticks(pid) / ticks
        return spent


def _ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _tell(name: str, spent: tuple[float, float], times: int) -> None:
    own, server = spent[0] / times, spent[1] / times
    record(f"{name}", own, "ms", compared_to="PostgreSQL's share", other=server, cpu_seconds=spent[0] / 1_000)


async def _sizes(db: Database, tables: tuple[str, ...], name: str, rows: int) -> None:
    async with db.read() as tx:
        sizes = [await tx.get(Query(text(f"SELECT pg_total_relation_size('{table}')"), into=int)) for table in tables]
    record(name, sum(sizes) / rows, "B", compared_to="all rows together", other=sum(sizes))
