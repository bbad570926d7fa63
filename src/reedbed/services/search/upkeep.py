"""The upkeep of the search index: missing entries are added, newest first; a fragmented index is rebuilt.

Both happen in small batches, so that other writes never wait long.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from reedbed.domain.search.forms import KnownWords
from reedbed.domain.search.indexing import SearchWords, search_words
from reedbed.ingest.text import clean_text
from reedbed.services.batching import Batches, weight
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import TextInLanguage, add_in_batches, learn_words, unknown_forms
from reedbed.store import instance, search
from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.statements import HIGHEST
from reedbed.store.search import texts
from reedbed.store.search.texts import NEWEST, IndexedText

BATCH_SIZE = 100
"""Texts read in one query."""
MAX_INDEXED_PER_RUN = 20_000
MAX_CATEGORIES_INDEXED_PER_RUN = 5_000
_CATEGORY_BATCH = 10
_CATEGORIES_BELOW = "categories_below"
"""The setting with the id below which entries may have been indexed without their categories; 0 when none is left."""
MERGE_AFTER_BATCHES = 16
MERGES = 800
MERGE_PAUSE = 0.01
PossibleWords = tuple[int, list[SearchWords]]


async def repair_search(runtime: Runtime) -> int:
    """Index up to `MAX_INDEXED_PER_RUN` missing entries and return how many; the next run continues.

    Finding them reads the whole index, so once an hour is enough.
    """
    await _empty_old_index(runtime.db)
    async with runtime.db.read() as tx:
        worn = await search.index_needs_rebuild(tx)
    if worn:
        await _clear_index(runtime.db)
    return await _index_missing(runtime.db, runtime.known_words, limit=MAX_INDEXED_PER_RUN)


async def rebuild_search(runtime: Runtime) -> int:
    """Rebuild the whole index. Until it is complete, searches find only what is indexed so far."""
    await _clear_index(runtime.db)
    return await _index_missing(runtime.db, runtime.known_words)


async def index_everything(db: Database, tell: Callable[[int], None]) -> int:
    """Index all missing entries of a database that is not in use; `tell` gets the size of each batch."""
    return await _index_missing(db, KnownWords(), on_indexed=tell, pausing=False)


async def reindex(tx: Tx, known: KnownWords, entry_ids: Sequence[int], before: Sequence[IndexedText] = ()) -> None:
    """Index the current text of a few entries and remove `before`, the texts they may be indexed with.

    The words are computed here and not in a thread: a transaction must not wait for a free thread.
    """
    await search.forget(tx, possible_words(entry_ids, before) if before else [])
    indexed = await texts.indexed_text(tx, entry_ids)
    words = _words_by_entry(indexed)
    await learn_words(tx, _in_language(indexed, words), known)
    await search.index(tx, words)


async def merge_search_index(runtime: Runtime) -> int:
    return await _merge_index(runtime.db)


async def pause_between_batches(batches: Batches, db: Database) -> None:
    """Let others write, and after every few batches merge the segments that they added to the index.

    SQLite merges only from a certain number of segments on; left alone it would merge hundreds in one commit.
    """
    await batches.rest()
    if db.engine == "sqlite" and batches.written % MERGE_AFTER_BATCHES == 0:
        await _merge_index(db)


async def _merge_index(db: Database) -> int:
    """Merge the segments of the search index in short steps, so that other writes come in between."""
    for rounds in range(MERGES):
        if not await db.write_now(search.merge_index_batch):
            return rounds
        await asyncio.sleep(MERGE_PAUSE)
    return MERGES


async def _clear_index(db: Database) -> None:
    await _empty_old_index(db)
    await db.write_now(search.clear)
    await _empty_old_index(db)


async def _empty_old_index(db: Database) -> None:
    """Empty the index that was replaced, also one that a process left behind when it died."""
    more = True
    while more:
        more = await db.write_now(search.delete_old_index_batch)
        await asyncio.sleep(MERGE_PAUSE if more else 0)


async def _index_missing(
    db: Database,
    known: KnownWords,
    *,
    limit: int | None = None,
    on_indexed: Callable[[int], None] = lambda _: None,
    pausing: bool = True,
) -> int:
    batches, after, indexed = Batches(db), NEWEST, 0
    while limit is None or indexed < limit:
        async with db.read() as tx:
            missing = await texts.unindexed(tx, BATCH_SIZE, after)
        if not missing:
            break
        waiting = await asyncio.to_thread(_words_by_entry, missing)
        fresh = await asyncio.to_thread(unknown_forms, known, _in_language(missing, waiting))
        await add_in_batches(batches, fresh)
        known.remember(fresh)
        while waiting:
            batch = batches.take(waiting, _index_cost)
            await batches.write(partial(search.index_missing, rows=batch))
            if pausing:
                await pause_between_batches(batches, db)
        after, indexed = (missing[-1].sort_at, missing[-1].id), indexed + len(missing)
        on_indexed(len(missing))
    return indexed


async def index_older_categories(runtime: Runtime) -> int:
    """Index the categories of entries that were indexed before 0.2; the next run continues."""
    indexed, batches = 0, Batches(runtime.db)
    while indexed < MAX_CATEGORIES_INDEXED_PER_RUN:
        async with runtime.db.read() as tx:
            setting = await instance.get_setting(tx, _CATEGORIES_BELOW)
            below = HIGHEST if setting is None else int(setting)
            entries = await texts.below_id(tx, below, BATCH_SIZE) if below else []
        if not below:
            break
        waiting = [entry.id for entry in entries if entry.categories]
        while waiting:
            batch, waiting = waiting[:_CATEGORY_BATCH], waiting[_CATEGORY_BATCH:]
            await batches.write(partial(_index_again, known=runtime.known_words, entry_ids=batch))
            await pause_between_batches(batches, runtime.db)
        async with runtime.db.write() as tx:
            lowest = entries[-1].id if entries else 0
            await instance.set_setting(tx, _CATEGORIES_BELOW, str(lowest), runtime.now())
        indexed += len(entries)
    return indexed


async def _index_again(tx: Tx, known: KnownWords, entry_ids: Sequence[int]) -> None:
    before = await texts.possibly_indexed(tx, entry_ids) if search.needs_text_to_delete(tx.engine) else []
    await reindex(tx, known, entry_ids, before)


def possible_words(entry_ids: Sequence[int], indexed_texts: Sequence[IndexedText]) -> list[PossibleWords]:
    """For each entry, the words it may have been indexed with."""
    words: dict[int, list[SearchWords]] = {entry_id: [] for entry_id in entry_ids}
    for text in indexed_texts:
        words[text.id].append(words_of(text))
        if text.categories:  # before 0.2 they were not indexed
            words[text.id].append(words_of(replace(text, extra="{}")))
    return list(words.items())


def _words_by_entry(entries: Sequence[IndexedText]) -> list[tuple[int, SearchWords]]:
    return [(entry.id, words_of(entry)) for entry in entries]


def _in_language(indexed: Sequence[IndexedText], words: Sequence[tuple[int, SearchWords]]) -> list[TextInLanguage]:
    by_id = dict(words)
    return [(entry.language, by_id[entry.id]) for entry in indexed]


def _index_cost(indexed: tuple[int, SearchWords]) -> float:
    return weight_of([indexed[1]])


def words_of(entry: IndexedText) -> SearchWords:
    return search_words(entry.title, clean_text(entry.content), entry.author, entry.categories, entry.transcript)


def weight_of(word_lists: Sequence[SearchWords]) -> float:
    """The cost of adding these to the index or removing them."""
    return weight(sum(len(words.text) for words in word_lists))
