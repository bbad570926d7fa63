"""Mending the search index: what it lacks is added; once worn it is built anew, newest entries first."""

import asyncio
from collections.abc import Callable

from reedbed.domain.search_words import SearchWords, search_words
from reedbed.domain.times import HOUR, MINUTE
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.store import search
from reedbed.store.database import Database
from reedbed.store.search import texts
from reedbed.store.search.texts import Unindexed

AT_ONCE = 100
"""Entries in one transaction, so that a reader's own writes never wait long."""
ROUNDS = 200
_PAUSE = 0.05


async def mend_search_each_hour(runtime: Runtime) -> int:
    """Looking for gaps reads the whole index, so once an hour is enough."""
    return await mend_search(runtime) if runtime.now() % HOUR < MINUTE else 0


async def mend_search(runtime: Runtime) -> int:
    """How many entries were indexed; what does not fit into one turn waits for the next."""
    async with runtime.db.write() as tx:
        if await search.is_worn(tx):
            await search.clear(tx)
    indexed = 0
    for _ in range(ROUNDS):
        some = await _index_some(runtime.db)
        indexed += some
        if some < AT_ONCE:
            break
        await asyncio.sleep(_PAUSE)
    return indexed


async def rebuild_search(runtime: Runtime) -> int:
    """Build the index anew, all of it; searches find what is in it so far."""
    async with runtime.db.write() as tx:
        await search.clear(tx)
    return await index_everything(runtime.db)


async def index_everything(db: Database, tell: Callable[[int], None] = lambda _: None) -> int:
    """Add what the index lacks, all of it; `tell` hears how many at a time."""
    indexed = 0
    while some := await _index_some(db):
        indexed += some
        tell(some)
    return indexed


async def _index_some(db: Database) -> int:
    async with db.read() as tx:
        missing = await texts.unindexed(tx, AT_ONCE)
    words = await asyncio.to_thread(lambda: [(entry.id, _words(entry)) for entry in missing])
    async with db.write() as tx:
        await search.index(tx, words)
    return len(missing)


def _words(entry: Unindexed) -> SearchWords:
    return search_words(entry.title, clean_text(entry.content), entry.author)
