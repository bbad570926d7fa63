"""Search over 300,000 entries, newest first: common, middling and rare words, alone and in narrow lists.

CPU is that of this process and, with PostgreSQL, of the server process that answers. A figure ends with how
many entries the page has; `+` says that there is a next one. BENCH_ENTRIES sets another number of entries; the
goals of the answers by API are for 30,000.
"""

import asyncio
import importlib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from bench.process_cpu import cost_of
from bench.search_library import (
    ENTRIES,
    FEEDS,
    NOW,
    SIGNS,
    VOCABULARY,
    WORDS,
    Cpu,
    Readers,
    fill,
    sample_entries,
    server_process,
)
from bench.table import cpu_per_call, record
from reedbed.domain.entries import ViewQuery
from reedbed.domain.search.forms import WordForm
from reedbed.domain.search.query import SavedSearch, parse_search
from reedbed.ingest.stems import stems
from reedbed.ingest.text import clean_text
from reedbed.services.auth import open_session
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import SearchOrder, search_entries
from reedbed.services.search.saved import unread_matches
from reedbed.store import search, users
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Query
from reedbed.store.entries import read as entries
from reedbed.store.migrations import migrate
from reedbed.store.search import SearchFilter, forms
from tests import servers
from tests.harness import open_harness
from tests.processes import reedbed

DESCRIPTION = "Search over 300,000 entries, newest first, on both engines."

CALLS = 5
_LIMITS = ("api_rate_burst", "api_rate_per_second", "search_rate_burst", "search_rate_per_second")
MANY: dict[str, Any] = dict.fromkeys(_LIMITS, "1000000")
PROMISED = {"sqlite": 20.0, "postgresql": 100.0}
INDEXING = {"sqlite": ("promised", 0.2), "postgresql": ("GIN without fastupdate", 2.9)}

StreamRequest = Callable[[], Awaitable[str]]
"""Does it, and says what it found."""


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
    token = ""
    async with open_harness(url) as harness:
        readers = Readers(await harness.person(), await harness.person(), await harness.person())
        started = time.monotonic()
        cost = await fill(harness.runtime.db, url, readers)
        print(f"{engine}: {ENTRIES:,} entries written in {time.monotonic() - started:.0f} s", flush=True)
        other, known = INDEXING[engine]
        record(f"{engine}: index", cost * 1000, "ms/entry", compared_to=other, other=known)
        size = await index_size(harness.runtime.db)
        record(f"{engine}: index size", size / ENTRIES, "B/entry", compared_to="its text", other=WORDS * 6.5)
        async with harness.runtime.db.write() as tx:
            await forms.add(tx, (WordForm("en", stem, word) for word in VOCABULARY for stem in stems("en", word)))
        await measure(harness.runtime, readers, Cpu(await server_process(harness.runtime.db)))
        async with harness.runtime.db.read() as tx:
            user = await users.get(tx, readers.reader)
        assert user is not None
        token = (await open_session(harness.runtime, user, user_agent="bench", ip=None)).token
    await asyncio.to_thread(_measure_api, engine, url, token)


def _measure_api(engine: str, url: str, token: str) -> None:
    """The whole answer of a server process, beside that of the peer in this process."""
    theirs = _of_peer() if engine == "sqlite" else {}
    with (
        tempfile.TemporaryDirectory() as folder,
        reedbed("web", port=servers.free_port(), cwd=Path(folder), database_url=url, **MANY) as server,
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
    ):
        for name, (word, goal) in BY_API.items():
            path = f"/api/v1/entries?q={word}"
            cost = cost_of(server.process.pid, lambda path=path: client.get(path))
            record(f"{engine}: by API, {name}", cost.cpu * 1_000, "ms", compared_to="goal", other=goal)
            if name in theirs:
                record(f"{engine}: by API, {name}", cost.cpu * 1_000, "ms", compared_to="reader", other=theirs[name])


def _of_peer() -> dict[str, float]:
    """Milliseconds of CPU of `reader` for the first page of the same words in as many of the same entries."""
    try:
        sys.modules.setdefault("sgmllib", importlib.import_module("feedparser_sgmllib"))
        make_reader = importlib.import_module("reader").make_reader
    except ModuleNotFoundError:
        print("reader is not installed: no peer")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        reader = make_reader(f"{folder}/reader.db")
        reader.enable_search()
        reader.add_feed("https://example.org/feed", allow_invalid_url=True)
        for number, row in enumerate(sample_entries(min(ENTRIES, PEER_ENTRIES))):
            entry = {"feed_url": "https://example.org/feed", "id": str(number), "title": row.text.title}
            reader.add_entry({**entry, "content": [{"value": row.text.content, "type": "text/html"}]})
        reader.update_search()
        return {
            name: cpu_per_call(lambda word=word: list(islice(reader.search_entries(word), 50)), calls=3) * 1_000
            for name, (word, _) in BY_API.items()
        }


async def measure(runtime: Runtime, readers: Readers, cpu: Cpu) -> None:
    engine = runtime.db.engine
    for name, asked in _every_kind(Asking(runtime, readers)):
        used, found = await _used(cpu, asked)
        record(f"{engine}: {name}: {found}", used, "ms", compared_to="promised", other=PROMISED[engine])


# ---- what is asked ---------------------------------------------------------------------------------

COMMON, SECOND, OTHER = VOCABULARY[0], VOCABULARY[1], VOCABULARY[20]
TENTH, HUNDREDTH, RARE = VOCABULARY[400], VOCABULARY[4_000], VOCABULARY[-1]
ONE_FEED = f"feed:/{FEEDS}.xml"
READER = {
    "commonest word": COMMON,
    "word of a tenth": TENTH,
    "word of a hundredth": HUNDREDTH,
    "rare word": RARE,
    "word that is nowhere": "xylophone",
    "two common words": f"{COMMON} {SECOND}",
    "two words of a tenth": f"{TENTH} {VOCABULARY[401]}",
    "common and rare": f"{COMMON} {RARE}",
    "one or the other": f"{TENTH} OR {HUNDREDTH}",
    "common without common": f"{COMMON} -{OTHER}",
    "all without common": f"-{OTHER}",
    "phrase of common words": f'"{COMMON} {SECOND}"',
    "phrase that is nowhere": f'"{HUNDREDTH} {TENTH}"',
    "common in titles": f"title:{OTHER}",
    "author of all": "author:jane",
    "broad prefix": f"{COMMON[:3]}*",
    "narrow prefix": f"{TENTH[:4]}*",
    "broad prefix and rare": f"{COMMON[:3]}* {RARE}",
    "rare without broad prefix": f"{RARE} -{OTHER[:3]}*",
    "broad prefix in one feed": f"{OTHER[:3]}* {ONE_FEED}",
    "Chinese pair": "".join(SIGNS[:2]),
    "Chinese sign": SIGNS[0],
    "accents": f"{COMMON.replace('e', 'é')} {TENTH.replace('e', 'é')}",
    "common, of last year": f"{COMMON} before:400d",
    "common in one feed": f"{COMMON} {ONE_FEED}",
    "tenth in one feed": f"{TENTH} {ONE_FEED}",
    "rare in one feed": f"{RARE} {ONE_FEED}",
    "phrase in one feed": f'"{COMMON} {SECOND}" {ONE_FEED}',
    "common in a folder": f"{COMMON} folder:Folder3",
    "hundredth in a folder": f"{HUNDREDTH} folder:Folder3",
    "rare in a folder": f"{RARE} folder:Folder3",
    "common with a tag": f"{COMMON} tag:kept",
    "hundredth with a tag": f"{HUNDREDTH} tag:kept",
    "common and unread": f"{COMMON} is:unread",
    "hundredth and unread": f"{HUNDREDTH} is:unread",
}
HOARDER = {
    "common and unread": f"{COMMON} is:unread",
    "hundredth and unread": f"{HUNDREDTH} is:unread",
    "rare and unread": f"{RARE} is:unread",
    "nowhere and unread": "xylophone is:unread",
    "common and read": f"{COMMON} is:read",
}
NEWCOMER = {
    "commonest word": COMMON,
    "word of a tenth": TENTH,
    "word of a hundredth": HUNDREDTH,
    "rare word": RARE,
    "two common words": f"{COMMON} {SECOND}",
    "phrase of common words": f'"{COMMON} {SECOND}"',
    "common without common": f"{COMMON} -{OTHER}",
    "broad prefix": f"{OTHER[:3]}*",
    "tenth and unread": f"{TENTH} is:unread",
}
BY_API = {"rare": (RARE, 5.0), "1 %": (HUNDREDTH, 6.0), "20 %": (VOCABULARY[200], 6.0)}
"""The word, and how many milliseconds of CPU the answer may take at 30,000 entries."""
PEER_ENTRIES = 30_000
COUNTED = {"common": COMMON, "hundredth": HUNDREDTH, "rare": RARE, "phrase": f'"{COMMON} {SECOND}"'}


@dataclass(frozen=True, slots=True)
class Asking:
    runtime: Runtime
    readers: Readers

    def page(self, user_id: int, words: str) -> StreamRequest:
        async def asked() -> str:
            query = parse_search(words, NOW)
            async with self.runtime.db.read() as tx:
                narrowed = await search.narrow(tx, user_id, query, ViewQuery())
                assert isinstance(narrowed, SearchFilter)
                found = await search.find(tx, user_id, query, narrowed, read=clean_text)
                if found.ids:
                    await entries.rows_by_ids(tx, user_id, list(found.ids))
            return f"{len(found.ids)}{'+' if found.next else ''}"

        return asked

    def count(self, user_id: int, words: str) -> StreamRequest:
        async def asked() -> str:
            counted = await unread_matches(self.runtime, user_id, [SavedSearch(1, "It", words, 1, 1)])
            return f"{counted[1].count}{'+' if counted[1].more else ''}"

        return asked

    def answer(self, order: SearchOrder) -> StreamRequest:
        async def asked() -> str:
            found = await search_entries(self.runtime, self.readers.reader, COMMON, order=order)
            return f"{len(found.rows)}{'+' if found.next else ''}"

        return asked


def _every_kind(asking: Asking) -> Iterator[tuple[str, StreamRequest]]:
    who = asking.readers
    readers = (("", who.reader, READER), ("hoarder, ", who.hoarder, HOARDER))
    for said, user_id, questions in (*readers, ("newcomer, ", who.newcomer, NEWCOMER)):
        for name, words in questions.items():
            yield f"{said}{name}", asking.page(user_id, words)
        for name, words in COUNTED.items():
            yield f"{said}unread in a saved search, {name}", asking.count(user_id, words)
    for order in ("newest", "relevance"):
        yield f"whole answer, {order}", asking.answer(order)


# ---- measuring -------------------------------------------------------------------------------------


async def _used(cpu: Cpu, asked: StreamRequest) -> tuple[float, str]:
    """Milliseconds of CPU for one call, the best of three rounds, and what was found."""
    found = await asked()
    rounds = [await _round(cpu, asked) for _ in range(3)]
    return min(rounds) / CALLS * 1000, found


async def _round(cpu: Cpu, asked: StreamRequest) -> float:
    started = cpu.seconds()
    for _ in range(CALLS):
        await asked()
    return cpu.seconds() - started


async def index_size(db: Database) -> int:
    sql = (
        "SELECT sum(length(block)) FROM search_words_data"
        if db.engine == "sqlite"
        else "SELECT pg_total_relation_size('search_entries')"
    )
    async with db.read() as tx:
        return await tx.get(Query(text(sql), into=int))


if __name__ == "__main__":
    asyncio.run(main())
