"""Whatever way a search goes, however little a page may cost: followed to its end it finds all, in order."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.times import SECOND
from reedbed.store import search, tags
from reedbed.store.read_state import stars as marks
from reedbed.store.search import planner as lists
from reedbed.store.search import planner as ways
from reedbed.store.search import postgresql as tsvector
from reedbed.store.search import sqlite as fts5
from reedbed.store.search.filters import SearchFilter
from reedbed.store.search.planner import Hit, IdRange, Lists, SearchPlan, StepResult
from tests.store.library import Library
from tests.store.searching import NOW, SearchedFeed, new_shelf

WORDS: tuple[str, ...] = ("heron", "hero", "egret", "reed", "reedling", "鳥類")
ENTRIES = 40


@dataclass
class Put:
    id: int
    title: list[str]
    text: list[str]
    seen: bool = False
    unread: bool = False
    starred: bool = False
    tagged: bool = False
    feed: int = 0

    def says(self, *wanted: str) -> bool:
        return all(word in (*self.title, *self.text) for word in wanted)

    def begins(self, start: str) -> bool:
        return any(word.startswith(start) for word in (*self.title, *self.text))


@dataclass
class Marsh:
    """Three feeds, of which one was left again, and one that nobody reads."""

    searched: SearchedFeed
    feeds: list[int]
    puts: list[Put]
    """Oldest first."""

    def expected(self, order: Order, wanted: Callable[[Put], bool]) -> list[int]:
        found = [put.id for put in self.puts if put.seen and wanted(put)]
        return found[::-1] if order == "newest" else found

    async def found(self, asked: str, order: Order) -> list[int]:
        """Page by page, to the end."""
        found, cursor = list[int](), None
        for _ in range(ENTRIES * 3):
            page = await self.searched.page(asked, order=order, cursor=cursor, limit=5)
            assert len(page.ids) <= 5
            found += page.ids
            if (cursor := page.next) is None:
                return found
        raise AssertionError(f"{asked}: there is always a next page")


async def new_marsh(library: Library) -> Marsh:
    chance, searched = random.Random(7), await new_shelf(library)
    feeds = [searched.feed, await library.feed(), await library.feed(), await library.feed()]
    for feed in feeds[1:3]:
        await library.follow(searched.reader, feed)
    puts: list[Put] = []
    for number in range(ENTRIES):
        title, text = (chance.choices(WORDS, k=chance.randrange(3)) for _ in range(2))
        feed = chance.choice(feeds)
        entry = await searched.put(" ".join(title), " ".join(text), feed=feed, sort_at=NOW + number * SECOND)
        puts.append(Put(entry, title, text, feed=feeds.index(feed), unread=feed != feeds[3]))
    await _states(searched, chance, puts)
    await library.leave(searched.reader, feeds[2])
    for put in puts:
        put.unread = put.unread and put.feed < 2
        put.seen = put.feed < 2 or put.starred or put.tagged
    return Marsh(searched, feeds, puts)


async def _states(searched: SearchedFeed, chance: random.Random, puts: list[Put]) -> None:
    for put in puts:
        if put.feed == 3:
            continue
        put.starred, put.tagged = chance.random() < 0.2, chance.random() < 0.2
        if chance.random() < 0.4:
            put.unread = False
            await searched.library.read(searched.reader, put.id)
    async with searched.library.db.write() as tx:
        await marks.set_flag(tx, searched.reader, "starred", [put.id for put in puts if put.starred], NOW)
        await tags.add(tx, searched.reader, ["kept"], NOW)
        await tags.put(tx, searched.reader, [put.id for put in puts if put.tagged], ["kept"])


def questions(marsh: Marsh) -> dict[str, Callable[[Put], bool]]:
    first = marsh.feeds[0]
    return {
        "heron": lambda put: put.says("heron"),
        "heron egret": lambda put: put.says("heron", "egret"),
        "heron OR egret": lambda put: put.says("heron") or put.says("egret"),
        "-heron": lambda put: not put.says("heron"),
        "egret -heron": lambda put: put.says("egret") and not put.says("heron"),
        "title:reed": lambda put: "reed" in put.title,
        "nowhere": lambda _: False,
        "鳥類": lambda put: put.says("鳥類"),
        "鳥": lambda put: put.says("鳥類"),
        "her*": lambda put: put.begins("her"),
        "egret -her*": lambda put: put.says("egret") and not put.begins("her"),
        "-her*": lambda put: not put.begins("her"),
        "title:ree*": lambda put: any(word.startswith("ree") for word in put.title),
        "ree* egret": lambda put: put.begins("ree") and put.says("egret"),
        "reedling OR her*": lambda put: put.says("reedling") or put.begins("her"),
        "her* is:unread": lambda put: put.begins("her") and put.unread,
        "heron is:unread": lambda put: put.says("heron") and put.unread,
        "heron is:read": lambda put: put.says("heron") and not put.unread,
        "heron is:starred": lambda put: put.says("heron") and put.starred,
        "heron tag:kept": lambda put: put.says("heron") and put.tagged,
        "heron is:unread is:starred": lambda put: put.says("heron") and put.unread and put.starred,
        f"heron feed:{first}": lambda put: put.says("heron") and put.feed == 0,
        f"-egret feed:{first}": lambda put: not put.says("egret") and put.feed == 0,
        f"heron feed:{first} is:unread": lambda put: put.says("heron") and put.feed == 0 and put.unread,
    }


def at_any_cost(patch: pytest.MonkeyPatch) -> None:
    """As it is."""


def in_small_steps(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search, "FIRST_LISTED", 5)
    patch.setattr(search, "SAMPLE", 2)
    patch.setattr(ways, "MIN_STEP", 5)
    patch.setattr(ways, "STEP_COST", 0.0)
    for engine in (fts5, tsvector):
        patch.setattr(engine, "BUDGET", 30.0)
        patch.setattr(engine, "FIRST_HITS", 5)


def along_lists(patch: pytest.MonkeyPatch) -> None:
    in_small_steps(patch)
    for engine in (fts5, tsvector):
        patch.setattr(engine, "fixed_cost", lambda _: 1e9)


def along_the_list_of_all(patch: pytest.MonkeyPatch) -> None:
    along_lists(patch)
    patch.setattr(lists, "SMALL_SELECTION", 0)


def by_words(patch: pytest.MonkeyPatch) -> None:
    in_small_steps(patch)
    for engine in (fts5, tsvector):
        patch.setattr(engine, "fixed_cost", lambda _: 0.0)
        patch.setattr(engine, "typical_cost", lambda _: 1e9)


def reading_texts(patch: pytest.MonkeyPatch) -> None:
    in_small_steps(patch)
    patch.setattr(fts5, "BROAD", -1)
    patch.setattr(fts5, "PAGE_COST", 1e9)
    patch.setattr(fts5, "LOOKUP_COST", 1e9)


@pytest.mark.parametrize(
    "going", [at_any_cost, in_small_steps, along_lists, along_the_list_of_all, by_words, reading_texts]
)
async def test_every_way_finds_the_same(
    library: Library, monkeypatch: pytest.MonkeyPatch, going: Callable[[pytest.MonkeyPatch], None]
) -> None:
    marsh = await new_marsh(library)
    going(monkeypatch)
    for number, (asked, wanted) in enumerate(questions(marsh).items()):
        order: Order = "oldest" if number % 2 else "newest"
        assert await marsh.found(asked, order) == marsh.expected(order, wanted), (asked, order)


@pytest.mark.parametrize("unread", [None, True], ids=["all", "unread"])
async def test_lists_are_merged_where_few_of_many_feeds_are_wanted(library: Library, unread: bool | None) -> None:
    feeds = [await library.feed() for _ in range(30)]
    reader = await library.reader(*feeds)
    async with library.db.read() as tx:
        some, most = (SearchFilter(unread, feeds=frozenset(feeds[:number])) for number in (10, 25))
        assert await lists.load_lists(tx, reader, some) == Lists(feeds[:10])
        assert await lists.load_lists(tx, reader, most) == Lists(None)
        assert await lists.load_lists(tx, reader, SearchFilter(unread)) == Lists(None)


async def test_feeds_of_others_lie_in_the_list_of_all_but_not_of_what_is_unread(library: Library) -> None:
    feeds = [await library.feed() for _ in range(100)]
    reader = await library.reader(*feeds[:30])
    async with library.db.read() as tx:
        of_all, of_unread = (SearchFilter(unread, feeds=frozenset(feeds[:25])) for unread in (None, True))
        assert await lists.load_lists(tx, reader, of_all) == Lists(feeds[:25])
        assert await lists.load_lists(tx, reader, of_unread) == Lists(None)


async def test_a_page_that_has_cost_enough_is_short_and_has_a_next_one(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = await new_shelf(library)
    old = await searched.put("heron", sort_at=NOW)
    for number in range(1, 60):
        await searched.put("heron", sort_at=NOW + number * SECOND)
    await library.read(searched.reader, old)
    in_small_steps(monkeypatch)
    page = await searched.page("heron is:read")
    assert page.ids == ()
    assert page.next is not None
    assert await Marsh(searched, [], []).found("heron is:read", "newest") == [old]


async def test_what_costs_more_than_a_page_may_goes_on_nevertheless() -> None:
    async def step(span: IdRange, most: int) -> StepResult:
        start = span.beyond.sort_at if span.beyond else 0
        hits = [Hit(Cursor(start + number, 0), start + number) for number in range(1, most + 1)]
        return StepResult(hits, set(), 1e9)

    way = SearchPlan(step, IdRange("oldest"), 1.0, 5, fixed_cost=lambda: 1e9)
    page = await ways.fill_page([way], 50, 1_000.0)
    assert page.ids == ()
    assert page.next == Cursor(51, 0)
