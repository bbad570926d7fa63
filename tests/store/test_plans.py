"""The look at the plan of every hot query, kept: each finds its rows by an index made for it.

A plan that walks all of a user's rows, or all entries, is right on a desk and slow in a library.
"""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from sqlalchemy import Dialect

from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Compiled, Query, Statement
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entries
from reedbed.store.entries import streams as entry_streams
from reedbed.store.read_state import counts, undo, unread
from reedbed.store.read_state import mark as mark_all
from reedbed.store.read_state import mark as selecting
from reedbed.store.read_state import rows as reading
from reedbed.store.stories import read as stories
from tests import large_library
from tests.rows import as_tuple

SIZE = large_library.LibrarySize(users=40, feeds=200, entries=20_000, followed=100)
PARAMS: dict[str, Any] = {
    "user_id": 1,
    "feed_id": 38,
    "feed_ids": [38, 40, 42],
    "ids": [100, 101, 102],
    "id": 100,
    "sort_at": 9_000_000,
    "since": 5_000_000,
    "tag": "red",
    "wanted": 51,
    "rank": 50,
    "top": 19_990,
    "step_id": 1,
    "limit": 100,
    "before": 1,
    "after": 19_990,
    "before_at": 9_000_000,
    "before_id": 9_000,
    "but": [2],
    "newest": 102,
    "mark": 19_990,
    "after_id": 10_000,
}


class Explained:
    """The statement, asked for its plan."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement

    def on(self, dialect: Dialect) -> Compiled:
        plain = self.statement.on(dialect)
        asking = "EXPLAIN QUERY PLAN " if dialect.name == "sqlite" else "EXPLAIN "
        return Compiled(asking + plain.sql, plain.arguments)

    into = staticmethod(as_tuple)


def _page(view: str, found: str, *, order: Any = "newest", continued: bool = False) -> Statement:
    return entry_lists._PAGE(
        entry_lists._ListVariant(view, order, found, order, False, continued, False, False, False, True)
    )


def _stage(change: Any, *parts: str) -> Statement:
    return selecting._STAGE(selecting._MarkVariant(change, "all", frozenset(parts)))


def _stream(read: bool | None) -> Statement:
    shape = entry_streams._StreamVariant("newest", read, None, None, frozenset({"after_id"}))
    return entry_streams._STREAM(shape)


# What finds the rows: on SQLite as it says so itself, on PostgreSQL the name of the index.
HOT = {
    "unread, walked": (_page("unread", "all"), "unread USING PRIMARY KEY", "pk_unread"),
    "unread, oldest first": (_page("unread", "all", order="oldest"), "unread USING PRIMARY KEY", "pk_unread"),
    "unread, continued": (
        _page("unread", "all", continued=True),
        "unread USING PRIMARY KEY (user_id=? AND (sort_at,entry_id)<(?,?))",
        "pk_unread",
    ),
    "unread of a feed": (_page("unread", "one"), "ix_unread_feed (user_id=? AND feed_id=?)", "ix_unread_feed"),
    "unread of a few feeds": (
        _page("unread", "few"),
        "ix_unread_feed (user_id=? AND feed_id=? AND sort_at>?)",
        "ix_unread_feed",
    ),
    "all, walked": (_page("all", "all"), "entries USING INDEX ix_entries_sort", "ix_entries_sort"),
    "all of a feed": (_page("all", "one"), "ix_entries_feed_sort (feed_id=?)", "ix_entries_feed_sort"),
    "all of a few feeds": (
        _page("all", "few"),
        "ix_entries_feed_sort (feed_id=? AND sort_at>?)",
        "ix_entries_feed_sort",
    ),
    "entries by id": (entries._WITH_BODY, "entries USING INTEGER PRIMARY KEY", "pk_entries"),
    "counts": (counts._SUBSCRIPTIONS, "sqlite_autoindex_subscriptions_1 (user_id=?)", "uq_subscriptions_user_id"),
    "read": (reading._COUNT_DOWN("ids"), "uq_unread_entry (user_id=? AND entry_id=?)", "uq_unread_entry"),
    "read, the row": (reading._DELETE("ids"), "uq_unread_entry (user_id=? AND entry_id=?)", "uq_unread_entry"),
    "read, the rows of a step": (reading._DELETE("step"), "uq_unread_entry (user_id=? AND entry_id=?)", "unread"),
    "unread again": (reading._COUNT_UP("ids"), "entries USING INTEGER PRIMARY KEY", "pk_entries"),
    "unread again, the row": (reading._INSERT("ids"), "entries USING INTEGER PRIMARY KEY", "pk_entries"),
    "read by ids": (_stage("read", "ids"), "uq_unread_entry (user_id=? AND entry_id=?)", "uq_unread_entry"),
    "unread by ids": (_stage("unread", "ids"), "entries USING INTEGER PRIMARY KEY", "pk_entries"),
    "mark all, kept rows": (mark_all._KEEP_WITH_STEP, "ix_unread_kept", "ix_unread_kept"),
    "mark all, what is newer": (mark_all._LEFT_ABOVE("news"), "uq_unread_entry (user_id=? AND entry_id>?)", "unread"),
    "mark all, of a feed": (
        mark_all._LEFT_ABOVE("feeds"),
        "ix_unread_feed (user_id=? AND feed_id=?)",
        "ix_unread_feed",
    ),
    "undo": (undo._MARK_BACK, "ix_unread_feed (user_id=? AND feed_id=?)", "ix_unread_feed"),
    "arrival": (unread._COUNT_NEW("most"), "entries USING INTEGER PRIMARY KEY", "pk_entries"),
    "arrival, the rows": (unread._INSERT_NEW("most"), "entries USING INTEGER PRIMARY KEY", "pk_entries"),
    "sweep": (unread._DELETE_DEAD, "ix_unread_feed (user_id=? AND feed_id=?)", "ix_unread_feed"),
    "retention": (unread._DELETE, "uq_unread_entry (user_id=? AND entry_id=?)", "unread"),
    "news of followed stories": (stories._NEAR_FOLLOWERS, "ix_story_follows_story_id (story_id=?)", "story_follows"),
    "stream of unread ids": (_stream(False), "uq_unread_entry (user_id=? AND entry_id<?)", "unread"),
    "stream of ids": (_stream(None), "entries USING INTEGER PRIMARY KEY (rowid<?)", "pk_entries"),
}


@pytest.fixture
async def library(database_url: str) -> AsyncIterator[Database]:
    db = await open_database(database_url, pool_size=1)
    await large_library.fill(db, SIZE)
    for user in range(1, 5):
        await large_library.make_unread(db, user)
    await large_library.gather_statistics(db)
    yield db
    await db.close()


async def test_every_hot_query_finds_its_rows_by_the_index_made_for_it(library: Database) -> None:
    wrong: dict[str, str] = {}
    for name, (statement, on_sqlite, on_postgresql) in HOT.items():
        async with library.write() as tx:
            rows = await tx.all(cast(Query[tuple[Any, ...]], Explained(statement)), PARAMS)
        plan = "\n".join(str(row[-1]) for row in rows)
        wanted = on_sqlite if library.engine == "sqlite" else on_postgresql
        walks = [line for line in plan.splitlines() if _walks(line)]
        if wanted not in plan or walks:
            wrong[name] = f"wanted {wanted}, found\n{plan}"
    assert not wrong, "\n\n".join(f"{name}: {plan}" for name, plan in wrong.items())


def _walks(line: str) -> bool:
    """A whole table of entries or unread rows is read, in no useful order."""
    words = line.strip().lstrip("-> ")
    return words in ("SCAN entries", "SCAN unread") or words.startswith(("Seq Scan on entries", "Seq Scan on unread"))
