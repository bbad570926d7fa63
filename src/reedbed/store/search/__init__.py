"""Search behind one door, whatever the engine.

A search can be answered from two sides: from the words, whose matches are then held against the list (states,
feeds, tags, time), or from the list, whose entries are then held against the words. Either way it proceeds in
bounded steps until the page is full, and gives up after so many entries: a page may then be short, or empty,
and still name the place where the next one goes on.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from reedbed.domain.paging import Cursor, Order
from reedbed.domain.search import SearchQuery
from reedbed.domain.search_words import SearchWords
from reedbed.store.database import Tx
from reedbed.store.search import fts5, tsvector
from reedbed.store.search.names import NoSuchList, narrow
from reedbed.store.search.narrowing import Narrow, allowed, listed
from reedbed.store.search.parts import Words, words_of
from reedbed.store.search.places import Hit, Span

__all__ = [
    "Found",
    "Narrow",
    "NoSuchList",
    "clear",
    "find",
    "forget",
    "index",
    "is_worn",
    "merge_some",
    "narrow",
    "needs_words_to_forget",
]

FIRST_STEP = 100
MOST_STEPPED = 5_000
"""Entries looked at for one page."""

FEW = 100
"""So much of a narrow list is held against the words first."""
OFTEN = 30
"""If one of so many matches, the list is the shorter way."""


class _Engine(Protocol):
    async def index(self, tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None: ...
    async def forget(self, tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None: ...
    async def matches(self, tx: Tx, words: Words, span: Span, most: int) -> list[Hit]: ...
    async def check(self, tx: Tx, words: Words, ids: Sequence[int]) -> set[int]: ...
    async def is_common(self, tx: Tx, words: Words) -> bool: ...
    async def is_worn(self, tx: Tx) -> bool: ...
    async def clear(self, tx: Tx) -> None: ...
    async def merge_some(self, tx: Tx) -> bool: ...


_ENGINES: dict[str, _Engine] = {"sqlite": fts5, "postgresql": tsvector}


@dataclass(frozen=True, slots=True)
class Found:
    ids: tuple[int, ...]
    """In the order asked for."""
    next: Cursor | None
    """Where the next page goes on; None when nothing is left."""


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    """Make new or changed entries findable, in their transaction."""
    if rows:
        await _engine(tx).index(tx, rows)


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
    """Take everything out of the index; `texts.unindexed` then names every entry."""
    await _engine(tx).clear(tx)


async def find(
    tx: Tx,
    user_id: int,
    query: SearchQuery,
    narrowed: Narrow,
    *,
    order: Order = "newest",
    cursor: Cursor | None = None,
    limit: int = 50,
) -> Found:
    """What this user can see of it, in display order."""
    search = _Search(tx, user_id, words_of(query), narrowed, _engine(tx))
    span = Span(order, narrowed.after, narrowed.before, cursor)
    if cursor is None and narrowed.is_small and (found := await search.from_head_of_list(span, limit)):
        return found
    if await search.goes_by_words(cursor):
        found = await _page(search.from_words, span, limit)
        if len(found.ids) >= limit or found.next is None or cursor is not None or not narrowed.is_small:
            return found
    return await _page(search.from_list, span, limit)


@dataclass(frozen=True, slots=True)
class _Search:
    tx: Tx
    user_id: int
    words: Words
    narrowed: Narrow
    engine: _Engine

    async def goes_by_words(self, cursor: Cursor | None) -> bool:
        if not self.words.groups:
            return False
        if cursor is not None and self.tx.engine == "sqlite":
            return cursor.id == 0
        return not await self.engine.is_common(self.tx, self.words)

    async def from_head_of_list(self, span: Span, limit: int) -> Found | None:
        """The page, if the list is short or holds the words often."""
        hits, good = await self.from_list(span, FEW + 1)
        found = [hit for hit in hits if hit.entry_id in good]
        if len(hits) <= FEW or len(found) > limit:
            return _cut(found, limit)
        return await _page(self.from_list, span, limit) if len(found) * OFTEN >= len(hits) else None

    async def from_words(self, span: Span, most: int) -> tuple[list[Hit], set[int]]:
        hits = await self.engine.matches(self.tx, self.words, span, most)
        ids = _ids(hits)
        return hits, await allowed(self.tx, self.user_id, self.narrowed, ids) if ids else set()

    async def from_list(self, span: Span, most: int) -> tuple[list[Hit], set[int]]:
        hits = await listed(self.tx, self.user_id, self.narrowed, span, most)
        return hits, await self._checked(_ids(hits))

    async def _checked(self, ids: Sequence[int]) -> set[int]:
        if not ids or not (self.words.groups or self.words.excluded):
            return set(ids)
        return await self.engine.check(self.tx, self.words, ids)


async def _page(
    step: Callable[[Span, int], Awaitable[tuple[list[Hit], set[int]]]], span: Span, limit: int
) -> Found:
    """Step along until `limit` entries are found, the list ends, or enough was looked at."""
    found: list[Hit] = []
    size, stepped = max(FIRST_STEP, limit + 1), 0
    while stepped < MOST_STEPPED:
        hits, good = await step(span, size)
        found += [hit for hit in hits if hit.entry_id in good]
        if len(found) > limit or len(hits) < size:
            return _cut(found, limit)
        stepped, span = stepped + size, replace(span, beyond=hits[-1].place)
        size = min(size * 3, MOST_STEPPED - stepped) or size
    return Found(_ids(found), span.beyond)


def _cut(found: Sequence[Hit], limit: int) -> Found:
    return Found(_ids(found[:limit]), found[limit - 1].place if len(found) > limit else None)


def _ids(hits: Sequence[Hit]) -> tuple[int, ...]:
    return tuple(hit.entry_id for hit in hits if hit.entry_id is not None)


def _engine(tx: Tx) -> _Engine:
    return _ENGINES[tx.engine]
