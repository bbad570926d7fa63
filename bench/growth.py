"""What growth costs: the same work in a library of 10,000, of 100,000 and, with BENCH_ENTRIES, of a million.

One reader follows 200 feeds with all entries unread; beside them there is a feed for every 50 entries, and
somebody else for every hundred of those, all due at some time, for the claim. PostgreSQL has the memory that
an operator would give it, and is vacuumed as it would be by itself. CPU is that of this process and of
PostgreSQL's.

    BENCH_ENTRIES=1000000 python -m bench growth
"""

import asyncio
import os
import random
import tempfile
from collections.abc import Awaitable, Callable
from itertools import groupby
from pathlib import Path

from bench.search_library import VOCABULARY, Cpu, server_process, some_words
from bench.table import record
from reedbed.domain.entries import ViewQuery
from reedbed.domain.search.indexing import search_words
from reedbed.domain.times import DAY
from reedbed.services.refresh import check as book
from reedbed.services.search.find import search_entries
from reedbed.store import search
from reedbed.store.engine.database import Database
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries.write import NewEntryRow, NewEntryText, insert_new
from reedbed.store.migrations import migrate
from reedbed.store.read_state import counts, undo
from reedbed.store.read_state.mark import mark_all
from reedbed.store.read_state.unread import Arrival, fan_out
from tests import servers
from tests.harness import RuntimeHarness, open_harness

DESCRIPTION = "claim, page, counts, mark-all, search and insert as the library grows tenfold and tenfold again"

MOST = int(os.environ.get("BENCH_ENTRIES", "100000"))
FOLLOWED = 200
EACH = 100
"""Feeds that each of the others follows."""
ENTRIES_PER_FEED = 50
WRITERS = 3
AT_ONCE = 50
"""So that already the smallest library has entries of every feed."""
WORDS = 60
ROUNDS, CALLS = 5, 10
NOW = 1_790_000_000_000
PROMISED = {"search": 4.0, "insert": 4.0}
"""How many times the cost in the smallest library is allowed in the largest; 2 for the rest."""

Work = Callable[[], Awaitable[None]]


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        await _bench(f"sqlite:///{Path(directory) / 'reedbed.db'}")
    with servers.postgres_server(shared_buffers="1GB") as server:
        await _bench(server.create())


async def _bench(url: str) -> None:
    await migrate(url)
    async with open_harness(url) as harness:
        library = Library(harness, await harness.person())
        costs: list[dict[str, float]] = []
        sizes = [size for size in (10_000, 100_000, 1_000_000) if size <= MOST] or [MOST]
        for size in sizes:
            await library.grow(size)
            costs.append({name: await _used(harness.runtime.db, work) for name, work in library.works().items()})
            costs[-1]["mark all"] = await _mark_all(harness.runtime.db, library)
            print(f"{harness.runtime.db.engine}, {size}: " + ", ".join(f"{n} {c:.2f} ms" for n, c in costs[-1].items()))
        for name, first in costs[0].items():
            ratio = costs[-1][name] / first if first else 1.0
            spent = f"{costs[-1][name]:.2f} ms"
            label = f"{harness.runtime.db.engine}: {name}, {sizes[0]:,} to {sizes[-1]:,} ({spent})"
            record(label, ratio, "times", compared_to="promised", other=PROMISED.get(name, 2.0))


class Library:
    def __init__(self, harness: RuntimeHarness, reader: int) -> None:
        self._crawl, self._reader = harness, reader
        self._db = harness.runtime.db
        self._chance = random.Random(3)
        self._entries = self._feeds = 0
        self._marked = 0

    async def grow(self, size: int) -> None:
        await self._add_feeds(FOLLOWED + size // ENTRIES_PER_FEED)
        await asyncio.gather(*(self._fill(size) for _ in range(WRITERS)))
        async with self._db.write() as tx:
            while await search.merge_index_batch(tx):
                pass
        if self._db.engine == "postgresql":
            await self._db.vacuum()

    async def _fill(self, size: int) -> None:
        while self._entries < size:  # feed by feed, which takes a third of the time
            feed_id = self._entries // AT_ONCE % FOLLOWED + 1
            await self._write([self._entry(feed_id) for _ in range(AT_ONCE)])

    def works(self) -> dict[str, Work]:
        return {
            "claim": self._claim,
            "unread page": self._page,
            "counts": self._counts,
            "search": self._search,
            "insert": lambda: self._write([self._entry(feed_id) for feed_id in range(1, 51)]),
        }

    async def _add_feeds(self, size: int) -> None:
        owner = self._reader
        while self._feeds < size:
            if self._feeds >= FOLLOWED and (self._feeds % EACH == 0 or owner == self._reader):
                owner = await self._crawl.person()
            self._feeds += 1
            await self._crawl.follow(f"https://example.org/{self._feeds}.xml", user_id=owner)
        now = self._crawl.runtime.now()
        spread = "UPDATE feed_fetch_state SET urgent = false, next_check_at = :now - 60000 + feed_id * 100"
        await self._crawl.change(spread, now=now)

    async def _write(self, rows: list[NewEntryRow]) -> None:
        async with self._db.write() as tx:
            stored = await insert_new(tx, rows)
            await search.index(tx, [(id_, row.text.search) for id_, row in stored])
            for feed_id, new in groupby(stored, lambda pair: pair[1].feed_id):
                await fan_out(tx, [Arrival(feed_id, [id_ for id_, _ in new])])

    def _entry(self, feed_id: int) -> NewEntryRow:
        self._entries += 1
        at = NOW - self._chance.randrange(365 * DAY)
        title, body = " ".join(some_words(self._chance, 8)), " ".join(some_words(self._chance, WORDS))
        return NewEntryRow(
            feed_id=feed_id,
            guid=str(self._entries),
            url=None,
            normalized_url=None,
            change_hash=str(self._entries),
            published_at=at,
            fetched_at=at,
            sort_at=at,
            text=NewEntryText(title, f"<p>{body}</p>", summary=body[:300], search=search_words(title, body, "")),
        )

    async def _claim(self) -> None:
        claimed = await book.claim(self._crawl.runtime, limit=50, per_host=1_000_000)
        assert len(claimed) == 50
        await book.release(self._crawl.runtime, [due.id for due in claimed])

    async def _page(self) -> None:
        async with self._db.read() as tx:
            assert await entry_lists.page(tx, self._reader, ViewQuery("unread"), None, 50)

    async def _counts(self) -> None:
        async with self._db.read() as tx:
            await counts.counts(tx, self._reader)

    async def mark_all(self) -> None:
        self._marked += 1
        async with self._db.write() as tx:
            await mark_all(tx, self._reader, None, None, token_hash=f"bench {self._marked}", now=1)

    async def undo_all(self) -> None:
        async with self._db.write() as tx:
            step = await undo.find(tx, self._reader, f"bench {self._marked}", 1)
            assert step
            assert await undo.apply_undo(tx, step)

    async def _search(self) -> None:
        assert (await search_entries(self._crawl.runtime, self._reader, VOCABULARY[200], order="newest")).rows


async def _mark_all(db: Database, library: Library) -> float:
    """Undone each time, which is not counted: the second time there would be nothing to mark."""
    spent: list[float] = []
    for _ in range(ROUNDS * CALLS):
        spent += await _round(db, library.mark_all, calls=1)
        await library.undo_all()
    return sorted(spent)[len(spent) // 4]


async def _used(db: Database, work: Work) -> float:
    """Milliseconds of CPU for one call, warm: the best of some rounds, which noise can only lengthen."""
    await work()
    return min([spent for _ in range(ROUNDS) for spent in await _round(db, work, calls=CALLS)])


async def _round(db: Database, work: Work, *, calls: int) -> list[float]:
    """Nothing when the pool took another connection meanwhile, as it does after 50,000 questions."""
    cpu = Cpu(await server_process(db))
    started = cpu.seconds()
    for _ in range(calls):
        await work()
    try:
        return [(cpu.seconds() - started) / calls * 1_000]
    except FileNotFoundError:
        return []
