"""Search behind one door, whatever the engine.

A search can be answered from two sides: from the words, whose matches are then held against the list (states,
feeds, tags, time), or from the list, whose entries are then held against the words. `ways` tries both in
bounded steps and goes on with the cheaper one until the page is full or has cost enough: a page may then be
short, or empty, and still name the place where the next one goes on.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.search import SearchQuery, SearchWords, search_words
from reedbed.store.engine.database import Tx
from reedbed.store.search import postgresql as tsvector
from reedbed.store.search import sqlite as fts5
from reedbed.store.search import texts
from reedbed.store.search.filters import (
    NoSuchList,
    SearchFilter,
    Words,
    allowed,
    narrow,
    unknown_names,
    words_of,
)
from reedbed.store.search.planner import (
    Checked,
    FoundIds,
    Hit,
    IdRange,
    Lists,
    SearchPlan,
    Stepped,
    fill_page,
    ids_of,
    listed,
    lists_of,
)

__all__ = [
    "FoundIds",
    "NoSuchList",
    "SearchFilter",
    "clear",
    "empty_some",
    "find",
    "forget",
    "index",
    "index_missing",
    "is_worn",
    "merge_some",
    "narrow",
    "needs_words_to_forget",
    "unknown_names",
]

FIRST_LISTED = 50
"""Entries of a list looked at first."""
HIT_COST, LISTED_COST, ALLOWED_COST, TEXT_COST, LETTER_COST = 4.0, 6.0, 4.0, 80.0, 0.03
"""µs for an entry that is looked at, that comes from a list, that is read to know who can see it, and whose
text is read; and for one letter of that."""
SAMPLE = 100
"""Entries of a step that are held against the words where none of them can be seen."""
MERGED_COST = 1.2
"""µs for a row of one of several lists, most of which are read in vain."""


class _Plan(Protocol):
    @property
    def index(self) -> Words:
        """What the index is asked."""
        ...

    @property
    def text(self) -> Words:
        """What is looked for in the texts themselves, because the index could not say it cheaply."""
        ...


class _Engine(Protocol):
    BUDGET: float
    """µs that a page may cost, without what its rows show."""
    FIRST_HITS: int
    """How many matches are asked for first."""

    async def index(self, tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None: ...
    async def index_missing(self, tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None: ...
    async def forget(self, tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None: ...
    async def plan(self, tx: Tx, words: Words) -> Any: ...
    async def matches(self, tx: Tx, plan: Any, span: IdRange, most: int) -> list[Hit]: ...
    async def check(self, tx: Tx, plan: Any, ids: Sequence[int], most: float) -> Checked | None:
        """None where it would cost more than so many µs."""
        ...

    def usual(self, plan: Any) -> float:
        """µs for a match that is found along a list, usually."""
        ...

    async def weigh(self, tx: Tx, plan: Any) -> float:
        """µs for holding an entry against the words, at most."""
        ...

    def fixed_cost(self, plan: Any) -> float:
        """µs before the first match is told."""
        ...

    async def is_worn(self, tx: Tx) -> bool: ...
    async def clear(self, tx: Tx) -> None: ...
    async def empty_some(self, tx: Tx) -> bool: ...
    async def merge_some(self, tx: Tx) -> bool: ...


_ENGINES: dict[str, _Engine] = {"sqlite": fts5, "postgresql": tsvector}


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    """Make new or changed entries findable, in their transaction."""
    if rows:
        await _engine(tx).index(tx, rows)


async def index_missing(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    """Only those that the index still lacks: what was indexed meanwhile is newer than what was read."""
    if rows:
        await _engine(tx).index_missing(tx, rows)


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """Take entries out that are about to be deleted, given what they may have been indexed with.

    Without, they are never found again either, but take room until the index is built anew.
    """
    if rows:
        await _engine(tx).forget(tx, rows)


def needs_words_to_forget(engine: str) -> bool:
    return engine == "sqlite"


async def merge_some(tx: Tx) -> bool:
    """Tidy the index for a moment; whether there is more to do."""
    return await _engine(tx).merge_some(tx)


async def is_worn(tx: Tx) -> bool:
    """Whether the index is best built anew."""
    return await _engine(tx).is_worn(tx)


async def clear(tx: Tx) -> None:
    """Take everything out of the index; `texts.unindexed` then names every entry.

    `empty_some` has to be done to its end before, and after: it takes away what was put aside.
    """
    await _engine(tx).clear(tx)


async def empty_some(tx: Tx) -> bool:
    """Whether there is more."""
    return await _engine(tx).empty_some(tx)


async def find(
    tx: Tx,
    user_id: int,
    query: SearchQuery,
    narrowed: SearchFilter,
    *,
    read: Callable[[str], str],
    order: Order = "newest",
    cursor: Cursor | None = None,
    limit: int = 50,
    patience: int = 1,
) -> FoundIds:
    """What this user can see of it, in display order.

    `read` takes the words out of sanitised markup. With `patience` the page may cost so many times as much.
    """
    engine = _engine(tx)
    search = _Search(tx, user_id, narrowed, engine, await engine.plan(tx, words_of(query)), read)
    span = IdRange(order, narrowed.after, narrowed.before, cursor)
    return await fill_page(search.ways(span), limit, engine.BUDGET * patience)


@dataclass(slots=True)
class _Search:
    tx: Tx
    user_id: int
    narrowed: SearchFilter
    engine: _Engine
    plan: _Plan
    read: Callable[[str], str]
    lists: Lists | None = None
    """Known when the first step along them is taken."""

    def ways(self, span: IdRange) -> list[SearchPlan]:
        """Places on SQLite belong to the way they were found on."""
        each = self._looking(1) + (TEXT_COST if self.plan.text else 0.0)
        by_words = SearchPlan(self._from_words, span, each, self.engine.FIRST_HITS, self._toll)
        in_list = each + self.engine.usual(self.plan)
        by_list = SearchPlan(self._from_list, span, in_list, FIRST_LISTED, weigh=self._weigh)
        if not self.plan.index.groups:
            return [by_list]
        if span.beyond is None or self.engine is tsvector:
            return [by_words, by_list]
        return [by_words if span.beyond.id == 0 else by_list]

    async def _weigh(self) -> float:
        checking = await self.engine.weigh(self.tx, self.plan) if self.plan.index else 0.0
        reading = TEXT_COST if self.plan.text else 0.0
        listing = _listing(1, await self._lists())
        return self._looking(1) + listing + min(checking, TEXT_COST) + reading

    def _looking(self, entries: int) -> float:
        return entries * (HIT_COST + (0.0 if self.narrowed.has_own_rows else ALLOWED_COST))

    async def _lists(self) -> Lists:
        if self.lists is None:
            self.lists = await lists_of(self.tx, self.user_id, self.narrowed)
        return self.lists

    def _toll(self) -> float:
        return self.engine.fixed_cost(self.plan)

    async def _from_words(self, span: IdRange, most: int) -> Stepped:
        fixed_cost = self._toll()
        hits = await self.engine.matches(self.tx, self.plan, span, most)
        seen = await self._allowed(ids_of(hits))
        checked = await self._read(seen)
        return Stepped(hits, checked.good, fixed_cost + self._looking(len(hits)) + checked.cost)

    async def _from_list(self, span: IdRange, most: int) -> Stepped:
        lists = await self._lists()
        hits = await listed(self.tx, self.user_id, self.narrowed, lists, span, most)
        ids = ids_of(hits)
        seen = await self._allowed(ids)
        # Where this user sees none of them, some of them tell at least how common the words are.
        checked = await self._checked(seen or (set(ids[:SAMPLE]) if self._toll() else seen))
        read = await self._read(checked.good & seen)
        looking = self._looking(len(hits)) + _listing(len(hits), lists)
        return Stepped(hits, read.good, looking + checked.cost + read.cost)

    async def _allowed(self, ids: Sequence[int]) -> set[int]:
        return await allowed(self.tx, self.user_id, self.narrowed, ids) if ids else set()

    async def _checked(self, ids: set[int]) -> Checked:
        if not ids or not self.plan.index:
            return Checked(ids, 0.0)
        checked = await self.engine.check(self.tx, self.plan, list(ids), TEXT_COST * len(ids))
        return checked or await self._in_text(ids, self.plan.index)

    async def _read(self, ids: set[int]) -> Checked:
        return await self._in_text(ids, self.plan.text) if ids and self.plan.text else Checked(ids, 0.0)

    async def _in_text(self, ids: set[int], words: Words) -> Checked:
        """Which of these match, by what was indexed of them."""
        found = await texts.indexed_text(self.tx, list(ids))
        good = await asyncio.to_thread(lambda: {each.id for each in found if words.match(self._words(each))})
        return Checked(good, LETTER_COST * sum(len(each.content) for each in found))

    def _words(self, entry: texts.Unindexed) -> SearchWords:
        return search_words(entry.title, self.read(entry.content), entry.author)


def _listing(entries: int, lists: Lists) -> float:
    return entries * (LISTED_COST + (lists.number - 1) * MERGED_COST)


def _engine(tx: Tx) -> _Engine:
    return _ENGINES[tx.engine]
