"""One whole `reedbed serve` on messy markup: memory, start, first fetch from OPML to quiet, and what people ask for.

CPU is that of the server with its children, PSS as the kernel counts it. The peer `reader` fetches the same feeds
without its index. Parts are measured one by one on the same documents; the rest of the whole first fetch is HTTP,
comparing with stored entries, scheduling, and moving data between threads. BENCH_FEEDS sets the number of feeds.
"""

import asyncio
import multiprocessing
import os
import sqlite3
import tempfile
import time
import urllib.request
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

from bench.crawl import addresses, crawl_with_reader, site
from bench.process_cpu import cpu_seconds, pss_mb
from bench.table import record
from reedbed.domain.feeds import ParsedEntry, ParsedFeed
from reedbed.domain.live import ChangeEvent
from reedbed.domain.refresh.outcomes import Fetched
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.search.forms import KnownWords
from reedbed.domain.search.indexing import search_words
from reedbed.domain.stories.index import Headline, StoryIndex
from reedbed.domain.times import DAY
from reedbed.ingest.images import make_icon
from reedbed.ingest.parse import parse_feed
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import digest_content
from reedbed.services.auth import identify
from reedbed.services.images import fetch_missing_icons
from reedbed.services.live import follow
from reedbed.services.refresh.check import claim, start_check
from reedbed.services.refresh.diff import body_hash, read_document
from reedbed.services.refresh.write import MAX_ANNOUNCED, write_check_results
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import TextInLanguage, unknown_forms
from reedbed.store.migrations import migrate
from reedbed.store.refresh import CheckResult
from reedbed.worker.scheduler import ICONS_AT_A_TIME
from tests.clients import session_of
from tests.harness import open_harness
from tests.processes import OWNER, Reedbed, reedbed
from tests.servers import free_port

DESCRIPTION = "A whole serve process on messy markup: memory, start, first fetch beside reader, page, lists, parts"

FEEDS = int(os.environ.get("BENCH_FEEDS", "300"))
ROUNDS, REQUESTS = 3, 30
SETTLED_SECONDS = 4
UNREAD_IDS = "/reader/api/0/stream/items/ids?s=user/-/state/com.google/reading-list&n=1000"
XT = "&xt=user/-/state/com.google/read&output=json"
MANY: dict[str, Any] = dict.fromkeys(("api_rate_burst", "api_rate_per_second", "search_rate_burst"), "1000000")


def main() -> None:
    with site(FEEDS) as url, tempfile.TemporaryDirectory(prefix="reedbed-serve-") as directory:
        place = Path(directory)
        with _server(place) as first:
            first.stop()
        with _server(place) as server:
            _measure_start(server)
            whole = _measure_fetch(server, url, place / "data" / "reedbed.db")
            _measure_answers(server)
        _measure_parts({address: _get(address) for address in addresses(url)}, place / "parts.db", whole)


@contextmanager
def _server(place: Path) -> Iterator[Reedbed]:
    with reedbed("serve", port=free_port(), cwd=place, host_concurrency="10", **MANY) as server:
        yield server


def _measure_start(server: Reedbed) -> None:
    pid = server.process.pid
    record("second start to the first answer", cpu_seconds(pid), "s CPU", compared_to="goal", other=0.8)
    time.sleep(SETTLED_SECONDS)
    record("memory, idle", pss_mb(pid), "MB PSS", compared_to="goal", other=85)
    with _visitor(server) as visitor:
        for path in ("/unread", "/api/v1/entries", "/api/v1/subscriptions"):
            visitor.get(path).raise_for_status()
    record("memory after page and API", pss_mb(pid), "MB PSS", compared_to="goal", other=100)


def _measure_fetch(server: Reedbed, url: str, database: Path) -> float:
    """CPU of a whole first fetch, for one feed, while somebody has a page open that hears of new entries."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        theirs = pool.apply(crawl_with_reader, (url, ("first", "unchanged")))
    with _visitor(server) as visitor:
        pid, (one, *others) = server.process.pid, addresses(url)
        before = cpu_seconds(pid)
        _import(visitor, [one])  # loads what a first fetch needs, as the peer has done before its clock starts
        loaded = _until_quiet(server, database)
        with visitor.stream("GET", "/api/v1/events"):
            _import(visitor, others)
            ours = _until_quiet(server, database)
    _record_per_feed("first fetch of a feed", ours - before, theirs["first"])
    _record_per_feed("first fetch of a feed, once loaded", ours - loaded, theirs["first"])
    record("memory after the first fetch", pss_mb(server.process.pid), "MB PSS", compared_to="goal", other=150)
    before = cpu_seconds(server.process.pid)
    with closing(sqlite3.connect(database, timeout=30)) as db, db:
        db.execute("UPDATE feed_fetch_state SET urgent = 1, next_check_at = 1, last_checked_at = NULL")
    _record_per_feed("fetch of an unchanged feed", _until_quiet(server, database) - before, theirs["unchanged"])
    return (ours - loaded) / len(others)


def _import(visitor: httpx.Client, feeds: Sequence[str]) -> None:
    outlines = "".join(f'<outline type="rss" xmlUrl="{feed}"/>' for feed in feeds)
    opml = f'<opml version="2.0"><body>{outlines}</body></opml>'
    visitor.post("/api/v1/opml", content=opml, headers={"Content-Type": "text/xml"}).raise_for_status()


def _record_per_feed(name: str, ours: float, theirs: float) -> None:
    per_feed = 1_000 / FEEDS
    record(name, ours * per_feed, "ms CPU", compared_to="reader", other=theirs * per_feed, cpu_seconds=ours)


def _until_quiet(server: Reedbed, database: Path) -> float:
    """The CPU of the server when every feed has been checked and three seconds brought no more work."""
    unchecked = "SELECT count(*) - count(last_checked_at) FROM feed_fetch_state"
    quiet, last = 0, cpu_seconds(server.process.pid)
    while quiet < 3:
        time.sleep(1)
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
            done = db.execute(unchecked).fetchone()[0] == 0
        now = cpu_seconds(server.process.pid)
        quiet, last = quiet + 1 if done and now - last < 0.03 else 0, now
    return last


def _measure_answers(server: Reedbed) -> None:
    pid = server.process.pid
    with _visitor(server) as visitor:
        page = visitor.get("/unread").raise_for_status()
        record("unread page", len(page.content) / 1_000, "KB raw", compared_to="goal", other=60)
        rows = visitor.get("/api/v1/entries?limit=100").raise_for_status().json()["items"]
        turns = iter(range(10**9))

        def mark() -> httpx.Response:
            turn = next(turns)
            return visitor.patch(f"/api/v1/entries/{rows[turn // 2 % 100]['id']}", json={"read": turn % 2 == 0})

        for name, ask, goal in (
            ("unread page", lambda: visitor.get("/unread"), 8.0),
            ("list of 50", lambda: visitor.get("/api/v1/entries?limit=50"), 4.0),
            ("mark one", mark, 2.0),
            ("search for a common word", lambda: visitor.get("/api/v1/entries?q=river"), 6.0),
        ):
            record(name, _cost(pid, ask), "ms CPU", compared_to="goal", other=goal)
        wanted = {"name": "bench", "kind": "app_password"}
        password = visitor.post("/api/v1/users/me/tokens", json=wanted).raise_for_status().json()["secret"]
    record("1,000 unread ids, 16 at once", asyncio.run(_ids(server, password)), "ms CPU", compared_to="goal", other=80)


async def _ids(server: Reedbed, password: str) -> float:
    """CPU of sixteen requests at once, in milliseconds."""
    login = {"Email": OWNER["REEDBED_OWNER_EMAIL"], "Passwd": password}
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        answer = (await client.post("/accounts/ClientLogin", data=login)).raise_for_status()
        auth = dict(line.split("=", 1) for line in answer.text.split())["Auth"]
        headers = {"Authorization": f"GoogleLogin auth={auth}"}
        best = float("inf")
        for _ in range(ROUNDS + 1):
            before = cpu_seconds(server.process.pid)
            for _ in range(4):
                answers = await asyncio.gather(*(client.get(UNREAD_IDS + XT, headers=headers) for _ in range(16)))
                assert all(len(answer.raise_for_status().json()["itemRefs"]) == 1_000 for answer in answers)
            best = min(best, (cpu_seconds(server.process.pid) - before) / 4)
    return best * 1_000


def _cost(pid: int, ask: Callable[[], httpx.Response]) -> float:
    """Milliseconds of the server for one answer, the least of a few rounds."""
    for _ in range(8):
        ask().raise_for_status()
    rounds: list[float] = []
    for _ in range(ROUNDS):
        before = cpu_seconds(pid)
        for _ in range(REQUESTS):
            ask().raise_for_status()
        rounds.append((cpu_seconds(pid) - before) / REQUESTS)
    return min(rounds) * 1_000


# --- Parts of a first fetch


def _measure_parts(documents: Mapping[str, bytes], database: Path, whole: float) -> None:
    """Each part alone, over all feeds, as a share of the whole first fetch."""
    bodies = list(documents.values())
    for body in bodies[:4]:  # the first documents load modules and tables
        for entry in _parse(body).entries:
            digest_content(clean_html(entry.content or "", entry.url))
    spent: dict[str, float] = {}
    parsed = _timed(spent, "parse", lambda: [_parse(body) for body in bodies])
    entries = [entry for feed in parsed for entry in feed.entries]
    clean = _timed(spent, "clean", lambda: [clean_html(entry.content or "", entry.url) for entry in entries])
    digests = _timed(spent, "digest", lambda: [digest_content(html) for html in clean])
    texts = list(zip(entries, digests, strict=True))
    _timed(spent, "words", lambda: [search_words(entry.title or "", digest.text) for entry, digest in texts])
    index = StoryIndex()
    headlines = [_headline(number, entry, digest.preview) for number, (entry, digest) in enumerate(texts)]
    _timed(spent, "stories", lambda: [index.place(headline) for headline in headlines])
    asyncio.run(_measure_writing(spent, documents, database))
    for name, seconds in spent.items():
        _record_part(name, seconds / len(documents), whole)
    # The entries of this site are older than those that are grouped.
    _record_part("the rest", whole - (sum(spent.values()) - spent["stories"]) / len(documents), whole)


def _record_part(name: str, seconds: float, whole: float) -> None:
    record(f"part of a first fetch: {name}", seconds * 1e3, "ms CPU", compared_to="the whole", other=whole * 1e3)


async def _measure_writing(spent: dict[str, float], documents: Mapping[str, bytes], database: Path) -> None:
    """Word forms, writing, telling one open page, and icons, in this process."""
    url = f"sqlite:///{database}"
    await migrate(url)
    async with open_harness(url) as harness:
        runtime = harness.runtime
        user_id, token = await session_of(runtime, "reader@example.org", "user")
        for address in documents:
            await harness.follow(address, user_id=user_id)
        claimed = await claim(runtime, limit=len(documents), per_host=len(documents))
        results = [await _result(runtime, due, documents[due.url]) for due in claimed]
        batches = [results[start : start + MAX_ANNOUNCED] for start in range(0, len(results), MAX_ANNOUNCED)]
        for name in ("word forms", "again"):  # writing looks for them again, and finds their stems in a cache
            with _counted(spent, name):
                known = KnownWords()
                for batch in batches:
                    known.remember(unknown_forms(known, _texts(batch)))
        with _counted(spent, "write"):
            for batch in batches:
                await write_check_results(runtime, batch)
        spent["write"] -= spent.pop("again")
        events, caller = list(harness.bus.sent), await identify(runtime, token)
        assert caller is not None
        page = asyncio.create_task(_listen(follow(runtime, caller, None)))
        await asyncio.sleep(0.5)
        with _counted(spent, "live"):
            for event in events:
                await runtime.bus.publish(event)
            await asyncio.sleep(0.5)
        page.cancel()
        picture = await runtime.fetcher.fetch_page(urljoin(next(iter(documents)), "/icon.png"))
        assert isinstance(picture, Fetched), picture
        make_icon(picture.body)  # this and the fetch load what icons need
        with _counted(spent, "icons"):
            while await fetch_missing_icons(runtime, limit=ICONS_AT_A_TIME):
                pass


async def _result(runtime: Runtime, due: DueFeed, body: bytes) -> CheckResult:
    fetched = Fetched(200, due.url, body, None)
    result = await read_document(runtime, start_check(runtime, due, runtime.now()), fetched, body_hash(body))
    assert isinstance(result, CheckResult), result
    return result


def _texts(results: Sequence[CheckResult]) -> list[TextInLanguage]:
    return [(row.text.language, row.text.search) for result in results for row in result.news]


async def _listen(stream: AsyncGenerator[ChangeEvent | None]) -> None:
    async for _ in stream:
        pass


@contextmanager
def _counted(spent: dict[str, float], name: str) -> Iterator[None]:
    started = time.process_time()
    yield
    spent[name] = time.process_time() - started


def _timed(spent: dict[str, float], name: str, work: Callable[[], Any]) -> Any:
    with _counted(spent, name):
        return work()


def _parse(body: bytes) -> ParsedFeed:
    feed = parse_feed(body, content_type=None, url="http://127.0.0.1/feed")
    assert isinstance(feed, ParsedFeed), feed
    return feed


def _headline(number: int, entry: ParsedEntry, lead: str) -> Headline:
    return Headline(number + 1, number // 30 + 1, entry.title or "", DAY + number * 60_000, lead=lead, language="en")


def _get(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return answer.read()


# --- Processes


@contextmanager
def _visitor(server: Reedbed) -> Iterator[httpx.Client]:
    """Signed in for pages, by cookie, and for the API, by token."""
    with httpx.Client(base_url=server.url, timeout=120) as client:
        login = {"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]}
        token = client.post("/api/v1/auth/login", json=login).raise_for_status().json()["token"]
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


if __name__ == "__main__":
    main()
