"""Deframing in hand: a site with feeds, a model, an operator, and a worker that works when it is told to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from reedbed.domain.ai import BreakerPolicy
from reedbed.services import jobs
from reedbed.services.ai_worker import NothingDue, Skipped, Task, next_task, write_task
from reedbed.services.feeds import FeedSettings, add_feed, enable_feed, sync_feed
from reedbed.services.runtime import AiPolicy, Runtime
from reedbed.worker.jobs import HANDLERS
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.modelserver import ModelServer

LONG = "<p>" + "The council voted on the bridge and the vote was close. " * 30 + "</p>"


class FramingHarness:
    def __init__(self, harness: RuntimeHarness, site: FeedSite, model: ModelServer) -> None:
        self.harness = harness
        self.site = site
        self.model = model

    @property
    def runtime(self) -> Runtime:
        return self.harness.runtime

    async def open_feed(self, name: str = "main", settings: FeedSettings | None = None) -> int:
        """Added, enabled and run; its id."""
        feed = await add_feed(self.runtime, self.site.feed_url(name), settings)
        await enable_feed(self.runtime, str(feed.id))
        await self.run(str(feed.id))
        return feed.id

    async def run(self, named: str) -> None:
        await sync_feed(self.runtime, named)
        await self.work()

    async def work(self, runtime: Runtime | None = None) -> None:
        """Fetch what is due, run what is asked for, let the model write."""
        await self.harness.check()
        await self.run_jobs(runtime)
        await self.write(runtime)

    async def run_jobs(self, runtime: Runtime | None = None) -> None:
        runtime = runtime or self.runtime
        while job := await jobs.claim(runtime, ["framing"]):
            await jobs.run(runtime, job, HANDLERS[job.kind])

    async def write(self, runtime: Runtime | None = None, *, most: int = 100) -> int:
        runtime, written = runtime or self.runtime, 0
        for _ in range(most):
            match await next_task(runtime):
                case Task() as task:
                    written += 1
                    await write_task(runtime, task)
                case NothingDue():
                    break
                case Skipped():
                    continue
        return written

    def use(self, name: str = "scripted", **policy: Any) -> None:
        given = {"model": self.model.model(name), "breaker": BreakerPolicy(min_interval=0), **policy}
        self.harness.runtime = replace(self.runtime, ai=AiPolicy(**given))

    async def entries(self, name: str = "main") -> list[int]:
        sql = "SELECT e.id FROM entries e JOIN feeds f ON f.id = e.feed_id WHERE f.url = :url ORDER BY e.id"
        return await self.harness.column(sql, url=self.site.feed_url(name))

    async def titles(self, name: str = "main") -> list[str]:
        """The neutral titles shown, oldest entry first."""
        sql = (
            "SELECT a.title FROM entries e JOIN feeds f ON f.id = e.feed_id "
            "JOIN entry_analyses x ON x.entry_id = e.id JOIN analyses a ON a.key = x.key "
            "WHERE f.url = :url ORDER BY e.id"
        )
        return await self.harness.column(sql, url=self.site.feed_url(name))


@asynccontextmanager
async def open_framing_harness(harness: RuntimeHarness, site: FeedSite) -> AsyncIterator[FramingHarness]:
    async with ModelServer() as model:
        room = FramingHarness(harness, site, model)
        room.use()
        used = [room.runtime.ai.model]
        yield room
        for each in (*used, room.runtime.ai.model):
            if each is not None:
                await each.close()
