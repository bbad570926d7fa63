"""A day of many feeds in virtual time: the program's own scheduler, store and host limits, without a network.

Time stands still while there is work and jumps to the next timer when there is none. The site is a function:
it takes as long as a site does, and answers that nothing changed, or not at all. What news cost is measured by
`bench costs` and added. On SQLite; with BENCH_FEEDS=1000000 it takes about 18 minutes
of CPU. BENCH_HOURS shortens the day.
"""

import asyncio
import math
import os
import random
import selectors
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.scale import NOW, Costs, World
from bench.table import record
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed, FetchRequest, NotModified, Outcome
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant
from reedbed.domain.urls import host_of
from reedbed.events.limits import MemoryHostThrottle
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.store.engine.sqlite import ConnectionThread
from reedbed.store.migrations import migrate
from reedbed.worker import refresh as worker_refresh
from tests.harness import open_harness

DESCRIPTION = "A day of many feeds in virtual time: is the schedule kept, is every host spared, what does a feed cost"

FEEDS = int(os.environ.get("BENCH_FEEDS", "100000"))
HOURS = float(os.environ.get("BENCH_HOURS", "24"))
CONCURRENCY = 100
LATENCY = 1.0
"""Seconds that a site takes, on average."""
FEEDS_OF_HOST = 3
FAILURES = 3
TOLERANCE = 0.05
WORLD, COSTS = World(), Costs()


def main() -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(_run(loop))
    finally:
        loop.close()


async def _run(loop: "VirtualLoop") -> None:
    with tempfile.TemporaryDirectory(prefix="reedbed-day-") as directory:
        file = Path(directory) / "bench.db"
        await migrate(f"sqlite:///{file}")
        _fill(file)
        policy: dict[str, Any] = {"host_delay": SECOND, "concurrency": CONCURRENCY}
        async with open_harness(f"sqlite:///{file}", **policy) as harness:
            day = _Day(loop)
            runtime = replace(
                harness.runtime, fetcher=day, clock=day.now, host_throttle=MemoryHostThrottle(clock=loop.time)
            )
            worker_refresh.refresh_feed = day.check
            started = time.process_time()
            stop = asyncio.Event()
            loop.call_later(HOURS * HOUR / SECOND, stop.set)
            with loop.counting_jobs():
                await worker_refresh.fetch_due_feeds(runtime, stop, grace=5)
            day.report(time.process_time() - started)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time jumps to the next timer when nothing is left to do, in this thread or in those of the database."""

    def __init__(self) -> None:
        self.jobs = 0
        self.seconds = 0.0
        super().__init__(_VirtualSelector(self))

    def time(self) -> float:
        return self.seconds

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        self.jobs += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(lambda _: self._done())
        return future

    def _done(self) -> None:
        self.jobs -= 1

    def counting_jobs(self) -> "_CountedJobs":
        return _CountedJobs(self)


class _VirtualSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if self._loop.jobs or timeout is None:
            return super().select(None)
        self._loop.seconds += timeout
        return []


class _CountedJobs:
    """While it is open, the loop knows of the jobs in the threads of SQLite."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop, self._do = loop, ConnectionThread.do

    def __enter__(self) -> None:
        loop, original = self._loop, self._do

        async def do(thread: ConnectionThread, job: Any) -> Any:
            loop.jobs += 1
            try:
                return await original(thread, job)
            finally:
                loop.jobs -= 1

        ConnectionThread.do = do  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        ConnectionThread.do = self._do  # type: ignore[method-assign]


@dataclass
class _Day:
    """The sites, and what was seen of the checks."""

    loop: VirtualLoop
    chance: random.Random = field(default_factory=lambda: random.Random(11))
    late: list[float] = field(default_factory=list)
    """How late each check was, as a share of its interval."""
    late_at_largest: list[float] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)
    news: float = 0.0
    too_close: int = 0
    too_many: int = 0
    busy: float = 0.0
    """Seconds of all requests together."""
    _last: dict[str, float] = field(default_factory=dict)
    _in_flight: Counter[str] = field(default_factory=Counter)

    def now(self) -> Instant:
        return NOW + int(self.loop.time() * SECOND)

    async def check(self, runtime: Any, due: DueFeed, writer: OutcomeWriter) -> Any:
        """Note how late the check is, and let the feed have published since the last one."""
        state = due.state
        share = (self.now() - (state.next_check_at or 0)) / (state.next_check_delay or HOUR)
        (self.late_at_largest if due.host == LARGEST else self.late).append(share)
        gap = state.average_gap
        if gap and state.last_checked_at and due.id % 100 >= WORLD.dead * 100:
            expected = (self.now() - state.last_checked_at) / gap
            if self.chance.random() < 1 - math.exp(-expected):
                self.news += expected / (1 - math.exp(-expected))
                self.checks["with news"] += 1
                due = replace(due, state=replace(state, newest_entry_at=self.now() - min(gap, MINUTE)))
        return await _refresh_feed(runtime, due, writer)

    async def fetch(self, request: FetchRequest) -> Outcome:
        host = host_of(request.url) or ""
        started = self.loop.time()
        self.too_close += started - self._last.get(host, -1e9) < 0.999 - 1e-6  # the limiter counts milliseconds
        self._last[host] = started
        self._in_flight[host] += 1
        self.too_many += self._in_flight[host] > 2
        self.checks["all"] += 1
        self.checks["largest"] += host == LARGEST
        await asyncio.sleep(min(self.chance.expovariate(1 / LATENCY), 20))
        self.busy += self.loop.time() - started
        self._in_flight[host] -= 1
        if "dead" in request.url:
            return Failed("temporary_error", Failure(FailureCode.FEED_NOT_FOUND), 503)
        return NotModified()

    def report(self, cpu: float) -> None:
        seconds = self.loop.time()
        per_day, checks = DAY / SECOND / seconds, self.checks["all"]
        for name, late in (("", self.late), (" at the largest host", self.late_at_largest)):
            if len(late) > 1:
                share = statistics.quantiles(late, n=100)[98] * 100
                record(f"lateness of 99 in 100 checks{name}", share, "% of interval", compared_to="goal", other=5)
        in_time = sum(share <= TOLERANCE for share in self.late) / max(1, len(self.late)) * 100
        record("checks within 5 % of their interval", in_time, "%", compared_to="all", other=100)
        record("requests to a host too soon", self.too_close, "", compared_to="allowed", other=0)
        record("requests beyond two at once at a host", self.too_many, "", compared_to="allowed", other=0)
        record("checks of a feed in a day", checks * per_day / FEEDS, "", compared_to="unit", other=1)
        own = cpu / checks * 1_000
        record("a check without news, CPU", own, "ms", compared_to="docs/scaling.md", other=COSTS.unchanged)
        extra = self.checks["with news"] * (COSTS.changed - COSTS.unchanged) + self.news * COSTS.entry
        total = (cpu * 1_000 + extra) * per_day
        record("a feed for a day with its news, CPU", total / FEEDS, "ms", compared_to="unit", other=1, cpu_seconds=cpu)
        loads = {
            "the pace of the largest host": self.checks["largest"] / seconds,
            f"{CONCURRENCY} requests at once": self.busy / seconds / CONCURRENCY,
            "one core of the worker": total / 1_000 / (DAY / SECOND),
        }
        for name, load in sorted(loads.items(), key=lambda item: -item[1]):
            record(f"load of {name}", load * 100, "%", compared_to="bearable", other=100)


_refresh_feed = worker_refresh.refresh_feed
LARGEST = "largest.example"


def _fill(file: Path) -> None:
    """Feeds with a follower, in the middle of their intervals, as after some days of work."""
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("INSERT INTO users (id, email, created_at) VALUES (1, 'reader@example.org', 0)")
        db.executemany("INSERT INTO feeds (id, url, created_at) VALUES (?, ?, 0)", _urls())
        db.executemany(
            "INSERT INTO feed_fetch_state (feed_id, host, status, last_checked_at, next_check_at, next_check_delay,"
            " consecutive_failures, average_gap, newest_entry_at) VALUES (?, ?, 'success', ?, ?, ?, ?, ?, ?)",
            _states(),
        )
        db.execute("INSERT INTO subscriptions (user_id, feed_id, subscribed_at) SELECT 1, id, 0 FROM feeds")
        db.execute("ANALYZE")


def _urls() -> Iterator[tuple[int, str]]:
    for number in range(FEEDS):
        yield number + 1, f"https://{_host(number)}/{'dead/' if _is_dead(number + 1) else ''}{number}.xml"


def _host(number: int) -> str:
    largest = number % 100 < WORLD.largest_host * 100
    return LARGEST if largest else f"h{number // FEEDS_OF_HOST}.example"


def _is_dead(feed_id: int) -> bool:
    return feed_id % 100 < WORLD.dead * 100


def _states() -> Iterator[tuple[object, ...]]:
    chance = random.Random(7)
    for number in range(FEEDS):
        gap = int(DAY / (WORLD.posts_a_day * math.exp(chance.gauss(0, WORLD.spread))))
        interval = min(max(gap // 2, 15 * MINUTE), DAY)
        done = int(chance.random() * interval)
        newest = NOW - done - int(chance.random() * gap)
        failures = FAILURES if _is_dead(number + 1) else 0
        yield number + 1, _host(number), NOW - done, NOW - done + interval, interval, failures, gap, newest


if __name__ == "__main__":
    main()
