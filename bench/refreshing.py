"""How the unread page answers while `reedbed serve` refreshes many feeds: one reader, one process, SQLite.

By the clock, so it says little on a machine that does something else. BENCH_FEEDS sets the number of feeds.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from bench.crawl import FEEDS, addresses, site
from bench.table import record
from tests.processes import OWNER, reedbed
from tests.servers import free_port

DESCRIPTION = "The unread page while 1,000 feeds are fetched by the same process: p99 by the clock."

PROMISE_MS = 150
PAUSE_SECONDS = 0.05
MAX_SECONDS = 300
UNREAD = {"view": "unread", "limit": "50"}


async def main() -> None:
    with (
        site() as url,
        tempfile.TemporaryDirectory(prefix="reedbed-refreshing-") as directory,
        reedbed("serve", port=free_port(), cwd=Path(directory), api_rate_burst="1000000") as server,
    ):
        async with _reader(server.url) as reader:
            await _follow_all(reader, addresses(url))
            waits = await _waits(reader)
    _tell(waits)


@asynccontextmanager
async def _reader(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        login = {"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]}
        answer = (await client.post("/api/v1/auth/login", json=login)).raise_for_status()
        client.headers["Authorization"] = f"Bearer {answer.json()['token']}"
        client.cookies.clear()
        yield client


async def _follow_all(reader: httpx.AsyncClient, feeds: list[str]) -> None:
    outlines = "".join(f'<outline type="rss" xmlUrl="{feed}"/>' for feed in feeds)
    opml = f'<opml version="2.0"><body>{outlines}</body></opml>'
    answer = await reader.post("/api/v1/opml", content=opml, headers={"Content-Type": "text/xml"})
    answer.raise_for_status()


async def _waits(reader: httpx.AsyncClient) -> list[float]:
    """Milliseconds of each answer until every feed has been fetched."""
    waits: list[float] = []
    ends = time.monotonic() + MAX_SECONDS
    while time.monotonic() < ends:
        started = time.perf_counter()
        (await reader.get("/api/v1/entries", params=UNREAD)).raise_for_status()
        waits.append((time.perf_counter() - started) * 1000)
        if len(waits) % 40 == 0 and await _all_fetched(reader):
            return waits
        await asyncio.sleep(PAUSE_SECONDS)
    raise TimeoutError(f"{FEEDS} feeds were not fetched within {MAX_SECONDS} s")


async def _all_fetched(reader: httpx.AsyncClient) -> bool:
    params = {"limit": "200"}
    while True:
        answer = (await reader.get("/api/v1/subscriptions", params=params)).raise_for_status().json()
        if any(one["feed"]["fetch_state"]["last_checked_at"] is None for one in answer["items"]):
            return False
        if answer["next_cursor"] is None:
            return True
        params["cursor"] = answer["next_cursor"]


def _tell(waits: list[float]) -> None:
    cuts = statistics.quantiles(waits, n=100)
    print(f"{len(waits)} answers while {FEEDS} feeds were fetched")
    for name, value in (("p50", cuts[49]), ("p95", cuts[94]), ("p99", cuts[98])):
        record(f"unread page, {name}", value, "ms", compared_to="promise for p99", other=PROMISE_MS)
