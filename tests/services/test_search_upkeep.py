"""The index mended and built anew."""

from typing import Any

import pytest

from reedbed.services.search.upkeep import rebuild_search, repair_search
from reedbed.store import search
from reedbed.store.search import sqlite as fts5
from reedbed.store.search import texts
from tests.harness import RuntimeHarness, open_harness
from tests.store.library import Library
from tests.store.searching import SearchedFeed, new_shelf

SEARCH_TABLES = "SELECT name FROM sqlite_master WHERE name LIKE 'search%' ORDER BY name"


@pytest.fixture
async def searched(harness: RuntimeHarness) -> SearchedFeed:
    return await new_shelf(Library(harness.runtime.db))


async def test_what_nobody_indexed_is_found_after_mending(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    entry = await searched.library.entry(searched.feed)
    assert await searched.find("body") == []
    assert await repair_search(harness.runtime) == 1
    assert await searched.find("body") == [entry]
    assert await repair_search(harness.runtime) == 0


async def test_a_rebuilt_index_finds_the_same(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    entry = await searched.put("Heron", "Grey heron", author="Ada")
    await searched.rewrite(entry, "Egret", "White egret", author="Ada")
    assert await rebuild_search(harness.runtime) == 1
    assert await searched.find('"white egret" author:ada') == [entry]
    assert await searched.find("heron") == []


async def test_mending_leaves_what_was_indexed_meanwhile(
    harness: RuntimeHarness, searched: SearchedFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawl rewrites an entry between the reading of its text and the indexing of it."""
    entry = await searched.library.entry(searched.feed)
    read = texts.unindexed

    async def read_and_be_overtaken(*given: Any) -> list[texts.IndexedText]:
        missing = await read(*given)
        if missing:
            await searched.rewrite(entry, "Egret", "White egret")
        return missing

    monkeypatch.setattr(texts, "unindexed", read_and_be_overtaken)
    await repair_search(harness.runtime)
    assert await searched.find("egret") == [entry]
    assert await searched.find("body") == []


async def test_on_sqlite_an_index_is_put_aside_once(sqlite_url: str) -> None:
    async with open_harness(sqlite_url) as harness:
        searched = await new_shelf(Library(harness.runtime.db))
        await searched.put("heron")
        await harness.runtime.db.write_now(search.clear)
        egret = await searched.put("egret")
        await harness.runtime.db.write_now(search.clear)
        assert await searched.find("egret") == [egret]


async def test_on_sqlite_an_index_that_leads_nowhere_is_built_anew(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fts5, "DEAD_ROWS_LIMIT", 2)
    async with open_harness(sqlite_url) as harness:
        searched = await new_shelf(Library(harness.runtime.db))
        entry = await searched.put("heron")
        for _ in range(3):
            await searched.rewrite(entry, "heron")
        assert await harness.column("SELECT count(*) FROM search_keys") == [4]
        assert await repair_search(harness.runtime) == 1
        assert await harness.column("SELECT count(*) FROM search_keys") == [1]
        assert await searched.find("heron") == [entry]


async def test_on_sqlite_an_old_index_is_taken_away_even_if_that_was_broken_off(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fts5, "DELETE_BATCH_SIZE", 1)
    async with open_harness(sqlite_url) as harness:
        searched = await new_shelf(Library(harness.runtime.db))
        herons = [await searched.put("heron") for _ in range(3)]
        before = await harness.column(SEARCH_TABLES)
        settings = await harness.rows("SELECT k, v FROM search_words_config ORDER BY k")
        await harness.runtime.db.write_now(search.clear)
        assert await harness.column(SEARCH_TABLES) != before
        assert await searched.find("heron") == []
        new = await searched.put("heron")
        assert await searched.find("heron") == [new]
        assert await repair_search(harness.runtime) == 3
        assert await harness.column(SEARCH_TABLES) == before
        assert [*map(tuple, await harness.rows("SELECT k, v FROM search_words_config ORDER BY k"))] == [
            *map(tuple, settings)
        ]
        assert sorted(await searched.find("heron")) == [*herons, new]
        await harness.runtime.db.write_now(search.clear)
        assert await rebuild_search(harness.runtime) == 4
        assert await harness.column(SEARCH_TABLES) == before
