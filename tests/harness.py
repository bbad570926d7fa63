"""A crawl in hand: any database, a clock that can be moved, feeds with followers, checks on demand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Any

from sqlalchemy import text

from reedbed.domain.live import ChangeEvent
from reedbed.domain.refresh.state import FetchState
from reedbed.domain.times import SECOND, Instant, Millis
from reedbed.events.bus import MemoryBus
from reedbed.events.limits import MemoryHostThrottle, MemoryLimiter
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.roles.build import system_clock
from reedbed.services.refresh.check import RefreshReport, refresh_feed
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import ClockGuard, FetchPolicy, Runtime
from reedbed.store import refresh, users
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Query
from reedbed.store.feeds import feeds
from reedbed.store.read_state import unread
from reedbed.store.refresh import STATE_NAMES
from reedbed.store.refresh import fetch_state as state_of
from reedbed.web.i18n import texts_in
from tests.rows import as_tuple


class RecordingBus(MemoryBus):
    """A bus that remembers what was said."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[ChangeEvent] = []

    async def publish(self, hint: ChangeEvent) -> None:
        self.sent.append(hint)
        await super().publish(hint)


@dataclass
class Clock:
    ahead: Millis = 0

    def __call__(self) -> Instant:
        return system_clock() + self.ahead


@dataclass
class RuntimeHarness:
    runtime: Runtime
    clock: Clock
    bus: RecordingBus
    people: int = field(default=0)

    async def follow(self, url: str, *, user_id: int | None = None) -> int:
        """A feed with a follower who wants no whole articles, due at once; its id."""
        user_id = user_id or await self.person()
        async with self.runtime.db.write() as tx:
            feed_id, _ = await feeds.find_or_add(tx, url, self.runtime.now())
            await run(
                tx,
                "INSERT INTO subscriptions (user_id, feed_id, subscribed_at, full_text) "
                "VALUES (:user, :feed, 1, 'never')",
                user=user_id,
                feed=feed_id,
            )
            await unread.init_unread(tx, user_id, feed_id)
        return feed_id

    async def person(self) -> int:
        self.people += 1
        async with self.runtime.db.write() as tx:
            user = await users.add(
                tx, email=f"p{self.people}@example.org", password_hash=None, role="user", now=1, verified=True
            )
        return user.id

    async def check(self, *, at_least: Millis = 0) -> list[RefreshReport]:
        """Check all that is due, after letting this much time pass."""
        self.clock.ahead += at_least
        runtime = self.runtime
        async with runtime.db.write() as tx:
            claimed = await refresh.claim_due(tx, runtime.name, runtime.now(), limit=500, lease=runtime.fetching.lease)
        async with OutcomeWriter(runtime) as writer:
            return [await refresh_feed(runtime, due, writer) for due in claimed]

    async def check_anyway(self, feed_id: int) -> RefreshReport:
        """Check this feed, due or not."""
        async with self.runtime.db.write() as tx:
            await refresh.request_check(tx, [feed_id], self.runtime.now())
        (report,) = await self.check()
        return report

    async def state(self, feed_id: int) -> FetchState:
        columns = ", ".join(STATE_NAMES)
        (row,) = await self.rows(f"SELECT {columns} FROM feed_fetch_state WHERE feed_id = :id", id=feed_id)
        return state_of(row)

    async def rows(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        async with self.runtime.db.read() as tx:
            return await run(tx, sql, **params)

    async def column(self, sql: str, **params: Any) -> list[Any]:
        return [row[0] for row in await self.rows(sql, **params)]

    async def change(self, sql: str, **params: Any) -> None:
        async with self.runtime.db.write() as tx:
            await run(tx, sql, **params)

    async def titles(self, feed_id: int) -> list[str]:
        return await self.column("SELECT title FROM entries WHERE feed_id = :id ORDER BY id", id=feed_id)

    def heard(self, topic: str) -> list[ChangeEvent]:
        return [hint for hint in self.bus.sent if hint.topic == topic]


async def run(tx: Tx, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    return await tx.all(Query(text(sql).bindparams(**params), into=as_tuple), params)


@asynccontextmanager
async def open_harness(database_url: str, **policy: Any) -> AsyncIterator[RuntimeHarness]:
    clock, bus = Clock(), RecordingBus()
    db = await open_database(database_url, pool_size=5)
    fetcher = Fetcher(Guard([ip_network("127.0.0.0/8")]), timeout=20)
    runtime = Runtime(
        db=db,
        bus=bus,
        fetcher=fetcher,
        host_throttle=MemoryHostThrottle(),
        limiter=MemoryLimiter(),
        clock=clock,
        secret=b"s" * 32,
        name="this worker",
        fetching=replace(FetchPolicy(host_delay=0), **policy),
        texts=texts_in,
        clock_guard=ClockGuard(uptime=lambda: clock() / SECOND),  # its time passes, it does not jump
    )
    try:
        yield RuntimeHarness(runtime, clock, bus)
    finally:
        await fetcher.close()
        await db.close()
