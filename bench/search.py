"""Search over 300,000 entries of one reader, newest first: common, middling and rare words.

CPU is that of this process and, with PostgreSQL, of the server process that answers. The words are invented,
as frequent as words are: the n-th of them 1/n as often as the first. BENCH_ENTRIES sets another number.
"""

import os
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import accumulate
from pathlib import Path

from sqlalchemy import insert, text

from bench.table import record
from reedbed.domain.entries import ViewQuery
from reedbed.domain.search import parse_search
from reedbed.domain.search_words import SearchWords, search_words
from reedbed.services.runtime import Runtime
from reedbed.services.search import SearchOrder, search_entries
from reedbed.store import entries, search
from reedbed.store.database import Database, Tx
from reedbed.store.entry_writes import EntryRow, EntryText, insert_new
from reedbed.store.migrations import migrate
from reedbed.store.search import Narrow
from reedbed.store.statements import Statement
from reedbed.store.tables import feeds, subscriptions
from reedbed.store.unread import NewEntry, fan_out
from tests import servers
from tests.crawling import crawl_on

DESCRIPTION = "Search over 300,000 entries, newest first, on both engines."

ENTRIES = int(os.environ.get("BENCH_ENTRIES", "300000"))
FEEDS = 1_000
AT_ONCE = 240
WORDS = 400
CALLS = 10
NOW = 1_790_000_000_000
THREE_YEARS = 3 * 365 * 86_400_000
PROMISED = {"sqlite": 20.0, "postgresql": 100.0}
INDEXING = {"sqlite": ("promised", 0.2), "postgresql": ("GIN without fastupdate", 2.9)}

_FEED = Statement(insert(feeds), columns=["id", "url", "title", "created_at"])
_FOLLOW = Statement(insert(subscriptions), columns=["user_id", "feed_id", "subscribed_at"])


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        await _bench("sqlite", f"sqlite:///{directory}/reedbed.db")
    try:
        with servers.postgres_server() as server:
            await _bench("postgresql", server.create())
    except servers.Missing as missing:
        print(missing)


async def _bench(engine: str, url: str) -> None:
    await migrate(url)
    async with crawl_on(url) as crawl:
        user_id = await crawl.person()
        cpu = Cpu(await server_process(crawl.runtime.db))
        cost = await fill(crawl.runtime.db, user_id, cpu)
        other, known = INDEXING[engine]
        record(f"{engine}: index", cost * 1000, "ms/entry", compared_to=other, other=known)
        size = await _size(crawl.runtime.db)
        record(f"{engine}: index size", size / ENTRIES, "B/entry", compared_to="its text", other=WORDS * 6.5)
        for name, asked in questions().items():
            used = await _used(cpu, lambda asked=asked: _find(crawl.runtime.db, user_id, asked))
            record(f"{engine}: {name}", used, "ms", compared_to="promised", other=PROMISED[engine])
        for order in ("newest", "relevance"):
            used = await _used(cpu, lambda order=order: _answer(crawl.runtime, user_id, order))
            record(
                f"{engine}: whole answer, {order}", used, "ms", compared_to="promised", other=PROMISED[engine]
            )


def questions() -> dict[str, str]:
    first, second, third = VOCABULARY[0], VOCABULARY[1], VOCABULARY[20]
    return {
        "commonest word": first,
        "word of a tenth": VOCABULARY[400],
        "word of a hundredth": VOCABULARY[4_000],
        "rare word": VOCABULARY[-1],
        "two common words": f"{first} {second}",
        "common without common": f"{first} -{third}",
        "phrase": f'"{first} {second}"',
        "prefix": f"{first[:3]}*",
        "common and unread": f"{first} is:unread",
        "common in one feed": f"{first} feed:/{FEEDS}.xml",
        "tenth in one feed": f"{VOCABULARY[400]} feed:/{FEEDS}.xml",
    }


async def _find(db: Database, user_id: int, asked: str) -> None:
    query = parse_search(asked, NOW)
    async with db.read() as tx:
        narrowed = await search.narrow(tx, user_id, query, ViewQuery())
        assert isinstance(narrowed, Narrow)
        found = await search.find(tx, user_id, query, narrowed)
        assert found.ids
        await entries.rows_by_ids(tx, user_id, list(found.ids))


async def _answer(runtime: Runtime, user_id: int, order: SearchOrder) -> None:
    assert (await search_entries(runtime, user_id, VOCABULARY[0], order=order)).rows


# ---- the library -----------------------------------------------------------------------------------


def _invented(count: int) -> list[str]:
    chance = random.Random(1)
    syllables = [
        first + vowel for first in "bdfgklmnprstvz" for vowel in ("a", "e", "i", "o", "u", "an", "er")
    ]
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(chance.choices(syllables, k=chance.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(words)


VOCABULARY = _invented(60_000)
_FREQUENT = list(accumulate(1 / (rank + 3) for rank in range(len(VOCABULARY))))


async def fill(db: Database, user_id: int, cpu: "Cpu") -> float:
    """Write all entries; CPU seconds of indexing one."""
    chance = random.Random(2)
    async with db.write() as tx:
        for number in range(1, FEEDS + 1):
            url = f"https://example.org/{number}.xml"
            await tx.run(_FEED, {"id": number, "url": url, "title": f"Feed {number}", "created_at": 0})
            await tx.run(_FOLLOW, {"user_id": user_id, "feed_id": number, "subscribed_at": 0})
    used = 0.0
    for first in range(0, ENTRIES, AT_ONCE):
        rows = [_entry(chance, number) for number in range(first, min(first + AT_ONCE, ENTRIES))]
        async with db.write() as tx:
            used += await _write(tx, rows, cpu)
    async with db.write() as tx:
        while await search.merge_some(tx):
            pass
        if tx.engine == "postgresql":
            await tx.run(Statement(text("ANALYZE")))
    return used / ENTRIES


async def _write(tx: Tx, rows: list[EntryRow], cpu: "Cpu") -> float:
    stored = await insert_new(tx, rows)
    started = cpu.seconds()
    await search.index(tx, [(id, row.text.search) for id, row in stored])
    used = cpu.seconds() - started
    for id, row in stored[:8]:
        await fan_out(tx, row.feed_id, [NewEntry(id, row.sort_at)])
    return used


def _entry(chance: random.Random, number: int) -> EntryRow:
    at = NOW - int(chance.random() * THREE_YEARS)
    title, body = " ".join(some_words(chance, 8)), " ".join(some_words(chance, WORDS))
    words: SearchWords = search_words(title, body, "Jane Doe")
    return EntryRow(
        feed_id=number * 7 % FEEDS + 1,
        guid=str(number),
        url=None,
        normalized_url=None,
        change_hash=str(number),
        published_at=at,
        fetched_at=at,
        sort_at=at,
        text=EntryText(title, f"<p>{body}</p>", summary=body[:300], search=words),
    )


def some_words(chance: random.Random, count: int) -> list[str]:
    return chance.choices(VOCABULARY, cum_weights=_FREQUENT, k=count)


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
        return await tx.value(Statement(text("SELECT pg_backend_pid()")))


async def _used(cpu: Cpu, work: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds of CPU for one call, the best of three rounds."""
    rounds = [await _round(cpu, work) for _ in range(3)]
    return min(rounds) / CALLS * 1000


async def _round(cpu: Cpu, work: Callable[[], Awaitable[None]]) -> float:
    started = cpu.seconds()
    for _ in range(CALLS):
        await work()
    return cpu.seconds() - started


async def _size(db: Database) -> int:
    sql = (
        "SELECT sum(length(block)) FROM search_words_data"
        if db.engine == "sqlite"
        else "SELECT pg_total_relation_size('search_entries')"
    )
    async with db.read() as tx:
        return await tx.value(Statement(text(sql)))
