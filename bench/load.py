"""Readers at work while feeds are crawled: two web and two worker processes on PostgreSQL and Redis, and
beside them one process on SQLite.

50 people ask 150 times a second in all for lists, counts, articles and searches and mark entries read, for
BENCH_SECONDS (60), while BENCH_FEEDS (2,000) feeds on loopback are checked, a tenth of them changed.

    BENCH_SECONDS=10 BENCH_FEEDS=200 python -m bench load
    BENCH_PEOPLE=1000 BENCH_RATE=300 python -m bench load
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bench.table import record
from reedbed.store.migrations import migrate
from tests import servers
from tests.clients import session_of
from tests.harness import RuntimeHarness, open_harness
from tests.processes import reedbed

DESCRIPTION = "150 requests a second by 50 people while 2,000 feeds are crawled, on a fleet and on one process"

SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
FEEDS = int(os.environ.get("BENCH_FEEDS", "2000"))
PEOPLE = int(os.environ.get("BENCH_PEOPLE", "50"))
RATE = float(os.environ.get("BENCH_RATE", "150"))
FEEDS_EACH = 40
FIRST_CRAWL_SECONDS = 600
WANTED_P99 = 250.0
"""Milliseconds, on two cores that the servers share with all who ask them."""


async def main() -> None:
    with servers.postgres_server() as postgres, servers.redis_server() as redis:
        fleet = {"database_url": postgres.create(), "redis_url": redis}
        _report("2 web + 2 worker, PostgreSQL", await _measured(fleet, ["web", "web", "worker", "worker"]))
    with tempfile.TemporaryDirectory() as directory:
        alone = {"database_url": f"sqlite:///{directory}/reedbed.db"}
        _report("serve, SQLite", await _measured(alone, ["serve"]))


@dataclass
class Answers:
    took: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    late: int = 0
    """Requests that could not be sent in time: the machine is too small for asker and asked."""
    checked: int = 0
    seconds: float = 0.0

    @property
    def errors(self) -> int:
        return sum(number for status, number in self.statuses.items() if not 200 <= status < 300)


async def _measured(settings: dict[str, str], roles: Sequence[str]) -> Answers:
    await migrate(settings["database_url"])
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(feed_site(FEEDS, 10))
        harness = await stack.enter_async_context(open_harness(settings["database_url"]))
        tokens = await _people(harness, site)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports: list[int] = []
        for role in roles:
            port = None if role == "worker" else servers.free_port()
            ports += [port] if port else []
            stack.enter_context(reedbed(role, port=port, cwd=folder, wait=True, fetch_concurrency="20", **settings))
        await _first_crawl(harness)
        return await _load(harness, site, ports, tokens)


def _report(name: str, answers: Answers) -> None:
    took = sorted(answers.took)
    p50, p99 = (took[int(len(took) * share)] * 1_000 for share in (0.5, 0.99))
    print(
        f"{name}: {len(took)} answers, {dict(answers.statuses)}, {answers.late} late, {answers.checked} feeds checked"
    )
    record(f"{name}: half", p50, "ms", compared_to="wanted p99", other=WANTED_P99)
    record(f"{name}: p99", p99, "ms", compared_to="wanted", other=WANTED_P99)
    record(f"{name}: answers", len(took) / answers.seconds, "/s", compared_to="asked for", other=RATE)
    record(f"{name}: errors", answers.errors, "", compared_to="promised", other=0)


@asynccontextmanager
async def feed_site(feeds: int, entries: int) -> AsyncIterator[str]:
    """The feeds, in a process of their own."""
    command = ("-m", "tests.feedload", "--feeds", str(feeds), "--entries", str(entries))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[1]
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().split()[-1].rstrip("/")
    finally:
        process.terminate()
        await process.wait()


async def _people(harness: RuntimeHarness, site: str) -> list[str]:
    tokens: list[str] = []
    for number in range(PEOPLE):
        user_id, token = await session_of(harness.runtime, f"reader{number}@example.org", "user")
        tokens.append(token)
        for place in range(number, FEEDS, max(1, FEEDS // FEEDS_EACH)):
            await harness.follow(f"{site}/f/{place}", user_id=user_id)
    someone = await harness.person()
    for place in range(FEEDS):
        await harness.follow(f"{site}/f/{place}", user_id=someone)
    return tokens


async def _first_crawl(harness: RuntimeHarness) -> None:
    async with asyncio.timeout(FIRST_CRAWL_SECONDS):
        unchecked = "SELECT count(*) FROM feed_fetch_state WHERE last_checked_at IS NULL"
        while (await harness.column(unchecked))[0]:  # noqa: ASYNC110  the workers tell nobody
            await asyncio.sleep(0.5)


async def _load(harness: RuntimeHarness, site: str, ports: Sequence[int], tokens: Sequence[str]) -> Answers:
    answers, started = Answers(), harness.runtime.now()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(30)) as session:
        async with session.get(f"{site}/advance", params={"share": "0.1"}):
            pass
        await harness.change("UPDATE feed_fetch_state SET next_check_at = :now", now=started)
        people = [
            Person(session, f"http://127.0.0.1:{ports[place % len(ports)]}", token, answers, place)
            for place, token in enumerate(tokens)
        ]
        began = time.monotonic()
        await asyncio.gather(*(person.read() for person in people))
        answers.seconds = time.monotonic() - began
    (answers.checked,) = await harness.column(
        "SELECT count(*) FROM feed_fetch_state WHERE last_checked_at >= :since", since=started
    )
    return answers


class Person:
    def __init__(self, session: aiohttp.ClientSession, base: str, token: str, answers: Answers, seed: int) -> None:
        self._session, self._base, self._answers = session, base, answers
        self._headers = {"Authorization": f"Bearer {token}"}
        self._chance = random.Random(seed)
        self._ids: list[str] = []

    async def read(self) -> None:
        """By the clock and not after the last answer, so that a slow server is not asked less."""
        pace = PEOPLE / RATE
        turn, end = time.monotonic() + self._chance.random() * pace, time.monotonic() + SECONDS
        running: list[asyncio.Task[None]] = []
        while turn < end:
            pause = turn - time.monotonic()
            self._answers.late += pause < -pace
            await asyncio.sleep(max(0.0, pause))
            running.append(asyncio.create_task(self._act()))
            turn += pace
        await asyncio.gather(*running)

    async def _act(self) -> None:
        kind = self._chance.random()
        if kind < 0.4 or not self._ids:
            page = await self._ask("GET", "/api/v1/entries?limit=50")
            self._ids = [entry["id"] for entry in (page or {}).get("items", [])] or self._ids
        elif kind < 0.6:
            await self._ask("GET", "/api/v1/counts")
        elif kind < 0.8:
            await self._ask("GET", f"/api/v1/entries/{self._chance.choice(self._ids)}")
        elif kind < 0.9:
            await self._ask("GET", "/api/v1/subscriptions")
        elif kind < 0.98:
            await self._ask("PATCH", f"/api/v1/entries/{self._chance.choice(self._ids)}", {"read": True})
        else:
            await self._ask("GET", "/api/v1/entries?q=corda")

    async def _ask(self, method: str, path: str, body: object = None) -> dict[str, list[dict[str, str]]] | None:
        started = time.monotonic()
        try:
            async with self._session.request(method, self._base + path, headers=self._headers, json=body) as answer:
                status, read = answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError):
            status, read = 0, None
        self._answers.took.append(time.monotonic() - started)
        self._answers.statuses[status] += 1
        return read if status == 200 and isinstance(read, dict) else None
