"""Word forms: the vocabulary that searches look up, and its upkeep."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

from reedbed.domain.search.forms import (
    LANGUAGES,
    KnownWords,
    WordForm,
    chosen_forms,
    has_forms,
    language_of,
    with_forms,
    words_with_forms,
)
from reedbed.domain.search.indexing import SearchWords, search_words
from reedbed.domain.search.query import SearchQuery
from reedbed.ingest.stems import stems
from reedbed.ingest.text import clean_text
from reedbed.services.batching import Batches
from reedbed.services.runtime import Runtime
from reedbed.store import instance
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST
from reedbed.store.search import forms, texts
from reedbed.store.search.texts import IndexedText

BATCH_SIZE = 100
"""Texts read in one query."""
MAX_LEARNED_PER_RUN = 20_000
_FORM_COST = 0.05
"""What a row of the vocabulary costs to write, compared with an entry to index."""
_UNLEARNED_BELOW = "word_forms_below"
"""The setting with the id below which the texts of older entries have not been read yet; 0 when all have."""

TextInLanguage = tuple[str | None, SearchWords]


async def find_forms(tx: Tx, query: SearchQuery) -> SearchQuery:
    """The query, with the other forms of its words as alternatives."""
    words = words_with_forms(query)
    if not words:
        return query
    stems_of = {word: {(language, stem) for language in LANGUAGES for stem in stems(language, word)} for word in words}
    found = await forms.of_stems(tx, list({stem for pairs in stems_of.values() for _, stem in pairs}))
    return with_forms(
        query,
        {
            word: chosen_forms(word, [(row.language, row.word) for row in found if (row.language, row.stem) in pairs])
            for word, pairs in stems_of.items()
        },
    )


def unknown_forms(known: KnownWords, indexed: Iterable[TextInLanguage]) -> list[WordForm]:
    """The words of these texts that are not known to be in the vocabulary, with their stems."""
    by_language: dict[str, list[SearchWords]] = {}
    for declared, words in indexed:
        language = language_of(declared, words)
        if language is not None:
            by_language.setdefault(language, []).append(words)
    return [
        WordForm(language, stem, word)
        for language, entries in by_language.items()
        for word in known.unknown(language, entries)
        if has_forms(word)
        for stem in stems(language, word)
    ]


async def learn_words(tx: Tx, indexed: Iterable[TextInLanguage], known: KnownWords | None = None) -> None:
    """Add the words of a few texts to the vocabulary, in the transaction that indexes them."""
    await forms.add(tx, unknown_forms(known or KnownWords(), indexed))


async def learn_older_entries(runtime: Runtime) -> int:
    """Add the words of entries that were indexed before there was a vocabulary; the next run continues."""
    learned, batches = 0, Batches(runtime.db)
    while learned < MAX_LEARNED_PER_RUN:
        async with runtime.db.read() as tx:
            below = await _unlearned_below(tx)
            entries = await texts.below_id(tx, below, BATCH_SIZE) if below else []
        if not below:
            break
        fresh = await asyncio.to_thread(_unknown_in, runtime.known_words, entries)
        await add_in_batches(batches, fresh)
        # Only now: after a kill the same texts are read again.
        async with runtime.db.write() as tx:
            await instance.set_setting(tx, _UNLEARNED_BELOW, str(entries[-1].id if entries else 0), runtime.now())
        runtime.known_words.remember(fresh)
        learned += len(entries)
    return learned


async def add_in_batches(batches: Batches, rows: Sequence[WordForm]) -> None:
    waiting = list(rows)
    while waiting:
        await batches.write(partial(forms.add, forms=batches.take(waiting, _form_cost)))
        await batches.rest()


async def _unlearned_below(tx: Tx) -> int:
    kept = await instance.get_setting(tx, _UNLEARNED_BELOW)
    return HIGHEST if kept is None else int(kept)


def _unknown_in(known: KnownWords, entries: Sequence[IndexedText]) -> list[WordForm]:
    return unknown_forms(known, [(entry.language, _words(entry)) for entry in entries])


def _words(entry: IndexedText) -> SearchWords:
    return search_words(entry.title, clean_text(entry.content), transcript=entry.transcript)


def _form_cost(_: WordForm) -> float:
    return _FORM_COST
