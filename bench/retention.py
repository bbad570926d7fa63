"""Removing 30,000 of 300,000 entries while people read and write: how long it takes, and how long they wait.

A reader opens the page of unread entries and a writer marks entries, one after the other all the time, on the
same event loop as the cleanup, as in `reedbed serve`. What each waits at most is compared with the promise.

    python -m bench.retention [sqlite] [postgresql]
"""

import argparse
import asyncio
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import quantiles
from typing import Any

from sqlalchemy import text

from bench.table import print_table, record, take_recorded
from reedbed.domain.entries import ViewQuery
from reedbed.domain.retention import Keeping, Limits
from reedbed.services.retention import clean_up
from reedbed.services.search_upkeep import mend_search
from reedbed.store import entry_lists, reading
from reedbed.store.database import Database, Tx
from reedbed.store.migrations import migrate
from reedbed.store.statements import Statement
from tests import pile, servers
from tests.crawling import Crawl, crawl_on

DESCRIPTION = "removing 30,000 of 300,000 entries while others read and write"

SIZE = pile.Pile(users=20, feeds=1_000, entries=300_000, followed=200)
REMOVED = 30_000
INDEXED = 40_000
SECONDS, WAIT_MS, HOLD_MS = 30.0, 100.0, 50.0


async def main(*, engines: tuple[str, ...] = ("sqlite", "postgresql")) -> None:
    if "sqlite" in engines:
        with tempfile.TemporaryDirectory() as directory:
            await _measure(f"sqlite:///{Path(directory) / 'bench.db'}")
    if "postgresql" in engines:
        with servers.postgres_server() as server:
            await _measure(server.create())


async def _measure(url: str) -> None:
    await migrate(url)
    async with crawl_on(url) as crawl:
        await _fill(crawl)
        alone = await _waits(crawl, lambda: asyncio.sleep(5))
        started, at_work = time.perf_counter(), time.process_time()
        holds = Holds(crawl.runtime.db)
        during = await _waits(crawl, lambda: _clean(crawl, holds))
        took, spent = time.perf_counter() - started, time.process_time() - at_work
        left = (await crawl.column("SELECT count(*) FROM entries"))[0]
        assert left == SIZE.entries - REMOVED, left
    engine = crawl.runtime.db.engine
    record(
        f"{engine}: removing {REMOVED:,}", took, "s", compared_to="promised", other=SECONDS, cpu_seconds=spent
    )
    _record_holds(engine, holds)
    for who in during:
        record(f"{engine}: {who} waits at most", during[who], "ms", compared_to="promised", other=WAIT_MS)
        record(f"{engine}: {who} waits at most", during[who], "ms", compared_to="alone", other=alone[who])


async def _fill(crawl: Crawl) -> None:
    db = crawl.runtime.db
    await pile.fill(db, SIZE)
    words = " ".join(f"word' || ((id * {step}) % 5000) || 'x" for step in range(3, 120))
    async with db.write() as tx:
        await tx.run(
            Statement(
                text(
                    "INSERT INTO entry_bodies (entry_id, content)"
                    f" SELECT id, '<p>{words}</p>' FROM entries WHERE id <= {INDEXED}"
                )
            )
        )
        await tx.run(Statement(text("INSERT INTO feed_fetch_state (feed_id) SELECT id FROM feeds")))
    for user in range(1, SIZE.users + 1):
        await pile.make_unread(db, user, every=20)
    await crawl.change("DELETE FROM unread WHERE entry_id <= :top", top=REMOVED)
    await crawl.change(
        "UPDATE subscriptions SET unread = (SELECT count(*) FROM unread u WHERE"
        " u.user_id = subscriptions.user_id AND u.feed_id = subscriptions.feed_id)"
    )
    await mend_search(crawl.runtime)
    await mend_search(crawl.runtime)
    await pile.gather_statistics(db)


async def _clean(crawl: Crawl, holds: "Holds") -> None:
    age = crawl.runtime.now() - REMOVED * 1_000 - 500
    limits = Limits(entries=None, age=age, unread_age=None)
    keeping = Keeping(limits, size=None, unfollowed=None)
    await clean_up(replace(crawl.runtime, db=holds, keeping=keeping))


@dataclass(slots=True)
class Holds:
    """A database that notes how long each write transaction of the cleanup lasts, commit included.

    Of a hold, `waited` is what the writer's thread spent in line for a processor: the work of others.
    """

    db: Database
    lasted: list[float] = field(default_factory=list[float])
    waited: list[float] = field(default_factory=list[float])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.db, name)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[Tx]:
        async with self.db.write() as tx:
            started, in_line = time.perf_counter(), _in_line()
            yield tx
        self.lasted.append((time.perf_counter() - started) * 1_000)
        self.waited.append(_in_line() - in_line)


def _in_line() -> float:
    """Milliseconds that the event loop and SQLite's writer have waited for a processor so far."""
    at_work = [one for one in threading.enumerate() if one.name in ("MainThread", "sqlite-writer")]
    stats = [Path(f"/proc/self/task/{one.native_id}/schedstat") for one in at_work]
    return sum(int(one.read_text().split()[1]) for one in stats if one.exists()) / 1e6


def _record_holds(engine: str, holds: Holds) -> None:
    own = [max(0.0, lasted - waited) for lasted, waited in zip(holds.lasted, holds.waited, strict=True)]
    for name, value in (
        ("longest hold of the writer", max(holds.lasted)),
        ("longest hold, less the wait for a processor", max(own)),
        ("of 100 holds, the longest but one", quantiles(holds.lasted, n=100)[-1]),
    ):
        record(f"{engine}: {name}", value, "ms", compared_to="promised", other=HOLD_MS)


async def _waits(crawl: Crawl, work: Callable[[], Awaitable[None]]) -> dict[str, float]:
    """The longest wait of a reader and of a writer while this is done, in milliseconds."""
    longest = {"a reader": 0.0, "a writer": 0.0}
    probes = [
        asyncio.create_task(_ask_again(longest, "a reader", lambda turn: _read(crawl))),
        asyncio.create_task(_ask_again(longest, "a writer", lambda turn: _write(crawl, turn))),
    ]
    await work()
    for probe in probes:
        probe.cancel()
    await asyncio.gather(*probes, return_exceptions=True)
    return longest


async def _ask_again(longest: dict[str, float], who: str, ask: Callable[[int], Awaitable[None]]) -> None:
    turn = 0
    while True:
        started = time.perf_counter()
        await ask(turn)
        longest[who] = max(longest[who], (time.perf_counter() - started) * 1_000)
        turn += 1
        await asyncio.sleep(0.01)


async def _read(crawl: Crawl) -> None:
    async with crawl.runtime.db.read() as tx:
        assert await entry_lists.page(tx, 1, ViewQuery("unread"), None, 50)


async def _write(crawl: Crawl, turn: int) -> None:
    async with crawl.runtime.db.write() as tx:
        await reading.read(tx, 2, [SIZE.entries - turn])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=["sqlite", "postgresql"])
    asyncio.run(main(engines=tuple(parser.parse_args().engines)))
    print_table(take_recorded())
