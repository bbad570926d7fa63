"""Reader apps at size: one user, 1,000 feeds, 300,000 entries, every second one unread, on both engines.

Calls go through the whole application in process. CPU is that of this process and, with PostgreSQL, of the
server process that answers. What an id costs is compared with what a row of the page's own list costs there.

    python -m bench compat
    python -m bench.compat [sqlite] [postgresql]
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
from sqlalchemy import text

from bench.reading import server_cpu
from bench.table import print_table, record, take_recorded
from reedbed.domain.users import Caller
from reedbed.events.bus import MemoryBus
from reedbed.events.limits import MemoryHostThrottle, MemoryLimiter
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.roles.app import create_app
from reedbed.roles.build import system_clock
from reedbed.services.auth import create_app_password, open_session
from reedbed.services.runtime import Runtime
from reedbed.store import users
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database, counting
from reedbed.store.engine.statements import Command
from reedbed.store.migrations import migrate
from tests import large_library, servers

DESCRIPTION = "Google Reader and Fever calls over 300,000 entries"

SIZE = large_library.LibrarySize(users=1, feeds=1_000, entries=300_000, followed=1_000)
BASE = "http://127.0.0.1:8080"
API = "/reader/api/0"
READ = "user/-/state/com.google/read"
READING_LIST = "user/-/state/com.google/reading-list"
PROMISED_MS_PER_ITEM = 0.3
BEST_OF, CALLS = 3, 5


@dataclass
class Speaker:
    client: httpx.AsyncClient
    headers: dict[str, str]
    page_headers: dict[str, str]
    engine: str
    server_cpu: Callable[[], float]

    async def get(self, path: str, **params: str | int) -> httpx.Response:
        answer = await self.client.get(path, params=params, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer


async def main(*, engines: tuple[str, ...] = ("sqlite", "postgresql")) -> None:
    if "sqlite" in engines:
        with tempfile.TemporaryDirectory() as directory:
            await _on(f"sqlite:///{Path(directory) / 'bench.db'}")
    if "postgresql" in engines:
        with servers.postgres_server() as server:
            await _on(server.create())


async def _on(url: str) -> None:
    await migrate(url)
    # One connection, so that the server process to be watched is known.
    db = await open_database(url, pool_size=1)
    fetcher = Fetcher(Guard([]), timeout=5)
    try:
        await large_library.fill(db, SIZE)
        await large_library.make_unread(db, 1, every=2)
        await _complete(db)
        await large_library.gather_statistics(db)
        await _measure(db, fetcher)
    finally:
        await fetcher.close()
        await db.close()


async def _complete(db: Database) -> None:
    """What lists do not need, but apps do: bodies, the state of feeds, and a name to log in with."""
    async with db.write() as tx:
        body = "<p>Some words of an article.</p>" * 100
        newest = "FROM entries WHERE id > 290000"
        for sql in (
            f"INSERT INTO entry_bodies (entry_id, content) SELECT id, '{body}' {newest}",
            "INSERT INTO feed_fetch_state (feed_id) SELECT id FROM feeds",
            "UPDATE users SET email = 'reader@example.org' WHERE id = 1",
        ):
            await tx.run(Command(text(sql)))


async def _measure(db: Database, fetcher: Fetcher) -> None:
    runtime = Runtime(
        db=db,
        bus=MemoryBus(),
        fetcher=fetcher,
        host_throttle=MemoryHostThrottle(),
        limiter=MemoryLimiter(),
        clock=system_clock,
        secret=b"s" * 32,
        name="bench",
    )
    transport = httpx.ASGITransport(create_app(runtime))
    async with httpx.AsyncClient(transport=transport, base_url=BASE, timeout=120) as client:
        app = await _speaker(runtime, client, await server_cpu(db))
        per_row = await _page(app)
        await _streams(app, per_row)
        await _lists(app)


async def _speaker(runtime: Runtime, client: httpx.AsyncClient, server_cpu: Callable[[], float]) -> Speaker:
    async with runtime.db.read() as tx:
        user = await users.get(tx, 1)
    assert user is not None
    made = await create_app_password(runtime, Caller(user), "Bench")
    answer = await client.post("/accounts/ClientLogin", data={"Email": user.email, "Passwd": made.secret})
    token = answer.text.rpartition("Auth=")[2]
    session = await open_session(runtime, user)
    return Speaker(
        client,
        {"Authorization": f"GoogleLogin auth={token}"},
        {"Authorization": f"Bearer {session.token}"},
        runtime.db.engine,
        server_cpu,
    )


async def _page(app: Speaker) -> float:
    """Milliseconds of CPU for a row of the page's own list."""

    async def ask() -> int:
        answer = await app.client.get(
            "/api/v1/entries", params={"view": "unread", "limit": 200}, headers=app.page_headers
        )
        return len(answer.json()["items"])

    return await _per_row(app, ask)


async def _streams(app: Speaker, per_row: float) -> None:
    now = int(time.time())
    for name, params in (
        ("unread ids", {"s": READING_LIST, "xt": READ}),
        ("all ids", {"s": READING_LIST}),
        ("read ids", {"s": READ}),
        ("ids of a folder's feeds", {"s": READING_LIST, "xt": "feed/1"}),
    ):

        async def ids(params: dict[str, str] = params) -> int:
            answer = await app.get(f"{API}/stream/items/ids", n=10_000, **params)
            return len(answer.json()["itemRefs"])

        cost = await _per_row(app, ids)
        record(
            f"{app.engine}: {name}, 10,000",
            cost * 1_000,
            "µs a row",
            compared_to="a row of the page",
            other=per_row * 1_000,
        )

    async def contents() -> int:
        return len((await app.get(f"{API}/stream/contents", n=1_000)).json()["items"])

    cost = await _per_row(app, contents)
    record(f"{app.engine}: contents, 1,000", cost, "ms an item", compared_to="promised", other=PROMISED_MS_PER_ITEM)

    async def nothing_new() -> int:
        await app.get(f"{API}/stream/items/ids", s=READING_LIST, n=10_000, ot=now)
        return 1

    cost = await _per_row(app, nothing_new)
    record(f"{app.engine}: nothing new since (ot)", cost, "ms", compared_to="10,000 unread ids", other=per_row * 10_000)


async def _lists(app: Speaker) -> None:
    for name in ("subscription/list", "unread-count", "tag/list"):

        async def ask(name: str = name) -> int:
            await app.get(f"{API}/{name}")
            return 1

        cost = await _per_row(app, ask)
        record(f"{app.engine}: {name}, 1,000 feeds", cost, "ms", compared_to="allowed", other=50.0)


async def _per_row(app: Speaker, ask: Callable[[], Awaitable[int]]) -> float:
    """Milliseconds of CPU for each row of the answer, the best of a few; statements stay few.

    PostgreSQL's share is read in hundredths of a second, so each of the few is a row of calls.
    """
    with counting() as statements:
        rows = await ask()
    assert statements.value <= 8, f"{statements.value} statements"
    best = float("inf")
    for _ in range(BEST_OF):
        started, at_server = time.process_time(), app.server_cpu()
        for _ in range(CALLS):
            await ask()
        best = min(best, time.process_time() - started + app.server_cpu() - at_server)
    return best / CALLS / rows * 1_000


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=["sqlite", "postgresql"])
    asyncio.run(main(engines=tuple(parser.parse_args().engines)))
    print_table(take_recorded())
