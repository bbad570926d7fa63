"""Removing 30,000 of 300,000 entries while people read and write: how long it takes, and how long they wait.

A reader opens the page of unread entries and a writer marks unread entries of the very feeds as read, one
after the other all the time, on the same event loop as the cleanup, as in `reedbed serve`. The longest wait
of each is shown beside the same without a cleanup: the difference is the cleanup's, what both have is the
machine's. Of every transaction of the cleanup the time on the clock is noted, and what the database itself
(SQLite's writer, PostgreSQL's process) computed: that much is the same on a busy machine.

    python -m bench.retention [sqlite] [postgresql]
"""

import argparse
import asyncio
import random
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import quantiles
from typing import Any, TypeVar

from sqlalchemy import text

from bench.search_library import some_words
from bench.table import print_table, record, take_recorded
from reedbed.domain.entries import ViewQuery
from reedbed.domain.retention import RetentionLimits, RetentionPolicy
from reedbed.domain.search.indexing import search_words
from reedbed.services.retention import clean_up
from reedbed.store import search
from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.statements import Command
from reedbed.store.entries import lists as entry_lists
from reedbed.store.migrations import migrate
from reedbed.store.read_state import rows as reading
from tests import large_library, servers
from tests.harness import RuntimeHarness, open_harness

T = TypeVar("T")

DESCRIPTION = "removing 30,000 of 300,000 entries while others read and write"

SIZE = large_library.LibrarySize(users=20, feeds=1_000, entries=300_000, followed=200)
REMOVED = 30_000
INDEXED = 40_000
"""The oldest have a text that can be found: all that go, and some that stay."""
WORDS = 150
AT_ONCE = 500
SECONDS, WAIT_MS = 30.0, 100.0
ALONE_SECONDS = 8.0
RELIABLE = {
    **dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes", "autovacuum"), "on"),
    "shared_buffers": "128MB",
}
"""As PostgreSQL is set by itself. The server of the tests does not wait for the disk; one that people rely on
does."""

_TEXT = Command(text("INSERT INTO entry_bodies (entry_id, content) VALUES (:id, :content)"))


async def main(*, engines: tuple[str, ...] = ("sqlite", "postgresql")) -> None:
    if "sqlite" in engines:
        with tempfile.TemporaryDirectory() as directory:
            await _measure(f"sqlite:///{Path(directory) / 'bench.db'}")
    if "postgresql" in engines:
        with servers.postgres_server(**RELIABLE) as server:
            await _measure(server.create())


async def _measure(url: str) -> None:
    await migrate(url)
    async with open_harness(url) as harness:
        began = time.perf_counter()
        await fill(harness)
        engine = harness.runtime.db.engine
        print(f"{engine}: filled in {time.perf_counter() - began:.0f} s", flush=True)
        alone = await _waits(harness, asyncio.sleep(ALONE_SECONDS))
        started, at_work = time.perf_counter(), time.process_time()
        holds = Holds(harness.runtime.db)
        during = await _waits(harness, _clean(harness, holds))
        took, spent = time.perf_counter() - started, time.process_time() - at_work
        await _check(harness)
    record(f"{engine}: removing {REMOVED:,}", took, "s", compared_to="promised", other=SECONDS, cpu_seconds=spent)
    _record_holds(engine, holds)
    for who, waits in during.items():
        longest = max(waits)
        record(f"{engine}: {who} waits at most", longest, "ms", compared_to="promised", other=WAIT_MS)
        record(f"{engine}: {who} waits at most", longest, "ms", compared_to="alone", other=max(alone[who]))
        last, last_alone = (quantiles(one, n=100)[-1] for one in (waits, alone[who]))
        record(f"{engine}: {who} waits, 99 of 100", last, "ms", compared_to="alone", other=last_alone)


# ---- the library -----------------------------------------------------------------------------------


async def fill(harness: RuntimeHarness) -> None:
    db = harness.runtime.db
    await large_library.fill(db, SIZE)
    # Each is known again by its guid and its address once it is gone.
    await harness.change(f"UPDATE entries SET guid = 'urn#' || id, normalized_url = url WHERE id <= {INDEXED}")
    await harness.change("INSERT INTO feed_fetch_state (feed_id) SELECT id FROM feeds")
    async with _without_index(harness):
        await _write_texts(db)
    await _make_unread(harness)
    await large_library.gather_statistics(db)


@asynccontextmanager
async def _without_index(harness: RuntimeHarness) -> AsyncGenerator[None]:
    """PostgreSQL sorts all words at once in a tenth of the time that it takes to add one by one."""
    if harness.runtime.db.engine == "sqlite":
        yield
        return
    name = "ix_search_entries_words"
    (definition,) = await harness.column(f"SELECT indexdef FROM pg_indexes WHERE indexname = '{name}'")
    await harness.change(f"DROP INDEX {name}")
    yield
    await harness.change(definition)


async def _write_texts(db: Database) -> None:
    chance = random.Random(3)
    for first in range(1, INDEXED + 1, AT_ONCE):
        said = {number: " ".join(some_words(chance, WORDS)) for number in range(first, first + AT_ONCE)}
        words = [
            (number, search_words(f"The title of entry {number}", one, "An Author")) for number, one in said.items()
        ]
        async with db.write() as tx:
            await tx.run_many(_TEXT, [{"id": id_, "content": f"<p>{one}</p>"} for id_, one in said.items()])
            await search.index(tx, words)
    async with db.write() as tx:
        while await search.merge_index_batch(tx):
            pass


async def _make_unread(harness: RuntimeHarness) -> None:
    """What stays is unread here and there, what is to go is not."""
    await harness.change(
        "INSERT INTO unread (user_id, sort_at, entry_id, feed_id)"
        " SELECT s.user_id, e.sort_at, e.id, e.feed_id FROM entries e"
        " JOIN subscriptions s ON s.feed_id = e.feed_id"
        f" WHERE e.id > {REMOVED} AND (e.id / 7) % 20 = 0"
    )
    await harness.change(
        "UPDATE subscriptions SET unread = (SELECT count(*) FROM unread u WHERE"
        " u.user_id = subscriptions.user_id AND u.feed_id = subscriptions.feed_id)"
    )


async def _check(harness: RuntimeHarness) -> None:
    """What was to go is gone, and no count has lost its rows."""
    (left,) = await harness.column("SELECT count(*) FROM entries")
    assert left == SIZE.entries - REMOVED, left
    wrong = await harness.column(
        "SELECT count(*) FROM subscriptions s WHERE s.unread <> (SELECT count(*) FROM unread u WHERE"
        " u.user_id = s.user_id AND u.feed_id = s.feed_id)"
    )
    assert wrong == [0], wrong


# ---- the cleanup -----------------------------------------------------------------------------------


async def _clean(harness: RuntimeHarness, holds: "Holds") -> None:
    now = harness.runtime.now()
    limits = RetentionLimits(entries=None, age=now - REMOVED * 1_000 - 500, unread_age=None)
    keeping = RetentionPolicy(limits, size=None, unfollowed=None)
    await clean_up(replace(harness.runtime, db=holds, keeping=keeping, clock=lambda: now))


@dataclass(frozen=True, slots=True)
class Hold:
    """One write transaction from its first statement to the end of its commit, in milliseconds."""

    lasted: float
    computed: float
    """By the database: SQLite's writer, or PostgreSQL's process."""
    in_line: float
    """What it and this program waited for a processor, while others had it."""


@dataclass(slots=True)
class Holds:
    """A database that notes each write transaction that it gives."""

    db: Database
    all: list[Hold] = field(default_factory=list[Hold])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.db, name)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[Tx]:
        async with self.db.write() as tx:
            note = self._begin(tx)
            yield tx
        note()

    async def write_now(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        notes: list[Callable[[], None]] = []

        async def noted(tx: Tx) -> T:
            notes.append(self._begin(tx))
            return await work(tx)

        done = await self.db.write_now(noted)
        notes[0]()
        return done

    def _begin(self, tx: Tx) -> Callable[[], None]:
        """What is to be called at the end."""
        worker = _worker(tx)
        started, (computed, waited), mine = time.perf_counter(), _spent(worker), _spent(_program())

        def note() -> None:
            lasted = (time.perf_counter() - started) * 1_000
            after, mine_after = _spent(worker), _spent(_program())
            self.all.append(Hold(lasted, after[0] - computed, after[1] - waited + mine_after[1] - mine[1]))

        return note


def _worker(tx: Any) -> Path:
    if tx.engine == "postgresql":
        pid: int = tx._connection.get_server_pid()
        return Path(f"/proc/{pid}/schedstat")
    (writer,) = (one for one in threading.enumerate() if one.name == "sqlite-writer")
    return Path(f"/proc/self/task/{writer.native_id}/schedstat")


def _program() -> Path:
    return Path(f"/proc/self/task/{threading.main_thread().native_id}/schedstat")


def _spent(worker: Path) -> tuple[float, float]:
    """Milliseconds that it has computed, and waited for a processor."""
    computed, waited, *_ = worker.read_text().split()
    return int(computed) / 1e6, int(waited) / 1e6


def _record_holds(engine: str, holds: Holds) -> None:
    lasted = [one.lasted for one in holds.all]
    for name, value in (
        ("longest transaction", max(lasted)),
        ("longest, less the wait for a processor", max(one.lasted - one.in_line for one in holds.all)),
        ("longest by what the database computed", max(one.computed for one in holds.all)),
        ("99 of 100 transactions", quantiles(lasted, n=100)[-1]),
    ):
        record(f"{engine}: {name}", value, "ms", compared_to="promised", other=WAIT_MS)


# ---- who waits -------------------------------------------------------------------------------------


async def _waits(harness: RuntimeHarness, work: Awaitable[None]) -> dict[str, list[float]]:
    """What a reader and a writer wait for each answer while this is done, in milliseconds."""
    waits: dict[str, list[float]] = {"a reader": [], "a writer": []}
    mine = await harness.column("SELECT entry_id FROM unread WHERE user_id = 2 ORDER BY entry_id")
    probes = [
        asyncio.create_task(_ask_again(waits["a reader"], lambda: _read(harness))),
        asyncio.create_task(_ask_again(waits["a writer"], lambda: _write(harness, mine))),
    ]
    await work
    for probe in probes:
        probe.cancel()
    for ended in await asyncio.gather(*probes, return_exceptions=True):
        assert isinstance(ended, asyncio.CancelledError), ended
    return waits


async def _ask_again(waits: list[float], ask: Callable[[], Awaitable[None]]) -> None:
    while True:
        started = time.perf_counter()
        await ask()
        waits.append((time.perf_counter() - started) * 1_000)
        await asyncio.sleep(0.01)


async def _read(harness: RuntimeHarness) -> None:
    async with harness.runtime.db.read() as tx:
        assert await entry_lists.page(tx, 1, ViewQuery("unread"), None, 50)


async def _write(harness: RuntimeHarness, unread: list[int]) -> None:
    async with harness.runtime.db.write() as tx:
        await reading.mark_read(tx, 2, [unread.pop()])


def _engines() -> Sequence[str]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=["sqlite", "postgresql"])
    return parser.parse_args().engines


if __name__ == "__main__":
    asyncio.run(main(engines=tuple(_engines())))
    print_table(take_recorded())
