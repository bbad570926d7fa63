"""Many checks, few transactions: what concurrent checks found is written together.

Quiet outcomes wait up to a tenth of a second for company and nobody waits for them; news are written as soon
as the writer is free, and their check waits until they are safe. What is not written when the process dies is
found again, because its lease runs out.
"""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.services.findings import Finding, Stored
from reedbed.services.refresh_write import write_findings
from reedbed.services.runtime import Runtime

log = structlog.get_logger()

GATHER_SECONDS = 0.1
MOST_QUIET = 200
MOST_NEWS = 8
"""Feeds with news in one transaction, so that a reader's own writes never wait long."""
MOST_KEPT = 20_000
"""Quiet outcomes kept while the database is away."""
ANALYZE_AFTER = 1_000
"""New entries after which the statistics are refreshed: a first fetch of many feeds is a bulk load."""
RETRY_SECONDS = 1.0
PAUSES = (1.0, 3.0, 10.0)
"""Seconds before news are written again, so that nothing is fetched twice for a database that stumbled."""

Waiting = tuple[Finding, "asyncio.Future[Stored]"]


class OutcomeWriter:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # On PostgreSQL two feeds in one transaction would lock their followers out of order.
        self._most_news = MOST_NEWS if runtime.db.engine == "sqlite" else 1
        self._quiet: list[Finding] = []
        self._news: list[Waiting] = []
        self._some = asyncio.Event()
        self._hurry = asyncio.Event()
        self._new_entries = 0
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everything noted is written before this returns, if the database is there."""
        self._closing = True
        self._some.set()
        self._hurry.set()
        if self._task is not None:
            await self._task

    def note(self, finding: Finding) -> None:
        """Write this soon; nobody waits for it."""
        if not finding.quiet:
            self._news.append((finding, _unheard()))
            self._hurry.set()
        elif len(self._quiet) < MOST_KEPT:
            self._quiet.append(finding)
            if len(self._quiet) >= MOST_QUIET:
                self._hurry.set()
        self._some.set()

    async def store(self, finding: Finding) -> Stored:
        """Write this now; its news are safe when it returns."""
        for pause in PAUSES:
            try:
                return await self._store(finding)
            except Unavailable:
                await asyncio.sleep(pause)
        return await self._store(finding)

    async def _store(self, finding: Finding) -> Stored:
        done: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        self._news.append((finding, done))
        self._some.set()
        self._hurry.set()
        return await done

    async def _work(self) -> None:
        while True:
            await self._some.wait()
            if not self._closing:
                await self._gather()
            self._some.clear()
            self._hurry.clear()
            while self._news or self._quiet:
                if not await self._write_some() and self._closing:
                    return
                await self._analyze()
            if self._closing:
                return

    async def _gather(self) -> None:
        try:
            async with asyncio.timeout(GATHER_SECONDS):
                await self._hurry.wait()
        except TimeoutError:
            return

    async def _write_some(self) -> bool:
        """Whether the database took it."""
        news, self._news = self._news[: self._most_news], self._news[self._most_news :]
        quiet, self._quiet = self._quiet[:MOST_QUIET], self._quiet[MOST_QUIET:]
        try:
            await self._write(news, quiet)
        except Unavailable as error:
            log.warning("outcomes wait for the database", feeds=len(news) + len(quiet), error=error.message)
            _fail(news, error)
            self._quiet = quiet + self._quiet
            if not self._closing:
                await asyncio.sleep(RETRY_SECONDS)
            return False
        return True

    async def _analyze(self) -> None:
        if self._new_entries < ANALYZE_AFTER or self._closing:
            return
        try:
            await self._runtime.db.analyze_after(self._new_entries)
        except Unavailable as error:
            log.warning("statistics could not be refreshed", error=error.message)
        self._new_entries = 0

    async def _write(self, news: Sequence[Waiting], quiet: Sequence[Finding]) -> None:
        findings = [*(finding for finding, _ in news), *quiet]
        try:
            stored = await write_findings(self._runtime, findings)
        except Unavailable:
            raise
        except Exception as error:
            await self._write_apart(news, quiet, error)
        else:
            self._new_entries += sum(len(each.new) for each in stored)
            for (_, done), each in zip(news, stored, strict=False):
                if not done.done():
                    done.set_result(each)

    async def _write_apart(self, news: Sequence[Waiting], quiet: Sequence[Finding], error: Exception) -> None:
        """One of them cannot be written; find out which, so that the others are."""
        if len(news) + len(quiet) == 1:
            feed_id = (news[0][0] if news else quiet[0]).due.id
            log.error("an outcome could not be written", feed=feed_id, error=repr(error))
            return _fail(news, error)
        for each in news:
            await self._write([each], [])
        for finding in quiet:
            await self._write([], [finding])
        return None


def _fail(news: Sequence[Waiting], error: Exception) -> None:
    for _, done in news:
        if not done.done():
            done.set_exception(error)


def _unheard() -> "asyncio.Future[Stored]":
    """Nobody asks what became of it, and a failure is logged where it happens."""
    future: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.exception())
    return future
