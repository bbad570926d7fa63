"""Full-text search with the same interface on both engines.

There are two plans for a search. The index plan asks the full-text index for matches and filters them by the
list (state, feeds, tags, time). The list plan walks the list and checks each entry for the search terms.
`planner` runs both in bounded steps and continues with the cheaper one until the page is full or the cost
budget is spent. In the second case the page is short or empty, but still has a cursor for the next page.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.search.indexing import SearchWords, search_words
from reedbed.domain.search.query import SearchQuery
from reedbed.store.engine.database import Tx
from reedbed.store.search import postgresql as tsvector
from reedbed.store.search import sqlite as fts5
from reedbed.store.search import texts
from reedbed.store.search.filters import NoSuchList, SearchFilter, Words, allowed, narrow, unknown_names, words_of
from reedbed.store.search.planner import (
    Checked,
    Hit,
    IdRange,
    Lists,
    MatchingIds,
    SearchPlan,
    StepResult,
    fill_page,
    ids_of,
    listed,
    load_lists,
)
from reedbed.store.search.postgresql import PostgresqlPlan
from reedbed.store.search.sqlite import SqlitePlan

__all__ = [
    "MatchingIds",
    "NoSuchList",
    "SearchFilter",
    "clear",
    "delete_old_index_batch",
    "find",
    "forget",
    "index",
    "index_missing",
    "index_needs_rebuild",
    "merge_index_batch",
    "narrow",
    "needs_text_to_delete",
    "unknown_names",
]

FIRST_LISTED = 50
"""Entries of the list that the first step reads."""
HIT_COST, LISTED_COST, ALLOWED_COST, TEXT_COST, CHAR_COST = 4.0, 6.0, 4.0, 80.0, 0.03
"""Estimated µs: per hit, per entry read from a list, per visibility check, per text loaded, and per character
of that text."""
SAMPLE = 100
"""When the user can see no entry of a step, check this many anyway, to learn how common the terms are."""
MERGED_COST = 1.2
"""µs per row when several lists are merged; most of these rows are read in vain."""


class _Plan(Protocol):
    @property
    def index(self) -> Words:
        """The terms to look up in the index."""
        ...

    @property
    def text(self) -> Words:
        """The terms to look for in the texts, because the index cannot answer them cheaply."""
        ...


P = TypeVar("P", bound=_Plan)


class _Engine(Protocol[P]):
    BUDGET: float
    """µs that finding one page may cost, not counting loading its rows."""
    FIRST_HITS: int
    """How many matches the first step asks for."""

    async def index(self, tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None: ...
    async def index_missing(self, tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None: ...
    async def forget(self, tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None: ...
    async def plan(self, tx: Tx, words: Words) -> P: ...
    async def matches(self, tx: Tx, plan: P, span: IdRange, limit: int) -> list[Hit]: ...
    async def check(self, tx: Tx, plan: P, ids: Sequence[int], max_cost: float) -> Checked | None:
        """Which of these entries match; None if that would cost more than `max_cost` µs."""
        ...

    def typical_cost(self, plan: P) -> float:
        """Typical µs to find one match by walking a list."""
        ...

    async def estimate_cost(self, tx: Tx, plan: P) -> float:
        """µs to check one entry for the terms, at most."""
        ...

    def fixed_cost(self, plan: P) -> float:
        """µs until the index returns its first match."""
        ...

    async def index_needs_rebuild(self, tx: Tx) -> bool: ...
    async def clear(self, tx: Tx) -> None: ...
    async def delete_old_index_batch(self, tx: Tx) -> bool: ...
    async def merge_index_batch(self, tx: Tx) -> bool: ...


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    """Index new or changed entries, in the transaction that stores them."""
    if rows:
        await _engine(tx).index(tx, rows)


async def index_missing(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    """Index only entries that are not in the index: what was indexed meanwhile is newer than these rows."""
    if rows:
        await _engine(tx).index_missing(tx, rows)


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """Remove entries that are about to be deleted; each comes with the texts it may have been indexed with.

    Without this call they are not found either, but take up space until the index is rebuilt.
    """
    if rows:
        await _engine(tx).forget(tx, rows)


def needs_text_to_delete(engine: str) -> bool:
    return engine == "sqlite"


async def merge_index_batch(tx: Tx) -> bool:
    """Merge a few segments of the index; returns whether there is more to do."""
    return await _engine(tx).merge_index_batch(tx)


async def index_needs_rebuild(tx: Tx) -> bool:
    """Whether the index should be rebuilt."""
    return await _engine(tx).index_needs_rebuild(tx)


async def clear(tx: Tx) -> None:
    """Empty the index; `texts.unindexed` then returns every entry.

    Call `delete_old_index_batch` until it returns False, before and after: it deletes the old index that
    `clear` renames.
    """
    await _engine(tx).clear(tx)


async def delete_old_index_batch(tx: Tx) -> bool:
    """Delete a part of the old index; returns whether there is more."""
    return await _engine(tx).delete_old_index_batch(tx)


async def find(
    tx: Tx,
    user_id: int,
    query: SearchQuery,
    list_filter: SearchFilter,
    *,
    read: Callable[[str], str],
    order: Order = "newest",
    cursor: Cursor | None = None,
    limit: int = 50,
    patience: int = 1,
) -> MatchingIds:
    """The matching entries that this user can see, in display order.

    `read` turns sanitised markup into plain text. `patience` multiplies the cost budget of the page.
    """
    words = words_of(query)
    search = (
        _Search(tx, user_id, list_filter, fts5, await fts5.plan(tx, words), read)
        if tx.engine == "sqlite"
        else _Search(tx, user_id, list_filter, tsvector, await tsvector.plan(tx, words), read)
    )
    span = IdRange(order, list_filter.after, list_filter.before, cursor)
    return await fill_page(search.plans(span), limit, search.engine.BUDGET * patience)


@dataclass(slots=True)
class _Search(Generic[P]):
    tx: Tx
    user_id: int
    list_filter: SearchFilter
    engine: _Engine[P]
    plan: P
    read: Callable[[str], str]
    lists: Lists | None = None
    """Loaded by the first step that needs them."""

    def plans(self, span: IdRange) -> list[SearchPlan]:
        """The plans to try. On SQLite a cursor is valid only for the plan that produced it."""
        cost_per_hit = self._hit_cost(1) + (TEXT_COST if self.plan.text else 0.0)
        by_index = SearchPlan(self._step_index, span, cost_per_hit, self.engine.FIRST_HITS, self._fixed_cost)
        cost_in_list = cost_per_hit + self.engine.typical_cost(self.plan)
        by_list = SearchPlan(self._step_list, span, cost_in_list, FIRST_LISTED, estimate_cost=self._entry_cost)
        if not self.plan.index.groups:
            return [by_list]
        if span.beyond is None or self.tx.engine == "postgresql":
            return [by_index, by_list]
        return [by_index if span.beyond.id == 0 else by_list]

    async def _entry_cost(self) -> float:
        check_cost = await self.engine.estimate_cost(self.tx, self.plan) if self.plan.index else 0.0
        text_cost = TEXT_COST if self.plan.text else 0.0
        list_cost = _list_cost(1, await self._lists())
        return self._hit_cost(1) + list_cost + min(check_cost, TEXT_COST) + text_cost

    def _hit_cost(self, entries: int) -> float:
        return entries * (HIT_COST + (0.0 if self.list_filter.has_own_rows else ALLOWED_COST))

    async def _lists(self) -> Lists:
        if self.lists is None:
            self.lists = await load_lists(self.tx, self.user_id, self.list_filter)
        return self.lists

    def _fixed_cost(self) -> float:
        return self.engine.fixed_cost(self.plan)

    async def _step_index(self, span: IdRange, limit: int) -> StepResult:
        fixed_cost = self._fixed_cost()
        hits = await self.engine.matches(self.tx, self.plan, span, limit)
        visible = await self._allowed(ids_of(hits))
        checked = await self._match_text(visible)
        return StepResult(hits, checked.good, fixed_cost + self._hit_cost(len(hits)) + checked.cost)

    async def _step_list(self, span: IdRange, limit: int) -> StepResult:
        lists = await self._lists()
        hits = await listed(self.tx, self.user_id, self.list_filter, lists, span, limit)
        ids = ids_of(hits)
        visible = await self._allowed(ids)
        # If the user can see none of them, a sample at least shows how common the terms are.
        checked = await self._match_index(visible or (set(ids[:SAMPLE]) if self._fixed_cost() else visible))
        read = await self._match_text(checked.good & visible)
        list_cost = self._hit_cost(len(hits)) + _list_cost(len(hits), lists)
        return StepResult(hits, read.good, list_cost + checked.cost + read.cost)

    async def _allowed(self, ids: Sequence[int]) -> set[int]:
        return await allowed(self.tx, self.user_id, self.list_filter, ids) if ids else set()

    async def _match_index(self, ids: set[int]) -> Checked:
        if not ids or not self.plan.index:
            return Checked(ids, 0.0)
        checked = await self.engine.check(self.tx, self.plan, list(ids), TEXT_COST * len(ids))
        return checked or await self._match_in_text(ids, self.plan.index)

    async def _match_text(self, ids: set[int]) -> Checked:
        return await self._match_in_text(ids, self.plan.text) if ids and self.plan.text else Checked(ids, 0.0)

    async def _match_in_text(self, ids: set[int], words: Words) -> Checked:
        """Which of these match, by the text that was indexed."""
        entries = await texts.indexed_text(self.tx, list(ids))
        good = await asyncio.to_thread(
            lambda: {entry.id for entry in entries if words.match(self._search_words(entry))}
        )
        return Checked(good, CHAR_COST * sum(len(entry.content) + len(entry.transcript) for entry in entries))

    def _search_words(self, entry: texts.IndexedText) -> SearchWords:
        return search_words(entry.title, self.read(entry.content), entry.author, entry.categories, entry.transcript)


def _list_cost(entries: int, lists: Lists) -> float:
    return entries * (LISTED_COST + (lists.number - 1) * MERGED_COST)


def _engine(tx: Tx) -> _Engine[SqlitePlan] | _Engine[PostgresqlPlan]:
    return fts5 if tx.engine == "sqlite" else tsvector
