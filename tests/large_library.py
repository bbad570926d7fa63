"""A big library, written by the database itself: hundreds of thousands of entries in seconds.

Entries are spread over the feeds, and arrive a little out of order: their ids and their places differ.
"""

from dataclasses import dataclass

from sqlalchemy import text

from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.statements import Command

CHUNK = 100_000


@dataclass(frozen=True, slots=True)
class LibrarySize:
    users: int
    feeds: int
    entries: int
    followed: int
    """Feeds that each user follows."""


async def fill(db: Database, size: LibrarySize) -> None:
    """Everything but what is unread."""
    async with db.write() as tx:
        await _run(tx, f"INSERT INTO users (id, email, created_at) SELECT n, 'u' || n, 0 FROM {_count(tx, size.users)}")
        await _run(tx, f"INSERT INTO feeds (id, url, created_at) SELECT n, 'u' || n, 0 FROM {_count(tx, size.feeds)}")
    for start in range(0, size.entries, CHUNK):
        async with db.write() as tx:
            await _entries(tx, size, start, min(CHUNK, size.entries - start))
    async with db.write() as tx:
        step = size.feeds // size.followed
        await _run(
            tx,
            "INSERT INTO subscriptions (user_id, feed_id, subscribed_at, newest_id)"
            f" SELECT u.n, 1 + (u.n * 37 + k.n * {step}) % {size.feeds}, 0, {size.entries}"
            f" FROM {_count(tx, size.users, 'u')}, {_count(tx, size.followed, 'k')}",
        )


async def make_unread(db: Database, user_id: int, *, every: int = 1) -> None:
    """Every n-th entry of the feeds this user follows."""
    async with db.write() as tx:
        await _run(
            tx,
            "INSERT INTO unread (user_id, sort_at, entry_id, feed_id)"
            " SELECT s.user_id, e.sort_at, e.id, e.feed_id FROM subscriptions s"
            " JOIN entries e ON e.feed_id = s.feed_id"
            f" WHERE s.user_id = {user_id} AND (e.id / 7) % {every} = 0"
            " ORDER BY e.sort_at, e.id",
        )
        await _run(
            tx,
            "UPDATE subscriptions SET unread = (SELECT count(*) FROM unread u WHERE"
            " u.user_id = subscriptions.user_id AND u.feed_id = subscriptions.feed_id)"
            f" WHERE user_id = {user_id}",
        )


async def gather_statistics(db: Database) -> None:
    async with db.write() as tx:
        if tx.engine == "postgresql":
            await _run(tx, "ANALYZE")


async def _entries(tx: Tx, size: LibrarySize, start: int, count: int) -> None:
    await _run(
        tx,
        "INSERT INTO entries (id, feed_id, change_hash, title, author, url, summary,"
        " fetched_at, published_at, sort_at)"
        f" SELECT n, 1 + (n * 7919) % {size.feeds}, 'h', 'The title of entry ' || n, 'An Author',"
        f" 'https://example.org/' || n, '{'words ' * 40}', n * 1000, n * 1000, (n - (n * 31) % 5000) * 1000"
        f" FROM (SELECT n + {start} AS n FROM {_count(tx, count)}) AS shifted",
    )


def _count(tx: Tx, to: int, name: str = "numbers") -> str:
    if tx.engine == "postgresql":
        return f"generate_series(1, {to}::bigint) AS {name}(n)"
    return (
        "(WITH RECURSIVE upwards(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM upwards"
        f" WHERE n < {to}) SELECT n FROM upwards) AS {name}"
    )


async def _run(tx: Tx, sql: str) -> None:
    await tx.run(Command(text(sql.replace(":", "\\:"))))
