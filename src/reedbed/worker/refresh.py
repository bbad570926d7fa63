"""The fetch loop: takes due feeds in hand, keeps so many in flight, sleeps until the next is due."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.services.refresh import check as crawl
from reedbed.services.refresh.check import note_breakdown, refresh_feed, turn_at
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.worker.sleep import sleep_until, waking

LONGEST = 30
"""Feeds that wait in one lane; more are given back with the time of their turn."""


@dataclass(slots=True)
class _HostQueue:
    gate: asyncio.Semaphore
    users: int = 0
    given_back: int = 0


class HostQueues:
    """With a `host_delay` of 0 there are none, and every feed goes at once."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._delay = runtime.fetching.host_delay
        self._lanes: dict[str, _HostQueue] = {}
        self.waiting = 0
        """Feeds that wait for their host, and so for nothing of ours."""

    @property
    def longest(self) -> int:
        return LONGEST if self._delay else 1_000_000

    def too_late(self, host: str) -> Instant | None:
        """The moment to come back for a feed that would wait too long in its lane."""
        lane = self._lanes.get(host)
        if not self._delay or lane is None or lane.users < LONGEST:
            return None
        lane.given_back += 1
        return self._runtime.now() + (lane.users + lane.given_back) * self._delay

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncGenerator[None]:
        if not self._delay:
            yield
            return
        at_once = self._runtime.fetching.host_concurrency
        lane = self._lanes.setdefault(host, _HostQueue(asyncio.Semaphore(at_once)))
        lane.users += 1
        self.waiting += 1
        waits = True
        try:
            # Only as many of ours as there may be ask whether those of other processes leave them room.
            async with lane.gate, turn_at(self._runtime, host):
                self.waiting -= 1
                waits = False
                yield
        finally:
            self.waiting -= waits
            lane.users -= 1
            if not lane.users:
                del self._lanes[host]


log = structlog.get_logger()

MAX_SLEEP = 3.0
MIN_SLEEP = 0.05
AFTER_TROUBLE = 2.0
FETCH_AGAIN = MINUTE
MIN_BATCH = 50
MAX_IN_LANES = 2_000
"""Feeds in hand that wait for their hosts; beyond, others are not even looked for."""


async def fetch_due_feeds(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Until told to stop; then finish what is in flight within `grace` seconds and put the rest back."""
    async with OutcomeWriter(runtime) as writer:
        async with waking(runtime, stop, "wake", "resync", work="feeds") as wake:
            loop = FetchLoop(runtime, writer, wake)
            await loop.run(stop)
        await loop.finish(grace)


class FetchLoop:
    def __init__(self, runtime: Runtime, writer: OutcomeWriter, wake: asyncio.Event) -> None:
        self._runtime = runtime
        self._writer = writer
        self._most = runtime.fetching.concurrency
        self._slots = asyncio.Semaphore(self._most)
        self._lanes = HostQueues(runtime)
        self._in_hand: dict[asyncio.Task[None], DueFeed] = {}
        self._fetching: set[int] = set()
        self._more_due = True
        self._wake = wake

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._wake.clear()
            try:
                seconds = await self._take_more()
            except Unavailable as error:
                log.warning("the crawl waits for the database", error=error.message)
                seconds = AFTER_TROUBLE
            await sleep_until(self._wake, seconds)

    async def finish(self, grace: float) -> None:
        put_back = [due.id for due in self._in_hand.values() if due.id not in self._fetching]
        running = [task for task, due in self._in_hand.items() if due.id in self._fetching]
        await _cancel([task for task in self._in_hand if task not in running])
        if running:
            await asyncio.wait(running, timeout=grace)
        put_back += [due.id for due in self._in_hand.values()]
        await _cancel(list(self._in_hand))
        if put_back:
            with suppress(Unavailable):
                await crawl.release(self._runtime, put_back)

    async def _take_more(self) -> float | None:
        """Fill up what is in hand; how long to sleep after it; None: until a feed is done."""
        busy = len(self._in_hand) - self._lanes.waiting
        limit = max(MIN_BATCH, 5 * self._most) - busy
        if busy > self._most or self._lanes.waiting >= MAX_IN_LANES:
            self._more_due = True
            return None
        claimed = await crawl.claim(self._runtime, limit=limit, per_host=self._lanes.longest)
        await self._start(claimed)
        self._more_due = len(claimed) == limit
        return None if self._more_due else await self._until_next_due()

    async def _start(self, claimed: list[DueFeed]) -> None:
        late: list[tuple[int, int]] = []
        for due in claimed:
            turn = self._lanes.too_late(due.host)
            if turn is not None:
                late.append((due.id, turn))
                continue
            task = asyncio.create_task(self._check(due))
            self._in_hand[task] = due
            task.add_done_callback(self._done)
            # Lets the task join its lane, so that the next feed of this host sees it there.
            if self._runtime.fetching.host_delay:
                await asyncio.sleep(0)
        if late:
            await crawl.give_back(self._runtime, late)

    async def _check(self, due: DueFeed) -> None:
        try:
            async with self._lanes.turn(due.host), self._slots:
                self._fetching.add(due.id)
                await refresh_feed(self._runtime, due, self._writer)
        except Unavailable as error:
            log.warning("a feed waits for the database", feed=due.id, error=error.message)
            await self._put_off(due)
        except Exception:
            log.exception("a check broke down", feed=due.id)
            note_breakdown(self._runtime, due, self._writer)

    async def _put_off(self, due: DueFeed) -> None:
        """What was found is lost, by no fault of the feed. If even this cannot be noted, its lease ends."""
        with suppress(Unavailable):
            await crawl.give_back(self._runtime, [(due.id, self._runtime.now() + FETCH_AGAIN)])

    def _done(self, task: asyncio.Task[None]) -> None:
        due = self._in_hand.pop(task)
        self._fetching.discard(due.id)
        if self._more_due and len(self._in_hand) - self._lanes.waiting <= self._most:
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
