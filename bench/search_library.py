"""A large library to search in, written in minutes: the words of its entries are as frequent as words are.

The n-th word of an invented vocabulary is written 1/n as often as the first. One entry in 25 has accents and
a Chinese sentence. Times are spread over three years in no order, which is harder on an index than what a
crawl brings. Nearly all entries are written in bulk, where PostgreSQL builds its index in one go; the last
ones come in as a crawl brings them, are measured, and lie in the index as they do before it is tidied.
"""

import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import asyncpg
from sqlalchemy import insert, text

from reedbed.domain.search.indexing import search_words
from reedbed.store import search
from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.statements import Command, Query
from reedbed.store.entries.write import NewEntryRow, NewEntryText, insert_new
from reedbed.store.tables import entries, entry_bodies

ENTRIES = int(os.environ.get("BENCH_ENTRIES", "300000"))
FEEDS = 1_000
FOLDERS = 10
FEW_FEEDS = 10
WORDS = 400
NOW = 1_790_000_000_000
_THREE_YEARS = 3 * 365 * 86_400_000
_BATCH_SIZE = 240
_IN_BULK = max(ENTRIES - 10 * _BATCH_SIZE, 0)
_WRITERS = 2
_ONE_IN = 25
"""So many entries have accents and a Chinese sentence."""


@dataclass(frozen=True, slots=True)
class Readers:
    reader: int
    """Follows all feeds, in folders, and has read nearly all; a hundredth is tagged."""
    hoarder: int
    """Follows all feeds and has read nothing."""
    newcomer: int
    """Follows ten feeds of the thousand, and has read nothing."""


def _invented(count: int) -> list[str]:
    chance = random.Random(1)
    syllables = [first + vowel for first in "bdfgklmnprstvz" for vowel in ("a", "e", "i", "o", "u", "an", "er")]
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(chance.choices(syllables, k=chance.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(words)


def _drawn(words: Sequence[str], bits: int) -> list[str]:
    """Each word as often as its share, so that a random place holds a random word."""
    shares = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    places = [round(share / shares[-1] * 2**bits) for share in shares]
    spans = zip(words, [0, *places], places, strict=False)
    return [word for word, start, end in spans for _ in range(start, end)]


VOCABULARY = _invented(60_000)
SIGNS = [chr(0x4E00 + number * 7 % 3_000) for number in range(3_000)]
_DRAWN = _drawn(VOCABULARY, 20)
_TABLES = [_DRAWN[first::16] for first in range(16)]
"""Of 65,536 places each, which two random bytes choose from; a rare word is in one or two of them only."""
_SIGN_PLACES = _drawn(SIGNS, 16)


def some_words(chance: random.Random, count: int) -> list[str]:
    return _some(chance, count, chance.choice(_TABLES))


def _some(chance: random.Random, count: int, places: list[str]) -> list[str]:
    return list(map(places.__getitem__, memoryview(chance.randbytes(2 * count)).cast("H")))


async def fill(db: Database, url: str, readers: Readers) -> float:
    """Write all entries; CPU seconds of indexing one as it comes in."""
    async with db.write() as tx:
        await _feeds(tx, readers)
    await (_in_sqlite(db) if db.engine == "sqlite" else _in_postgresql(db, url))
    # Several connections wrote; from here on it is the one that is asked now.
    cpu = Cpu(await server_process(db))
    chance, used = random.Random(2), 0.0
    for first in range(_IN_BULK, ENTRIES, _BATCH_SIZE):
        rows = _entries(chance, range(first, min(first + _BATCH_SIZE, ENTRIES)))
        used += await _as_crawled(db, rows, cpu)
    async with db.write() as tx:
        await _states(tx, readers)
    if db.engine == "postgresql":
        await _patiently(url, "ANALYZE")
    return used / (ENTRIES - _IN_BULK)


async def _as_crawled(db: Database, rows: list[NewEntryRow], cpu: "Cpu") -> float:
    async with db.write() as tx:
        stored = await insert_new(tx, rows)
        started = cpu.seconds()
        await search.index(tx, [(id, row.text.search) for id, row in stored])
        return cpu.seconds() - started


async def _in_sqlite(db: Database) -> None:
    """With memory enough that FTS5 writes a segment for each chunk, as large as merging would make it."""
    setting = "INSERT INTO search_words (search_words, rank) VALUES ('hashsize', {})"
    async with db.write() as tx:
        await _run(tx, "PRAGMA cache_size = -400000")
        await _run(tx, setting.format(10**9))
    await _in_bulk(db, chunk=40_000)
    async with db.write() as tx:
        await _run(tx, setting.format(8_388_608))
        await _run(tx, "PRAGMA cache_size = -8000")


async def _in_postgresql(db: Database, url: str) -> None:
    known = "SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_search_entries_words'"
    async with db.write() as tx:
        definition = await tx.get(Query(text(known), into=str))
        await _run(tx, "DROP INDEX ix_search_entries_words")
    await _in_bulk(db, chunk=2_000)
    await _patiently(
        url,
        "SET maintenance_work_mem = '1GB'",
        definition,
        "SELECT setval(pg_get_serial_sequence('entries', 'id'), max(id)) FROM entries",
    )


async def _patiently(url: str, *statements: str) -> None:
    """On a connection of their own, because they take longer than a statement may."""
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def _in_bulk(db: Database, *, chunk: int) -> None:
    """Some invent the next rows while others are written."""
    firsts = iter(range(0, _IN_BULK, chunk))

    async def write_some() -> None:
        for first in firsts:
            numbers = range(first, min(first + chunk, _IN_BULK))
            rows = await asyncio.to_thread(_entries, random.Random(first), numbers)
            async with db.write() as tx:
                await _write(tx, first + 1, rows)

    await asyncio.gather(*(write_some() for _ in range(_WRITERS)))


_ENTRY = Command(
    insert(entries), columns=["id", "feed_id", "guid", "change_hash", "title", "summary", "fetched_at", "sort_at"]
)
_BODY = Command(insert(entry_bodies), columns=["entry_id", "content"])


async def _write(tx: Tx, first: int, rows: Sequence[NewEntryRow]) -> None:
    numbered = list(enumerate(rows, first))
    await tx.run_many(
        _ENTRY,
        [
            {
                "id": id,
                "feed_id": row.feed_id,
                "guid": row.guid,
                "change_hash": row.change_hash,
                "title": row.text.title,
                "summary": row.text.summary,
                "fetched_at": row.fetched_at,
                "sort_at": row.sort_at,
            }
            for id, row in numbered
        ],
    )
    await tx.run_many(_BODY, [{"entry_id": id, "content": row.text.content} for id, row in numbered])
    await search.index(tx, [(id, row.text.search) for id, row in numbered])


def sample_entries(count: int) -> Iterator[NewEntryRow]:
    chance = random.Random(3)
    return (_entry(chance, number) for number in range(count))


def _entries(chance: random.Random, numbers: range) -> list[NewEntryRow]:
    return [_entry(chance, number) for number in numbers]


def _entry(chance: random.Random, number: int) -> NewEntryRow:
    at = NOW - int(chance.random() * _THREE_YEARS)
    title, body = " ".join(some_words(chance, 8)), " ".join(some_words(chance, WORDS))
    if number % _ONE_IN == 0:
        body = f"{body.replace('e', 'é')} {''.join(_some(chance, 40, _SIGN_PLACES))}"
    return NewEntryRow(
        feed_id=number * 7 % FEEDS + 1,
        guid=str(number),
        url=None,
        normalized_url=None,
        change_hash=str(number),
        published_at=at,
        fetched_at=at,
        sort_at=at,
        text=NewEntryText(
            title, _markup(body), summary=body[:300], language="en", search=search_words(title, body, "Jane Doe")
        ),
    )


def _markup(body: str) -> str:
    """As feeds write it: paragraphs, links, pictures with captions, lists, emphasis and escaped signs."""
    words = body.split(" ")
    parts = [words[first : first + 50] for first in range(0, len(words), 50)]
    shapes = (
        '<p>{} <a href="https://example.org/a?b=1&amp;c=2" rel="noopener">{}</a>, {} &amp; {}</p>',
        '<figure><img src="https://example.org/p.jpg" alt="{}" width="640" height="480"><figcaption>{} {}</figcaption>'
        "</figure><p>{}</p>",
        "<h2>{}</h2><ul><li>{}</li><li><em>{}</em></li></ul><blockquote><p>{}</p></blockquote>",
    )
    return "".join(
        shapes[number % 3].format(*(" ".join(part[place::4]) for place in range(4)))
        for number, part in enumerate(parts)
    )


# ---- who reads it ----------------------------------------------------------------------------------


async def _feeds(tx: Tx, readers: Readers) -> None:
    for number in range(1, FEEDS + 1):
        await _run(
            tx,
            "INSERT INTO feeds (id, url, title, created_at)"
            f" VALUES ({number}, 'https://example.org/{number}.xml', 'Feed {number}', 0)",
        )
    for number in range(1, FOLDERS + 1):
        await _run(
            tx,
            "INSERT INTO folders (id, user_id, name, position, created_at)"
            f" VALUES ({number}, {readers.reader}, 'Folder{number}', {number}, 0)",
        )
    for user, folder, last in (
        (readers.reader, f"id % {FOLDERS} + 1", FEEDS),
        (readers.hoarder, "NULL", FEEDS),
        (readers.newcomer, "NULL", FEW_FEEDS),
    ):
        await _run(
            tx,
            "INSERT INTO subscriptions (user_id, feed_id, folder_id, subscribed_at)"
            f" SELECT {user}, id, {folder}, 0 FROM feeds WHERE id <= {last}",
        )


async def _states(tx: Tx, readers: Readers) -> None:
    await _run(tx, f"INSERT INTO tags (id, user_id, name, created_at) VALUES (1, {readers.reader}, 'kept', 0)")
    await _run(
        tx,
        "INSERT INTO entry_tags (user_id, tag_id, sort_at, entry_id)"
        f" SELECT {readers.reader}, 1, sort_at, id FROM entries WHERE id % 100 = 0",
    )
    for user, every in ((readers.reader, 30), (readers.hoarder, 1), (readers.newcomer, 1)):
        await _run(
            tx,
            "INSERT INTO unread (user_id, sort_at, entry_id, feed_id)"
            " SELECT user_id, sort_at, entries.id, feed_id FROM subscriptions JOIN entries USING (feed_id)"
            f" WHERE user_id = {user} AND entries.id % {every} = 0 ORDER BY sort_at, entries.id",
        )


async def _run(tx: Tx, sql: str) -> None:
    await tx.run(Command(text(sql.replace(":", "\\:"))))


# ---- measuring -------------------------------------------------------------------------------------


class Cpu:
    """Of this process, and of the PostgreSQL process that works for it."""

    def __init__(self, server: int | None) -> None:
        # In nanoseconds; the ticks of `stat` are ten milliseconds each.
        self._server = Path(f"/proc/{server}/schedstat") if server else None

    def seconds(self) -> float:
        own = time.process_time()
        if self._server is None:
            return own
        return own + int(self._server.read_text().split()[0]) / 1e9


async def server_process(db: Database) -> int | None:
    if db.engine == "sqlite":
        return None
    async with db.read() as tx:
        return await tx.get(Query(text("SELECT pg_backend_pid()"), into=int))
