"""The fetch loop: claims due feeds, fetches a limited number at a time, sleeps until the next one is due."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.services.refresh import check as crawl
from reedbed.services.refresh.check import host_slot, record_crash, refresh_feed
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.worker.sleep import sleep_until, wake_events

# --- One queue per host

MAX_QUEUE = 30
"""Feeds that may wait in one host's queue; others are released until their turn."""


@dataclass(slots=True)
class _HostQueue:
    semaphore: asyncio.Semaphore
    users: int = 0
    released: int = 0


class HostQueues:
    """With a `host_delay` of 0 there are no queues: every feed is fetched immediately."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._delay = runtime.fetching.host_delay
        self._by_host: dict[str, _HostQueue] = {}
        self.waiting = 0
        """Feeds that wait for their host and use no fetch slot."""

    @property
    def longest(self) -> int:
        return MAX_QUEUE if self._delay else 1_000_000

    def too_late(self, host: str) -> Instant | None:
        """Return when to retry a feed whose host queue is full; None if there is space."""
        queue = self._by_host.get(host)
        if not self._delay or queue is None or queue.users < MAX_QUEUE:
            return None
        queue.released += 1
        return self._runtime.now() + (queue.users + queue.released) * self._delay

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncGenerator[None]:
        if not self._delay:
            yield
            return
        limit = self._runtime.fetching.host_concurrency
        queue = self._by_host.setdefault(host, _HostQueue(asyncio.Semaphore(limit)))
        queue.users += 1
        self.waiting += 1
        is_waiting = True
        try:
            # The semaphore limits this process; `host_slot` limits all processes together.
            async with queue.semaphore, host_slot(self._runtime, host):
                self.waiting -= 1
                is_waiting = False
                yield
        finally:
            self.waiting -= is_waiting
            queue.users -= 1
            if not queue.users:
                del self._by_host[host]


# --- The loop

log = structlog.get_logger()

MAX_SLEEP = 3.0
MIN_SLEEP = 0.05
AFTER_FAILURE = 2.0
FETCH_AGAIN = MINUTE
MIN_BATCH = 50
MAX_WAITING_FEEDS = 2_000
"""Claimed feeds that wait for their hosts; above this, no more feeds are claimed."""


async def fetch_due_feeds(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Run until `stop`; then wait `grace` seconds for running fetches and release the other feeds."""
    async with OutcomeWriter(runtime) as writer:
        async with wake_events(runtime, stop, "wake", "resync", work="feeds") as wake:
            loop = FetchLoop(runtime, writer, wake)
            await loop.run(stop)
        await loop.finish(grace)


class FetchLoop:
    def __init__(self, runtime: Runtime, writer: OutcomeWriter, wake: asyncio.Event) -> None:
        self._runtime = runtime
        self._writer = writer
        self._concurrency = runtime.fetching.concurrency
        self._slots = asyncio.Semaphore(self._concurrency)
        self._host_queues = HostQueues(runtime)
        self._claimed: dict[asyncio.Task[None], DueFeed] = {}
        self._fetching: set[int] = set()
        self._more_due = True
        self._wake = wake

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._wake.clear()
            try:
                seconds = await self._claim_more()
            except Unavailable as error:
                log.warning("the crawl waits for the database", error=error.message)
                seconds = AFTER_FAILURE
            await sleep_until(self._wake, seconds)

    async def finish(self, grace: float) -> None:
        unfinished = [due.id for due in self._claimed.values() if due.id not in self._fetching]
        running = [task for task, due in self._claimed.items() if due.id in self._fetching]
        await _cancel([task for task in self._claimed if task not in running])
        if running:
            await asyncio.wait(running, timeout=grace)
        unfinished += [due.id for due in self._claimed.values()]
        await _cancel(list(self._claimed))
        if unfinished:
            with suppress(Unavailable):
                await crawl.release(self._runtime, unfinished)

    async def _claim_more(self) -> float | None:
        """Claim more feeds; return how long to sleep after it, or None to sleep until a feed is done."""
        busy = len(self._claimed) - self._host_queues.waiting
        limit = max(MIN_BATCH, 5 * self._concurrency) - busy
        if busy > self._concurrency or self._host_queues.waiting >= MAX_WAITING_FEEDS:
            self._more_due = True
            return None
        claimed = await crawl.claim(self._runtime, limit=limit, per_host=self._host_queues.longest)
        await self._start(claimed)
        self._more_due = len(claimed) == limit
        return None if self._more_due else await self._until_next_due()

    async def _start(self, claimed: list[DueFeed]) -> None:
        postponed: list[tuple[int, int]] = []
        for due in claimed:
            retry_at = self._host_queues.too_late(due.host)
            if retry_at is not None:
                postponed.append((due.id, retry_at))
                continue
            task = asyncio.create_task(self._check(due))
            self._claimed[task] = due
            task.add_done_callback(self._done)
            # Let the task join its host's queue first, so that the next feed of this host counts it.
            if self._runtime.fetching.host_delay:
                await asyncio.sleep(0)
        if postponed:
            await crawl.give_back(self._runtime, postponed)

    async def _check(self, due: DueFeed) -> None:
        try:
            async with self._host_queues.turn(due.host), self._slots:
                self._fetching.add(due.id)
                await refresh_feed(self._runtime, due, self._writer)
        except Unavailable as error:
            log.warning("a feed waits for the database", feed=due.id, error=error.message)
            await self._postpone(due)
        except Exception:
            log.exception("feed check failed unexpectedly", feed=due.id)
            record_crash(self._runtime, due, self._writer)

    async def _postpone(self, due: DueFeed) -> None:
        """The result is lost, but not because of the feed. If this write fails too, the lease expires."""
        with suppress(Unavailable):
            await crawl.give_back(self._runtime, [(due.id, self._runtime.now() + FETCH_AGAIN)])

    def _done(self, task: asyncio.Task[None]) -> None:
        due = self._claimed.pop(task)
        self._fetching.discard(due.id)
        if self._more_due and len(self._claimed) - self._host_queues.waiting <= self._concurrency:
            self._wake.set()

    async def _until_next_due(self) -> float:
        at = await crawl.next_due(self._runtime)
        if at is None:
            return MAX_SLEEP
        return min(max((at - self._runtime.now()) / SECOND, MIN_SLEEP), MAX_SLEEP)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
