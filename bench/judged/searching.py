"""Whether search finds other forms of a word, and nothing else where the exact form is asked for, on both engines."""

import statistics
from collections.abc import Iterable
from dataclasses import replace

from bench.judged.data import (
    BEGIN,
    SPLITS,
    ExactnessTrap,
    LabelledEntry,
    WordPair,
    exactness_traps,
    labelled_articles,
    labelled_entries,
    word_pairs,
)
from bench.judged.figures import Judged
from bench.judged.library import Library, end_of, open_library
from bench.search import index_size
from reedbed.domain.times import MINUTE
from reedbed.services.search.find import search_entries
from tests import servers

MOST = 100
ROUNDS = 3


async def judge_search() -> list[Judged]:
    halves = [half for half in SPLITS if word_pairs(half)]
    figures = [figure for half in halves for figure in await _judge(half, "sqlite", None)]
    try:
        with servers.postgres_server() as server:
            figures += [figure for half in halves for figure in await _judge(half, "postgresql", server.create())]
    except servers.Missing as missing:
        print(missing)
    return figures


async def _judge(half: str, engine: str, url: str | None) -> list[Judged]:
    pairs, traps = word_pairs(half), exactness_traps(half)
    usual = [*labelled_entries(half), *labelled_articles(half)]
    async with open_library(url) as library:
        library.set_clock(end_of(usual))
        await library.receive(usual)
        await library.receive([replace(entry, id=f"again {entry.id}") for entry in usual])
        indexing = library.indexing / len(usual) * 1e6
        size = await index_size(library.runtime.db) / len(usual) / 2
        await library.receive(list(_texts(pairs, traps)))
        found = [(pair, await _finds(library, pair.query, f"pair {number}")) for number, pair in enumerate(pairs)]
        kept = [await _keeps(library, trap, number) for number, trap in enumerate(traps)]
        started = library.cpu.seconds()
        for _ in range(ROUNDS):
            for pair in pairs:
                await search_entries(library.runtime, library.user.id, pair.query)
        milliseconds = (library.cpu.seconds() - started) / ROUNDS / len(pairs) * 1000
    languages = dict.fromkeys(pair.language for pair in pairs)
    name = f"search: {engine}"
    return [
        *(
            Judged(half, f"{name}, {language} forms found", statistics.mean(_of(found, language)))
            for language in languages
        ),
        Judged(half, f"{name}, exactness traps kept", statistics.mean(kept)),
        Judged(half, f"{name}, ms a query", milliseconds),
        Judged(half, f"{name}, µs to index an entry whose words are known", indexing),
        Judged(half, f"{name}, index bytes an entry", size),
    ]


def _texts(pairs: Iterable[WordPair], traps: Iterable[ExactnessTrap]) -> Iterable[LabelledEntry]:
    for number, pair in enumerate(pairs):
        yield _entry(f"pair {number}", pair.language, pair.text, number)
    for number, trap in enumerate(traps):
        # The unwanted one is the newer one, so that the order of the list does not help.
        yield _entry(f"wanted {number}", trap.language, trap.wanted, 2 * number)
        yield _entry(f"unwanted {number}", trap.language, trap.unwanted, 2 * number + 1)


def _entry(id_: str, language: str, text: str, minute: int) -> LabelledEntry:
    # Each language has feeds of its own, as real feeds do.
    return LabelledEntry(id_, id_, language, f"Words {language}", BEGIN + minute * MINUTE, "¶", f"<p>{text}.</p>")


async def _finds(library: Library, query: str, label: str) -> bool:
    found = await search_entries(library.runtime, library.user.id, query, limit=MOST)
    return library.ids[label] in {row.id for row in found.rows}


async def _keeps(library: Library, trap: ExactnessTrap, number: int) -> bool:
    order = "relevance" if trap.kind == "first" else "newest"
    found = await search_entries(library.runtime, library.user.id, trap.query, order=order, limit=MOST)
    ids = [row.id for row in found.rows]
    wanted, unwanted = library.ids[f"wanted {number}"], library.ids[f"unwanted {number}"]
    if wanted not in ids:
        return False
    return unwanted not in ids or (trap.kind == "first" and ids.index(wanted) < ids.index(unwanted))


def _of(found: Iterable[tuple[WordPair, bool]], language: str) -> Iterable[bool]:
    return [is_found for pair, is_found in found if pair.language == language]
