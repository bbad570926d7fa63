"""Searches find other forms of a word, and exactly the word where that is asked for."""

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.search.indexing import search_words
from reedbed.domain.search.suggestions import MatchCount
from reedbed.services.search.find import count_matches, search_entries
from reedbed.services.search.forms import BATCH_SIZE, learn_older_entries, learn_words
from reedbed.services.search.saved import save_search, unread_matches
from tests.harness import RuntimeHarness
from tests.store.library import Library
from tests.store.searching import SearchedFeed, new_shelf


@pytest.fixture
async def searched(harness: RuntimeHarness) -> SearchedFeed:
    return await new_shelf(Library(harness.runtime.db))


async def titles(harness: RuntimeHarness, searched: SearchedFeed, text: str, order: str = "newest") -> list[str]:
    page = await search_entries(harness.runtime, searched.reader, text, order=order)
    return [row.title for row in page.rows]


async def put(harness: RuntimeHarness, searched: SearchedFeed, title: str, language: str | None = "en") -> None:
    await searched.put(title, language=language)
    async with harness.runtime.db.write() as tx:
        await learn_words(tx, [(language, search_words(title, ""))])


async def test_a_word_finds_its_forms_and_marks_them(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "Two Earthquakes in one night")
    await put(harness, searched, "An earthquake again")
    page = await search_entries(harness.runtime, searched.reader, "earthquake")
    marks = [row.title[start:end] for row in page.rows for start, end in page.matched[row.id].title]
    assert marks == ["earthquake", "Earthquakes"]


async def test_exact_words_and_phrases_find_nothing_else(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "The new road")
    await put(harness, searched, "New roads to the mill")
    for exact in ("=road", '"new road"', '"road"', "title:=road", "road -roads"):
        assert await titles(harness, searched, exact) == ["The new road"], exact
    assert len(await titles(harness, searched, "title:road")) == 2


async def test_the_word_itself_comes_before_its_forms(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "The bakery reopened")
    await put(harness, searched, "Three bakeries reopened")
    assert await titles(harness, searched, "bakery", "relevance") == ["The bakery reopened", "Three bakeries reopened"]
    assert await titles(harness, searched, "bakeries", "relevance") == [
        "Three bakeries reopened",
        "The bakery reopened",
    ]


@pytest.mark.parametrize(
    ("language", "title", "query"),
    [
        ("de", "Leere Häuser im Dorf", "Haus"),
        ("de", "Er schläft im Zelt", "schlief"),
        ("de-AT", "Sie kürzten die Mittel", "gekürzt"),
        ("fr", "Les journaux du matin", "journal"),
        ("es", "Las luces del puerto", "luz"),
        ("ru", "Читатели романов спорят", "роман"),
        ("pt", "As eleições de novembro", "eleição"),
        ("nb", "Husene ved fjorden", "hus"),
        (None, "The children went home", "child"),
    ],
)
async def test_each_language_has_its_forms(
    harness: RuntimeHarness, searched: SearchedFeed, language: str | None, title: str, query: str
) -> None:
    await put(harness, searched, title, language)
    assert await titles(harness, searched, query) == [title]


async def test_forms_are_those_of_languages_that_have_the_word(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "The evening news")
    await put(harness, searched, "Berichte aus New York", "de")
    assert await titles(harness, searched, "news") == ["The evening news"]


async def test_a_saved_search_counts_forms_too(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "Floods")
    await put(harness, searched, "A flood")
    counts = [
        (await unread_matches(harness.runtime, searched.reader, [saved]))[saved.id].count
        for saved in [await save_search(harness.runtime, searched.reader, text, text) for text in ("flood", "=flood")]
    ]
    assert counts == [2, 1]


async def test_older_entries_are_learnt_in_the_background_and_after_a_kill(
    harness: RuntimeHarness, searched: SearchedFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reedbed.services.search.forms.BATCH_SIZE", 2)
    monkeypatch.setattr("reedbed.services.search.forms.MAX_LEARNED_PER_RUN", 3)
    for number in range(6):
        await searched.put(f"Glaciers {number}", "the ice" if number else "one volcano", language="en")
    assert BATCH_SIZE > 2
    await harness.change("DELETE FROM app_settings WHERE key = 'word_forms_below'")
    assert await titles(harness, searched, "volcanoes") == []
    assert await learn_older_entries(harness.runtime) == 4
    assert await titles(harness, searched, "volcanoes") == []
    assert await learn_older_entries(harness.runtime) == 2
    assert await titles(harness, searched, "volcanoes") == ["Glaciers 0"]
    assert await learn_older_entries(harness.runtime) == 0


async def test_a_misspelt_search_names_one_that_finds_something(
    harness: RuntimeHarness, searched: SearchedFeed
) -> None:
    await put(harness, searched, "Earthquake in the valley")
    await put(harness, searched, "Volcano elsewhere", "en")
    page = await search_entries(harness.runtime, searched.reader, "earthqauke vallley")
    assert page.did_you_mean == "earthquake valley"
    assert (await search_entries(harness.runtime, searched.reader, "earthquake is:unred")).did_you_mean == (
        "earthquake is:unread"
    )
    assert (await search_entries(harness.runtime, searched.reader, "xylophone")).did_you_mean == ""
    stranger = await harness.person()
    assert (await search_entries(harness.runtime, stranger, "earthqauke")).did_you_mean == ""


async def test_matches_are_counted_and_beyond_a_limit_estimated(
    harness: RuntimeHarness, searched: SearchedFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reedbed.services.search.find.MAX_COUNTED", 20)
    for number in range(60):
        await searched.put("heron" if number % 2 else "wagtail")
    await searched.put("one kingfisher")
    assert await count_matches(harness.runtime, searched.reader, "kingfisher") == MatchCount(1, feeds=1)
    assert await count_matches(harness.runtime, searched.reader, "nothing") == MatchCount(0, feeds=0)
    estimate = await count_matches(harness.runtime, searched.reader, "heron")
    assert estimate.is_estimate
    assert 24 <= estimate.count <= 36


async def test_a_word_that_the_reader_has_is_not_misspelt(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "Le café du port", None)
    await put(harness, searched, "Reykjavik and Cae Mawr")
    for text in ("café", "cafe", "Café -harbour"):
        page = await search_entries(harness.runtime, searched.reader, text)
        assert (len(page.rows), page.did_you_mean) == (1, ""), text


async def test_a_state_that_does_not_exist_names_the_one_that_was_meant(
    harness: RuntimeHarness, searched: SearchedFeed
) -> None:
    await put(harness, searched, "Earthquake in the valley")
    for text, meant in (
        ("is:unred", "is:unread"),
        ("is:starrd", "is:starred"),
        ("vallley is:unred", "valley is:unread"),
    ):
        assert (await search_entries(harness.runtime, searched.reader, text)).did_you_mean == meant


async def test_and_connects_words_and_is_no_search_by_itself(harness: RuntimeHarness, searched: SearchedFeed) -> None:
    await put(harness, searched, "Earthquake in the valley")
    await put(harness, searched, "Rock and roll")
    assert await titles(harness, searched, "earthquake AND valley") == ["Earthquake in the valley"]
    assert await titles(harness, searched, "rock and roll") == ["Rock and roll"]
    assert await titles(harness, searched, '"and"') == ["Rock and roll"]
    for text in ("AND", "OR", "AND OR"):
        with pytest.raises(Invalid, match="connect words"):
            await search_entries(harness.runtime, searched.reader, text)
    assert await titles(harness, searched, "...") == []
