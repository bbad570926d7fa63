"""Mending the search index: what it lacks is added; once worn it is built anew, newest entries first.

All of it in pieces, so that a reader's own writes never wait long.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from reedbed.domain.pieces import weight
from reedbed.domain.search_words import SearchWords, search_words
from reedbed.domain.times import HOUR
from reedbed.ingest.text import clean_text
from reedbed.services.chore_runs import run_every
from reedbed.services.pieces import Pieces
from reedbed.services.runtime import Runtime
from reedbed.store import search
from reedbed.store.database import Database, Tx
from reedbed.store.search import texts
from reedbed.store.search.texts import NEWEST, Unindexed

AT_ONCE = 100
"""Texts read in one go."""
MOST_A_TURN = 20_000
JOINED_AFTER = 16
MERGES = 800
MERGE_PAUSE = 0.01
PossibleWords = tuple[int, list[SearchWords]]


async def mend_search_each_hour(runtime: Runtime) -> int:
    """Looking for gaps reads the whole index, so once an hour is enough."""
    return await run_every(runtime, "mend_search", HOUR, mend_search)


async def mend_search(runtime: Runtime) -> int:
    """How many entries were indexed; what does not fit into one turn waits for the next."""
    await _empty_old(runtime.db)
    async with runtime.db.read() as tx:
        worn = await search.is_worn(tx)
    if worn:
        await _clear(runtime.db)
    return await _index_missing(runtime.db, most=MOST_A_TURN)


async def rebuild_search(runtime: Runtime) -> int:
    """Build the index anew, all of it; searches find what is in it so far."""
    await _clear(runtime.db)
    return await _index_missing(runtime.db)


async def index_everything(db: Database, tell: Callable[[int], None]) -> int:
    """Add what the index lacks in a database that nobody else uses; `tell` hears how many at a time."""
    return await _index_missing(db, tell=tell, resting=False)


async def reindex(tx: Tx, entry_ids: Sequence[int], before: Sequence[Unindexed] = ()) -> None:
    """Find these few entries by what they say now; what `before` they may have been indexed with goes.

    Their words are made here and not in a thread: a transaction must not wait for one to be free.
    """
    await search.forget(tx, possible_words(entry_ids, before) if before else [])
    await search.index(tx, _said(await texts.indexed_text(tx, entry_ids)))


async def tidy_search(runtime: Runtime) -> int:
    return await _join(runtime.db)


async def breathe(pieces: Pieces, db: Database) -> None:
    """Let others write, and now and then join what pieces leave behind in the index.

    SQLite joins no fewer than so many; left alone it would one day join hundreds in one commit.
    """
    await pieces.rest()
    if db.engine == "sqlite" and pieces.written % JOINED_AFTER == 0:
        await _join(db)


async def _join(db: Database) -> int:
    """Join the parts of the search index, a moment at a time, so that others' writes come in between."""
    for rounds in range(MERGES):
        if not await db.write_at_once(search.merge_some):
            return rounds
        await asyncio.sleep(MERGE_PAUSE)
    return MERGES


async def _clear(db: Database) -> None:
    await _empty_old(db)
    await db.write_at_once(search.clear)
    await _empty_old(db)


async def _empty_old(db: Database) -> None:
    """What was put aside, also by a process that did not come to its end."""
    more = True
    while more:
        more = await db.write_at_once(search.empty_some)
        await asyncio.sleep(MERGE_PAUSE if more else 0)


async def _index_missing(
    db: Database,
    *,
    most: int | None = None,
    tell: Callable[[int], None] = lambda _: None,
    resting: bool = True,
) -> int:
    pieces, beyond, indexed = Pieces(db), NEWEST, 0
    while most is None or indexed < most:
        async with db.read() as tx:
            missing = await texts.unindexed(tx, AT_ONCE, beyond)
        if not missing:
            break
        waiting = await asyncio.to_thread(_said, missing)
        while waiting:
            piece = pieces.take(waiting, _weigh)
            await pieces.write(partial(search.index_missing, rows=piece))
            if resting:
                await breathe(pieces, db)
        beyond, indexed = (missing[-1].sort_at, missing[-1].id), indexed + len(missing)
        tell(len(missing))
    return indexed


def possible_words(entry_ids: Sequence[int], found: Sequence[Unindexed]) -> list[PossibleWords]:
    """For each entry what it may have been indexed with, in the order found."""
    said: dict[int, list[SearchWords]] = {entry_id: [] for entry_id in entry_ids}
    for one in found:
        said[one.id].append(words_of(one))
    return list(said.items())


def _said(entries: Sequence[Unindexed]) -> list[tuple[int, SearchWords]]:
    return [(one.id, words_of(one)) for one in entries]


def _weigh(said: tuple[int, SearchWords]) -> float:
    return weight_of([said[1]])


def words_of(entry: Unindexed) -> SearchWords:
    return search_words(entry.title, clean_text(entry.content), entry.author)


def weight_of(said: Sequence[SearchWords]) -> float:
    """What it takes to index these, or to take them out."""
    return weight(sum(len(words.text) for words in said))
