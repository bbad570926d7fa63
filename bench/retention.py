"""Removing 30,000 of 300,000 entries while people read and write: how long it takes, and how long they wait.

A reader opens the page of unread entries and a writer marks entries, one after the other all the time, on the
same event loop as the cleanup, as in `reedbed serve`. What each waits at most is compared with the promise.

    python -m bench.retention [sqlite] [postgresql]
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from sqlalchemy import text

from bench.table import print_table, record, take_recorded
from reedbed.domain.entries import ViewQuery
from reedbed.domain.retention import Keeping, Limits
from reedbed.services.retention import clean_up
from reedbed.services.search_upkeep import mend_search
from reedbed.store import entry_lists, reading
from reedbed.store.migrations import migrate
from reedbed.store.statements import Statement
from tests import pile, servers
from tests.crawling import Crawl, crawl_on

DESCRIPTION = "removing 30,000 of 300,000 entries while others read and write"

SIZE = pile.Pile(users=20, feeds=1_000, entries=300_000, followed=200)
REMOVED = 30_000
INDEXED = 40_000
SECONDS, WAIT_MS = 30.0, 100.0


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
        during = await _waits(crawl, lambda: _clean(crawl))
        took, spent = time.perf_counter() - started, time.process_time() - at_work
        left = (await crawl.column("SELECT count(*) FROM entries"))[0]
        assert left == SIZE.entries - REMOVED, left
    engine = crawl.runtime.db.engine
    record(
        f"{engine}: removing {REMOVED:,}", took, "s", compared_to="promised", other=SECONDS, cpu_seconds=spent
    )
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


async def _clean(crawl: Crawl) -> None:
    age = crawl.runtime.now() - REMOVED * 1_000 - 500
    limits = Limits(entries=None, age=age, unread_age=None)
    await clean_up(replace(crawl.runtime, keeping=Keeping(limits, size=None, unfollowed=None)))


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
