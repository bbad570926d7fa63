"""Reading at size: what a page, the counts and mark-all cost in the database layer.

SQLite: one user, 1,000 feeds, 300,000 entries. PostgreSQL: 200 users with 100 feeds each; 100,000 entries,
or a million with --full. CPU is that of this process, and of PostgreSQL's own for our connection.

    python -m bench.reading [--full] [sqlite] [postgresql]
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sqlalchemy import text

from bench.table import print_table, record, take_recorded
from reedbed.domain.entries import ViewQuery
from reedbed.domain.pagination import Cursor
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database, counting
from reedbed.store.engine.statements import Command, Query
from reedbed.store.entries import lists as entry_lists
from reedbed.store.migrations import migrate
from reedbed.store.read_state import counts, undo
from reedbed.store.read_state.mark import mark_all
from reedbed.store.visibility import feeds_of
from tests import large_library, servers

DESCRIPTION = "pages, counts and mark-all over 300,000 entries (SQLite) and 200 users (PostgreSQL)"

PAGE_MS, MARK_MS, STATEMENTS = 5.0, 50.0, 4
ROUNDS = 100

READERS = {1: ("hoarder", 1), 2: ("every second read", 2), 3: ("tidy", 1)}
"""By user: what they are called, and that every n-th entry is unread."""

ONE_USER = large_library.LibrarySize(users=1, feeds=1_000, entries=300_000, followed=1_000)
MANY_USERS = large_library.LibrarySize(users=200, feeds=1_000, entries=100_000, followed=100)
MANY_USERS_FULL = large_library.LibrarySize(users=200, feeds=1_000, entries=1_000_000, followed=100)


async def main(*, full: bool = False, engines: tuple[str, ...] = ("sqlite", "postgresql")) -> None:
    if "sqlite" in engines:
        with tempfile.TemporaryDirectory() as directory:
            await _measure(f"sqlite:///{Path(directory) / 'bench.db'}", ONE_USER)
    if "postgresql" in engines:
        with servers.postgres_server() as server:
            await _measure(server.create(), MANY_USERS_FULL if full else MANY_USERS)


async def _measure(url: str, size: large_library.LibrarySize) -> None:
    await migrate(url)
    db = await open_database(url, pool_size=1)
    await large_library.fill(db, size)
    for user in range(4, min(size.users, 30) + 1):
        await large_library.make_unread(db, user, every=20)
    for user, (_, every) in READERS.items():
        if size.users > 1:
            await large_library.make_unread(db, user, every=every)
    await large_library.gather_statistics(db)
    at_server = await server_cpu(db)
    for user, (name, every) in READERS.items():
        if size.users == 1:
            await _start_again(db)
            await large_library.make_unread(db, 1, every=every)
        await _reader(db, user if size.users > 1 else 1, name, size, at_server)
    await db.close()


async def _start_again(db: Database) -> None:
    async with db.write() as tx:
        await tx.run(Command(text("DELETE FROM unread")))
        await tx.run(Command(text("UPDATE subscriptions SET read_to = 0, unread = 0")))


async def _reader(
    db: Database, user: int, name: str, size: large_library.LibrarySize, server_cpu: Callable[[], float]
) -> None:
    if name == "tidy":  # three unread above everything else, which is dead but not yet swept
        async with db.write() as tx:
            everything = sorted(await feeds_of(tx, user, feed_id=None, folder_id=None) or [])
            newest = size.entries - 3 * size.feeds // len(everything)
            await mark_all(tx, user, None, newest, token_hash=f"tidy {user}", now=0)
    label = f"{db.engine}, {name}"

    async def page(query: ViewQuery, cursor: Cursor | None = None) -> None:
        async with db.read() as tx:
            assert await entry_lists.page(tx, user, query, cursor, 50)

    async def count() -> None:
        async with db.read() as tx:
            await counts.counts(tx, user)

    middle = Cursor(size.entries // 2 * 1_000, 0)
    for what, asking in (
        ("unread page", lambda: page(ViewQuery("unread"))),
        ("unread page, oldest first", lambda: page(ViewQuery("unread", "oldest"))),
        ("unread page from the middle", lambda: page(ViewQuery("unread"), middle)),
        ("all page", lambda: page(ViewQuery("all"))),
        ("counts", count),
    ):
        await _record(f"{label}: {what}", asking, PAGE_MS, server_cpu)
    await _record_mark_all(db, user, f"{label}: mark all and undo", server_cpu)


async def _record(
    name: str, asking: Callable[[], Awaitable[None]], promise: float, server_cpu: Callable[[], float]
) -> None:
    await asking()
    with counting() as statements:
        await asking()
    assert statements.value <= STATEMENTS, f"{name} takes {statements.value} statements"
    started, at_server = time.process_time(), server_cpu()
    for _ in range(ROUNDS):
        await asking()
    spent = time.process_time() - started + server_cpu() - at_server
    record(name, spent / ROUNDS * 1_000, "ms", compared_to="promised", other=promise, cpu_seconds=spent)


async def _record_mark_all(db: Database, user: int, name: str, server_cpu: Callable[[], float]) -> None:
    """Both halves are measured: mark-all alone would find nothing to do the second time."""
    spent: dict[str, float] = {"mark all": 0.0, "undo": 0.0}
    rounds = 10
    for turn in range(rounds):
        for half in spent:
            started, at_server = time.process_time(), server_cpu()
            async with db.write() as tx:
                if half == "mark all":
                    await mark_all(tx, user, None, None, token_hash=f"{name} {turn}", now=turn)
                else:
                    step = await undo.find(tx, user, f"{name} {turn}", turn)
                    assert step
                    assert await undo.apply_undo(tx, step)
            spent[half] += time.process_time() - started + server_cpu() - at_server
    for half, seconds in spent.items():
        label = name.replace("mark all and undo", half)
        record(label, seconds / rounds * 1_000, "ms", compared_to="promised", other=MARK_MS, cpu_seconds=seconds)


async def server_cpu(db: Database) -> Callable[[], float]:
    """CPU seconds of PostgreSQL's process behind our one connection; SQLite has none."""
    if db.engine == "sqlite":
        return lambda: 0.0
    async with db.read() as tx:
        process = await tx.get(Query(text("SELECT pg_backend_pid()"), into=int))
    ticks = os.sysconf("SC_CLK_TCK")

    def spent() -> float:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    return spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million entries on PostgreSQL")
    parser.add_argument("engines", nargs="*", default=["sqlite", "postgresql"])
    options = parser.parse_args()
    asyncio.run(main(full=options.full, engines=tuple(options.engines)))
    print_table(take_recorded())
