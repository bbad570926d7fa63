"""How the engines go about a search: no statement reads more than the page needs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from reedbed.domain.search.query import parse_search
from reedbed.store.engine.connect import open_database, sqlite_path
from reedbed.store.engine.database import Tx, counting
from reedbed.store.engine.postgresql import POSTGRESQL
from reedbed.store.engine.sqlite import connect
from reedbed.store.engine.statements import SQLITE, Command, Statement
from reedbed.store.search import filters as narrowing
from reedbed.store.search import planner as lists
from reedbed.store.search import postgresql as tsvector
from reedbed.store.search import sqlite as fts5
from reedbed.store.search.filters import SearchFilter, words_of
from reedbed.store.search.planner import IdRange
from tests.store.library import Library
from tests.store.searching import NOW, SearchedFeed, new_shelf

_INVENTED = Command(
    text(
        "INSERT INTO search_entries (entry_id, sort_at, words)"
        " SELECT id, sort_at, CAST("
        "'common ' || CASE WHEN id % 100 = 0 THEN 'rare' ELSE 'usual' END AS tsvector) FROM entries"
    )
)
_ENTRIES = Command(
    text(
        "INSERT INTO entries (feed_id, change_hash, title, fetched_at, sort_at)"
        " SELECT CAST(:feed AS bigint), CAST(n AS text), 'x', 0, n FROM generate_series(1, 30000) AS n"
    )
)


@pytest.fixture
async def searched(postgres_url: str) -> AsyncIterator[SearchedFeed]:
    db = await open_database(postgres_url, pool_size=3)
    yield await new_shelf(Library(db))
    await db.close()


async def test_sqlite_reads_matches_in_order_and_stops(sqlite_url: str) -> None:
    words = words_of(parse_search("heron -egret", NOW))
    params = {"match": fts5.expression(words), "above": 0, "below": 9, "limit": 100}
    for statement in fts5._MATCHES.values():
        plan = _sqlite_plan(sqlite_url, statement, params)
        assert "CO-ROUTINE hit" in plan
        assert "TEMP B-TREE" not in plan


BOUNDS = lists._Bounds("newest", beyond=True, after=False, before=False)
PLACES = {"beyond_at": 1, "beyond_id": 1, "limit": 50, "rank": 49, "feeds": [1, 2], "ids": [1, 2]}


@pytest.mark.parametrize(
    ("narrow", "index"),
    [
        (SearchFilter(), "ix_entries_sort"),
        (SearchFilter(feeds=frozenset({1})), "ix_entries_feed_sort"),
        (SearchFilter(unread=True), "SEARCH unread USING PRIMARY KEY"),
        (SearchFilter(unread=True, feeds=frozenset({1})), "ix_unread_feed"),
        (SearchFilter(starred=True), "SEARCH starred USING PRIMARY KEY"),
        (SearchFilter(tags=frozenset({1})), "SEARCH entry_tags USING PRIMARY KEY"),
    ],
)
async def test_sqlite_walks_a_list_along_its_index(sqlite_url: str, narrow: SearchFilter, index: str) -> None:
    statement = lists._WALKED(narrow.of_table, narrow.feeds is not None, BOUNDS)
    plan = _sqlite_plan(sqlite_url, statement, {**narrowing.params_of(1, narrow), **PLACES})
    assert index in plan
    assert "TEMP B-TREE" not in plan


async def test_sqlite_merges_lists_of_feeds_each_by_its_index(sqlite_url: str) -> None:
    for narrow, index in ((SearchFilter(), "ix_entries_feed_sort"), (SearchFilter(unread=True), "ix_unread_feed")):
        statement = lists._MERGED(narrow.of_table, True, BOUNDS)
        plan = _sqlite_plan(sqlite_url, statement, {**narrowing.params_of(1, narrow), **PLACES})
        assert plan.count(index) == 2
        assert "SCAN entries" not in plan


@pytest.mark.parametrize(
    ("narrow", "index"),
    [
        (SearchFilter(), "SEARCH entries USING INTEGER PRIMARY KEY"),
        (SearchFilter(unread=True), "uq_unread_entry (user_id=? AND entry_id=?)"),
        (SearchFilter(starred=True), "uq_starred_entry (user_id=? AND entry_id=?)"),
        (SearchFilter(tags=frozenset({1}), feeds=frozenset({1})), "(entry_id=? AND user_id=?"),
    ],
)
async def test_sqlite_asks_who_may_see_an_entry_by_its_id(sqlite_url: str, narrow: SearchFilter, index: str) -> None:
    statement = narrowing._ALLOWED(narrowing._shape(narrow))
    plan = _sqlite_plan(sqlite_url, statement, {**narrowing.params_of(1, narrow), **PLACES})
    assert index in plan.partition("\n")[0]


async def test_sqlite_gathers_no_broad_prefix(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = await open_database(sqlite_url, pool_size=1)
    searched = await new_shelf(Library(db))
    await searched.put(" ".join(f"heron{number}" for number in range(2_000)))
    async with db.read() as tx:
        narrow = await fts5.plan(tx, words_of(parse_search("heron* egret -reed*", NOW)))
        monkeypatch.setattr(fts5, "BROAD", 1)
        broad = await fts5.plan(tx, words_of(parse_search("heron* egret -reed*", NOW)))
    await db.close()
    assert narrow.gathered > 1
    assert not narrow.text
    assert [part.tokens for part in broad.index.parts] == [("egret",), ("reed",)]
    assert [part.tokens for part in broad.text.parts] == [("heron",)]


async def test_postgresql_gathers_what_is_rare_and_walks_for_what_is_common(searched: SearchedFeed) -> None:
    async with searched.library.db.write() as tx:
        await tx.run(_ENTRIES, {"feed": searched.feed})
        await tx.run(_INVENTED)
        await tx.run(Command(text("ANALYZE")))
    async with searched.library.db.read() as tx:
        plan = await tsvector.plan(tx, words_of(parse_search("rare", NOW)))
        assert "ix_search_entries_words" in await _postgresql_plan(tx, plan.index)
        assert len(await tsvector.matches(tx, plan, IdRange("newest"), 50)) == 50
    for asked, statements in (("common", 5), ("comm*", 5), ("rare", 7), ("never", 6)):
        with counting() as count:
            found = await searched.page(asked)
        assert len(found.ids) == (0 if asked == "never" else 50)
        # How many there are, whose feeds, the list, who sees it, the words; what is rare goes on by words.
        assert count.value == statements, asked


def _sqlite_plan(url: str, statement: Statement, params: dict[str, Any]) -> str:
    connection = connect(sqlite_path(url))
    compiled = statement.on(SQLITE)
    rows = connection.execute(f"EXPLAIN QUERY PLAN {compiled.sql}", compiled.arguments(params)).fetchall()
    connection.close()
    return "\n".join(detail for *_, detail in rows)


async def _postgresql_plan(tx: Tx, words: Any) -> str:
    compiled = tsvector._MATCHES["newest"].on(POSTGRESQL)
    given = {"match": tsvector.expression(words), "after": 0, "before": 2**62}
    arguments = compiled.arguments({**given, "beyond_at": 2**62, "beyond_id": 0, "limit": 50})
    rows = await tx._connection.fetch(f"EXPLAIN {compiled.sql}", *arguments)
    return "\n".join(row[0] for row in rows)
