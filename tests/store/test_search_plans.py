"""How the engines go about a search: no statement reads more than the page needs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from reedbed.domain.search import parse_search
from reedbed.store.database import Tx, counting
from reedbed.store.opening import open_database, sqlite_path
from reedbed.store.search import fts5, narrowing, tsvector
from reedbed.store.search.narrowing import Narrow
from reedbed.store.search.parts import words_of
from reedbed.store.search.places import Span
from reedbed.store.sqlite import connect
from reedbed.store.statements import POSTGRESQL, SQLITE, Statement
from tests.store.library import Library
from tests.store.searching import NOW, Shelf, new_shelf

_INVENTED = Statement(
    text(
        "INSERT INTO search_entries (entry_id, sort_at, words)"
        " SELECT id, sort_at, CAST("
        "'common ' || CASE WHEN id % 100 = 0 THEN 'rare' ELSE 'usual' END AS tsvector) FROM entries"
    )
)
_ENTRIES = Statement(
    text(
        "INSERT INTO entries (feed_id, change_hash, title, fetched_at, sort_at)"
        " SELECT CAST(:feed AS bigint), CAST(n AS text), 'x', 0, n FROM generate_series(1, 30000) AS n"
    )
)


@pytest.fixture
async def shelf(postgres_url: str) -> AsyncIterator[Shelf]:
    db = await open_database(postgres_url, pool_size=3)
    yield await new_shelf(Library(db))
    await db.close()


async def test_sqlite_reads_matches_in_order_and_stops(sqlite_url: str) -> None:
    words = words_of(parse_search("heron -egret", NOW))
    params = {"match": fts5.expression(words), "above": 0, "below": 9, "most": 100}
    for statement in fts5._MATCHES.values():
        plan = _sqlite_plan(sqlite_url, statement, params)
        assert "CO-ROUTINE hit" in plan
        assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize(
    ("narrow", "index"),
    [
        (Narrow(), "ix_entries_sort"),
        (Narrow(feeds=frozenset({1})), "ix_entries_feed_sort"),
        (Narrow(unread=True), "SEARCH unread USING PRIMARY KEY"),
        (Narrow(starred=True), "SEARCH starred USING PRIMARY KEY"),
        (Narrow(tags=frozenset({1})), "SEARCH entry_tags USING PRIMARY KEY"),
    ],
)
async def test_sqlite_walks_a_list_along_its_index(sqlite_url: str, narrow: Narrow, index: str) -> None:
    statement = narrowing._LISTED(narrowing._shape(narrow), "newest", False)
    plan = _sqlite_plan(sqlite_url, statement, {**narrowing._params(1, narrow), "most": 50})
    assert index in plan
    assert "TEMP B-TREE" not in plan


async def test_postgresql_gathers_what_is_rare_and_walks_for_what_is_common(
    shelf: Shelf,
) -> None:
    async with shelf.library.db.write() as tx:
        await tx.run(_ENTRIES, {"feed": shelf.feed})
        await tx.run(_INVENTED)
        await tx.run(Statement(text("ANALYZE")))
    async with shelf.library.db.read() as tx:
        assert await tsvector.is_common(tx, words_of(parse_search("common", NOW)))
        assert await tsvector.is_common(tx, words_of(parse_search("comm*", NOW)))
        assert not await tsvector.is_common(tx, words_of(parse_search("common rare", NOW)))
        assert not await tsvector.is_common(tx, words_of(parse_search("never", NOW)))
        words = words_of(parse_search("rare", NOW))
        plan = await _postgresql_plan(tx, words)
        assert "ix_search_entries_words" in plan
        assert len(await tsvector.matches(tx, words, Span("newest"), 50)) == 50
    with counting() as count:
        found = await shelf.page("common")
    assert len(found.ids) == 50
    assert count.value == 3  # how common, the list, the words


def _sqlite_plan(url: str, statement: Statement, params: dict[str, Any]) -> str:
    connection = connect(sqlite_path(url))
    compiled = statement.on(SQLITE)
    rows = connection.execute(f"EXPLAIN QUERY PLAN {compiled.sql}", compiled.arguments(params)).fetchall()
    connection.close()
    return "\n".join(row["detail"] for row in rows)


async def _postgresql_plan(tx: Tx, words: Any) -> str:
    compiled = tsvector._MATCHES["newest"].on(POSTGRESQL)
    given = {"match": tsvector.expression(words), "after": 0, "before": 2**62}
    arguments = compiled.arguments({**given, "beyond_at": 2**62, "beyond_id": 0, "most": 50})
    rows = await tx._connection.fetch(f"EXPLAIN {compiled.sql}", *arguments)
    return "\n".join(row[0] for row in rows)
