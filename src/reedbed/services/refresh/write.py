"""How far a refresh of many feeds is, told to the one who asked."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.state import DueFeed, FetchState
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.domain.urls import is_private_address
from reedbed.services.jobs import Done, Later, ask_if_wanted, note_progress
from reedbed.services.push import leave_news
from reedbed.services.rules.match import Forecast, NewRows, decide_on_arrival, foresee
from reedbed.services.runtime import Runtime
from reedbed.services.search import reindex
from reedbed.services.webhooks import leave_entries
from reedbed.store import articles, jobs, refresh, search, websub
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries import write as removed
from reedbed.store.entries.write import NewEntryRow
from reedbed.store.feeds import feeds
from reedbed.store.feeds import feeds as feed_history
from reedbed.store.feeds import feeds as former_addresses
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.jobs import Job
from reedbed.store.refresh import CheckResult, WriteResult


@record
class Move:
    feed_id: int
    """Where the feed's entries are now."""
    users: Sequence[int] = ()
    """Those whose subscription now names another feed."""


async def adopt_address(tx: Tx, due: DueFeed, url: str, now: Instant) -> Move:
    if url == due.url or (due.owner_id is None and is_private_address(url)):
        # A shared feed never takes an address that may be one reader's secret.
        return Move(due.id)
    if due.username is not None and not _same_keeper(due.url, url):
        # The password is for this host: behind the redirect it would be told to another.
        return Move(due.id)
    move = await _move(tx, due, url, now)
    if due.owner_id is None:
        await former_addresses.remember_url(tx, due.url, move.feed_id)
    return move


async def _move(tx: Tx, due: DueFeed, url: str, now: Instant) -> Move:
    there = await feeds.get_by_url(tx, url, due.owner_id)
    if there is not None:
        return Move(there, await feed_merge.merge(tx, due.id, there))
    await feeds.move(tx, due.id, url)
    if due.owner_id is not None or _same_document(due.url, url):
        return Move(due.id)
    # Whoever follows this address from now on asks for what is there, not for what was redirected to it.
    return Move(due.id, await feed_merge.start_over(tx, due.id, now))


def _same_document(before: str, after: str) -> bool:
    """The same address, with https for http or a slash more or less at its end."""
    here, there = urlsplit(before), urlsplit(after)
    return (
        there.netloc == here.netloc
        and there.scheme in (here.scheme, "https")
        and there.path.rstrip("/") == here.path.rstrip("/")
        and there.query == here.query
    )


def _same_keeper(before: str, after: str) -> bool:
    """The same host and port, and no less secret on the way there."""
    there, here = urlsplit(after), urlsplit(before)
    return there.netloc == here.netloc and there.scheme in (here.scheme, "https")


async def write_findings(runtime: Runtime, findings: Sequence[CheckResult]) -> list[WriteResult]:
    """All or nothing; one `Stored` each. What lost its lease meanwhile is left to its new holder."""
    forecast = await foresee(runtime, findings)
    async with runtime.db.write() as tx:
        kept = await _still_ours(tx, runtime.name, findings)
        stored = await _write(tx, runtime, kept, forecast)
    for each in stored.values():
        await _announce(runtime, each)
    return [stored.get(finding.due.id, WriteResult(feed_id=finding.due.id)) for finding in findings]


async def _still_ours(tx: Tx, holder: str, findings: Sequence[CheckResult]) -> list[CheckResult]:
    loud = [finding.due.id for finding in findings if not finding.quiet]
    if not loud:
        return list(findings)
    held = await refresh.held(tx, loud, holder)
    return [finding for finding in findings if finding.quiet or finding.due.id in held]


async def _write(
    tx: Tx, runtime: Runtime, findings: Sequence[CheckResult], forecast: Forecast
) -> dict[int, WriteResult]:
    new = await _insert(tx, findings)
    changed = await _rewrite(tx, findings)
    await feeds.describe(tx, [(each.due.id, each.about) for each in findings if each.about])
    await _write_states(tx, runtime, findings, new)
    await feed_history.add_stats(tx, [each.tally for each in findings])
    listed = [
        (each.due.id, each.removed) for each in findings if each.removed is not None and not each.pushed
    ]
    await removed.note_listed(tx, listed, runtime.now())
    # What a feed held before anybody here followed it is no news to be told of.
    first = {each.due.id for each in findings if each.due.first_fetch}
    reached = await decide_on_arrival(tx, new, runtime.now(), forecast)
    news = {id_: [entry_id for entry_id, _ in rows] for id_, rows in new.items() if id_ not in first}
    await leave_news(tx, news, reached, runtime.now())
    await leave_entries(tx, news, runtime.now())
    stored = {
        each.due.id: WriteResult(
            [id_ for id_, _ in new.get(each.due.id, ())], changed.get(each.due.id, ()), each.due.id
        )
        for each in findings
    }
    for each in findings:
        if each.moved_to:
            move = await adopt_address(tx, each.due, each.moved_to, runtime.now())
            stored[each.due.id] = replace(stored[each.due.id], feed_id=move.feed_id, moved=move.users)
    touched = [told.feed_id for told in stored.values() if told.new or told.changed]
    await ask_if_wanted(tx, touched, runtime.now())
    return stored


async def _write_states(tx: Tx, runtime: Runtime, findings: Sequence[CheckResult], new: NewRows) -> None:
    states = [(each, _state(each, new.get(each.due.id, ()))) for each in findings]
    await refresh.write(tx, runtime.name, [(each.due, to) for each, to in states if not each.pushed])
    pushed = [(each.due.id, to) for each, to in states if each.pushed]
    if pushed:
        await refresh.write_pushed(tx, runtime.name, pushed)
    for each in findings:
        checked = each.due.state.last_checked_at
        if each.due.id in new and not each.pushed and each.due.hub_was_watched and checked is not None:
            await websub.record_missed(tx, each.due.id, len(new[each.due.id]), checked, runtime.now())


async def _insert(tx: Tx, findings: Iterable[CheckResult]) -> NewRows:
    rows = [row for finding in findings for row in finding.news]
    if not rows:
        return {}
    new: dict[int, list[tuple[int, NewEntryRow]]] = {}
    stored = await entry_writes.insert_new(tx, rows)
    await search.index(tx, [(id_, row.text.search) for id_, row in stored])
    for id_, row in stored:
        new.setdefault(row.feed_id, []).append((id_, row))
    return new


async def _rewrite(tx: Tx, findings: Iterable[CheckResult]) -> Mapping[int, Sequence[int]]:
    rewrites = {each.entry_id: each for finding in findings for each in finding.rewrites}
    if not rewrites:
        return {}
    changed: dict[int, list[int]] = {}
    ids = await entry_writes.rewrite(tx, list(rewrites.values()))
    whole = await articles.read_whole(tx, ids)
    await search.index(tx, [(id_, rewrites[id_].text.search) for id_ in ids if id_ not in whole])
    if whole:
        await reindex(tx, list(whole))
    for id_ in ids:
        changed.setdefault(rewrites[id_].feed_id, []).append(id_)
    return changed


def _state(finding: CheckResult, new: Sequence[tuple[int, NewEntryRow]]) -> FetchState:
    listed = [*finding.listed, *(id_ for id_, _ in new)]
    if not listed:
        return finding.state
    return replace(
        finding.state,
        oldest_listed_id=min(listed),
        newest_entry_id=max(finding.state.newest_entry_id, max(listed)),
    )


async def _announce(runtime: Runtime, stored: WriteResult) -> None:
    for user_id in stored.moved:
        await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    if stored.moved:
        # Not everybody who follows the feed sees the entries that came along.
        return
    if stored.new:
        await runtime.bus.publish(_hint("new_entry", stored.feed_id, stored.new))
    if stored.changed:
        await runtime.bus.publish(_hint("entry_updated", stored.feed_id, stored.changed))


def _hint(topic: str, feed_id: int, ids: Sequence[int]) -> ChangeEvent:
    return ChangeEvent(
        topic, feed_id=feed_id, data={"feed_id": str(feed_id), "ids": [str(id_) for id_ in ids]}
    )


log = structlog.get_logger()

GATHER_SECONDS = 0.1
MAX_QUIET = 200
MAX_NEWS = 8
"""Feeds with news in one transaction, so that a reader's own writes never wait long."""
MAX_KEPT = 20_000
"""Quiet outcomes kept while the database is away."""
ANALYZE_AFTER = 1_000
"""New entries after which the statistics are refreshed: a first fetch of many feeds is a bulk load."""
RETRY_SECONDS = 1.0
PAUSES = (1.0, 3.0, 10.0)
"""Seconds before news are written again, so that nothing is fetched twice for a database that stumbled."""

Waiting = tuple[CheckResult, "asyncio.Future[WriteResult]"]


class OutcomeWriter:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # On PostgreSQL two feeds in one transaction would lock their followers out of order.
        self._most_news = MAX_NEWS if runtime.db.engine == "sqlite" else 1
        self._quiet: list[CheckResult] = []
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

    def note(self, finding: CheckResult) -> None:
        """Write this soon; nobody waits for it."""
        if not finding.quiet:
            self._news.append((finding, _unheard()))
            self._hurry.set()
        elif len(self._quiet) < MAX_KEPT:
            self._quiet.append(finding)
            if len(self._quiet) >= MAX_QUIET:
                self._hurry.set()
        self._some.set()

    async def store(self, finding: CheckResult) -> WriteResult:
        """Write this now; its news are safe when it returns."""
        for pause in PAUSES:
            try:
                return await self._store(finding)
            except Unavailable:
                await asyncio.sleep(pause)
        return await self._store(finding)

    async def _store(self, finding: CheckResult) -> WriteResult:
        done: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
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
        quiet, self._quiet = self._quiet[:MAX_QUIET], self._quiet[MAX_QUIET:]
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

    async def _write(self, news: Sequence[Waiting], quiet: Sequence[CheckResult]) -> None:
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

    async def _write_apart(
        self, news: Sequence[Waiting], quiet: Sequence[CheckResult], error: Exception
    ) -> None:
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


def _unheard() -> "asyncio.Future[WriteResult]":
    """Nobody asks what became of it, and a failure is logged where it happens."""
    future: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.exception())
    return future


JOB_KIND = "refresh"

_LOOK_EVERY = SECOND
_PATIENCE = 15 * MINUTE


async def follow(tx: Tx, feed_ids: Sequence[int], user_id: int, now: Instant) -> int:
    """A job that watches these feeds from now on."""
    return await jobs.add(tx, JOB_KIND, {"feeds": list(feed_ids), "since": now}, now=now, user_id=user_id)


async def report_progress(runtime: Runtime, job: Job) -> Done | Later:
    """How many of the feeds have been checked since they were asked for."""
    asked: list[int] = job.payload["feeds"]
    now = runtime.now()
    async with runtime.db.read() as tx:
        waiting = await refresh.unchecked(tx, asked, job.payload["since"], now)
    done = len(asked) - waiting
    if done != job.report.get("done"):
        await note_progress(runtime, job, done, len(asked))
    if waiting == 0 or now > job.created_at + _PATIENCE:
        return Done({"done": done, "total": len(asked)})
    return Later(now + _LOOK_EVERY)
