"""Write the results of feed checks in batches, apply redirects, and report the progress of refreshes."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.state import DueFeed, FetchState
from reedbed.domain.search.forms import KnownWords
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.domain.urls import is_secret_url
from reedbed.services.jobs import Done, Later, enqueue_framing_if_enabled, report_job_progress
from reedbed.services.live import hide_muted
from reedbed.services.push import enqueue_push_new_entries
from reedbed.services.refresh.notify import enqueue_stopped
from reedbed.services.rules.match import NewRows, RuleForecast, apply_rules_to_new, evaluate_new_entries, muted_by_user
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import TextInLanguage, unknown_forms
from reedbed.services.search.upkeep import reindex
from reedbed.services.webhooks import enqueue_new_entries_webhooks
from reedbed.store import articles, jobs, refresh, search, websub
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import NewEntryRow
from reedbed.store.feeds import feeds, moves
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.jobs import Job
from reedbed.store.playback import recordings
from reedbed.store.refresh import CheckResult, WriteResult
from reedbed.store.search import forms

# --- Redirects


@record
class Move:
    feed_id: int
    """The feed that has the entries now."""
    users: Sequence[int] = ()
    """Users whose subscription now points to another feed."""


async def apply_redirect(tx: Tx, due: DueFeed, url: str, now: Instant) -> Move:
    if url == due.url or (due.owner_id is None and is_secret_url(url)):
        # A shared feed must not take a URL that may be one user's secret.
        return Move(due.id)
    if due.username is not None and not _same_server(due.url, url):
        # The password is for this host; following the redirect would send it to another one.
        return Move(due.id)
    move = await _move(tx, due, url, now)
    if due.owner_id is None:
        await feeds.add_former_url(tx, due.url, move.feed_id)
    return move


async def _move(tx: Tx, due: DueFeed, url: str, now: Instant) -> Move:
    existing_id = await feeds.get_by_url(tx, url, due.owner_id)
    if existing_id is not None:
        return Move(existing_id, await feed_merge.merge(tx, due.id, existing_id))
    await feeds.move(tx, due.id, url)
    if due.owner_id is not None or _same_document(due.url, url):
        return Move(due.id)
    # New subscribers of this URL want the feed that is there, not the entries of the redirected one.
    return Move(due.id, await moves.start_over(tx, due.id, now))


def _same_document(before: str, after: str) -> bool:
    """The same URL, apart from https instead of http or a trailing slash."""
    old, new = urlsplit(before), urlsplit(after)
    return (
        new.netloc == old.netloc
        and new.scheme in (old.scheme, "https")
        and new.path.rstrip("/") == old.path.rstrip("/")
        and new.query == old.query
    )


def _same_server(before: str, after: str) -> bool:
    """The same host and port, without a downgrade from https."""
    new, old = urlsplit(after), urlsplit(before)
    return new.netloc == old.netloc and new.scheme in (old.scheme, "https")


# --- Writing results


async def write_check_results(runtime: Runtime, results: Sequence[CheckResult]) -> list[WriteResult]:
    """Write all results in one transaction; one `WriteResult` each. Skips feeds whose lease was lost."""
    forecast = await evaluate_new_entries(runtime, results)
    texts = list(_texts(results))
    fresh = await asyncio.to_thread(unknown_forms, runtime.known_words, texts) if texts else []
    async with runtime.db.write() as tx:
        writable = await _with_valid_lease(tx, runtime.name, results)
        await forms.add(tx, fresh)
        stored = await _write(tx, runtime, writable, forecast)
    runtime.known_words.remember(fresh)
    for written in stored.values():
        await _publish_changes(runtime, written)
    return [stored.get(result.due.id, WriteResult(feed_id=result.due.id)) for result in results]


def _texts(results: Iterable[CheckResult]) -> Iterator[TextInLanguage]:
    for result in results:
        for row in (*result.news, *result.rewrites):
            yield row.text.language, row.text.search


async def _with_valid_lease(tx: Tx, holder: str, results: Sequence[CheckResult]) -> list[CheckResult]:
    needs_lease = [result.due.id for result in results if not result.quiet]
    if not needs_lease:
        return list(results)
    held = await refresh.held(tx, needs_lease, holder)
    return [result for result in results if result.quiet or result.due.id in held]


async def _write(
    tx: Tx, runtime: Runtime, results: Sequence[CheckResult], forecast: RuleForecast
) -> dict[int, WriteResult]:
    new = await _insert(tx, results)
    changed = await _update_changed(tx, runtime.known_words, results)
    await feeds.describe(tx, [(result.due.id, result.about) for result in results if result.about])
    await _write_states(tx, runtime, results, new)
    await feeds.add_stats(tx, [result.stats for result in results])
    listed = [(result.due.id, result.removed) for result in results if result.removed is not None and not result.pushed]
    await entry_writes.record_listed_keys(tx, listed, runtime.now())
    # Do not notify about entries of a first fetch: they are older than the subscription.
    first = {result.due.id for result in results if result.due.first_fetch}
    reached = await apply_rules_to_new(tx, new, runtime.now(), forecast)
    new_ids = {id_: [entry_id for entry_id, _ in rows] for id_, rows in new.items() if id_ not in first}
    await enqueue_push_new_entries(tx, new_ids, reached, runtime.now())
    await enqueue_new_entries_webhooks(tx, new_ids, runtime.now())
    stored = {
        result.due.id: WriteResult(
            [id_ for id_, _ in new.get(result.due.id, ())],
            changed.get(result.due.id, ()),
            result.due.id,
            muted=muted_by_user(forecast, new.get(result.due.id, ())),
        )
        for result in results
    }
    for result in results:
        if result.moved_to:
            move = await apply_redirect(tx, result.due, result.moved_to, runtime.now())
            stored[result.due.id] = replace(stored[result.due.id], feed_id=move.feed_id, moved=move.users)
    touched = [written.feed_id for written in stored.values() if written.new or written.changed]
    await enqueue_framing_if_enabled(tx, touched, runtime.now())
    return stored


async def _write_states(tx: Tx, runtime: Runtime, results: Sequence[CheckResult], new: NewRows) -> None:
    states = [(result, _state(result, new.get(result.due.id, ()))) for result in results]
    await refresh.write(tx, runtime.name, [(result.due, state) for result, state in states if not result.pushed])
    pushed = [(result.due.id, state) for result, state in states if result.pushed]
    stopped = [
        result.due.id
        for result, state in states
        if state.stopped_at is not None and result.due.state.stopped_at is None
    ]
    await enqueue_stopped(tx, stopped, runtime.now())
    if pushed:
        await refresh.write_pushed(tx, runtime.name, pushed)
    for result in results:
        checked = result.due.state.last_checked_at
        if result.due.id in new and not result.pushed and result.due.hub_was_watched and checked is not None:
            await websub.record_missed(tx, result.due.id, len(new[result.due.id]), checked, runtime.now())


async def _insert(tx: Tx, results: Iterable[CheckResult]) -> NewRows:
    rows = [row for result in results for row in result.news]
    if not rows:
        return {}
    new: dict[int, list[tuple[int, NewEntryRow]]] = {}
    stored = await entry_writes.insert_new(tx, rows)
    await recordings.put(tx, [(id_, row.feed_id, row.text.recordings) for id_, row in stored])
    await search.index(tx, [(id_, row.text.search) for id_, row in stored])
    for id_, row in stored:
        new.setdefault(row.feed_id, []).append((id_, row))
    return new


async def _update_changed(tx: Tx, known: KnownWords, results: Iterable[CheckResult]) -> Mapping[int, Sequence[int]]:
    updates = {update.entry_id: update for result in results for update in result.rewrites}
    if not updates:
        return {}
    changed: dict[int, list[int]] = {}
    ids = await entry_writes.rewrite(tx, list(updates.values()))
    await recordings.put(tx, [(id_, updates[id_].feed_id, updates[id_].text.recordings) for id_ in ids], changed=True)
    with_more_text = await articles.having_more_text(tx, ids)
    await search.index(tx, [(id_, updates[id_].text.search) for id_ in ids if id_ not in with_more_text])
    if with_more_text:
        await reindex(tx, known, list(with_more_text))
    for id_ in ids:
        changed.setdefault(updates[id_].feed_id, []).append(id_)
    return changed


def _state(result: CheckResult, new: Sequence[tuple[int, NewEntryRow]]) -> FetchState:
    listed = [*result.listed, *(id_ for id_, _ in new)]
    if not listed:
        return result.state
    return replace(
        result.state, oldest_listed_id=min(listed), newest_entry_id=max(result.state.newest_entry_id, max(listed))
    )


async def _publish_changes(runtime: Runtime, stored: WriteResult) -> None:
    for user_id in stored.moved:
        await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    if stored.moved:
        # Not every subscriber of the target feed can see the moved entries.
        return
    if stored.new:
        event = _entry_event("new_entry", stored.feed_id, stored.new)
        await runtime.bus.publish(hide_muted(event, stored.muted))
    if stored.changed:
        await runtime.bus.publish(_entry_event("entry_updated", stored.feed_id, stored.changed))


def _entry_event(topic: str, feed_id: int, ids: Sequence[int]) -> ChangeEvent:
    return ChangeEvent(topic, feed_id=feed_id, data={"feed_id": str(feed_id), "ids": [str(id_) for id_ in ids]})


# --- Queue of results

log = structlog.get_logger()

GATHER_SECONDS = 0.1
MAX_QUIET = 200
MAX_ANNOUNCED = 8
"""Feeds with new entries per transaction. A small number, so that users' own writes do not wait long."""
MAX_KEPT = 20_000
"""Results without new entries that are buffered while the database is unavailable."""
ANALYZE_AFTER = 1_000
"""New entries after which to refresh database statistics: first fetches of many feeds are a bulk load."""
RETRY_SECONDS = 1.0
PAUSES = (1.0, 3.0, 10.0)
"""Seconds between attempts to write new entries, so that a short database outage costs no second fetch."""

Waiting = tuple[CheckResult, "asyncio.Future[WriteResult]"]


class OutcomeWriter:
    """A queue of check results and the task that writes them in batches.

    Results without new entries ("quiet") can wait for a full batch; new entries are written at once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # On PostgreSQL, two feeds in one transaction would lock the rows of their subscribers out of order.
        self._max_announced = MAX_ANNOUNCED if runtime.db.engine == "sqlite" else 1
        self._quiet: list[CheckResult] = []
        self._news: list[Waiting] = []
        self._queued = asyncio.Event()
        self._urgent = asyncio.Event()
        self._new_entries = 0
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write everything that is queued before returning, if the database is available."""
        self._closing = True
        self._queued.set()
        self._urgent.set()
        if self._task is not None:
            await self._task

    def note(self, finding: CheckResult) -> None:
        """Queue a result to be written soon, without waiting for it."""
        if not finding.quiet:
            self._news.append((finding, _unawaited_future()))
            self._urgent.set()
        elif len(self._quiet) < MAX_KEPT:
            self._quiet.append(finding)
            if len(self._quiet) >= MAX_QUIET:
                self._urgent.set()
        self._queued.set()

    async def store(self, finding: CheckResult) -> WriteResult:
        """Write a result now. Its new entries are committed when this returns."""
        for pause in PAUSES:
            try:
                return await self._store(finding)
            except Unavailable:
                await asyncio.sleep(pause)
        return await self._store(finding)

    async def _store(self, result: CheckResult) -> WriteResult:
        done: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
        self._news.append((result, done))
        self._queued.set()
        self._urgent.set()
        return await done

    async def _run(self) -> None:
        while True:
            await self._queued.wait()
            if not self._closing:
                await self._gather()
            self._queued.clear()
            self._urgent.clear()
            while self._news or self._quiet:
                if not await self._write_some() and self._closing:
                    return
                await self._analyze()
            if self._closing:
                return

    async def _gather(self) -> None:
        try:
            async with asyncio.timeout(GATHER_SECONDS):
                await self._urgent.wait()
        except TimeoutError:
            return

    async def _write_some(self) -> bool:
        """Write the next batch. False if the database was unavailable."""
        pending, self._news = self._news[: self._max_announced], self._news[self._max_announced :]
        quiet, self._quiet = self._quiet[:MAX_QUIET], self._quiet[MAX_QUIET:]
        try:
            await self._write(pending, quiet)
        except Unavailable as error:
            log.warning("outcomes wait for the database", feeds=len(pending) + len(quiet), error=error.message)
            _fail(pending, error)
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

    async def _write(self, pending: Sequence[Waiting], quiet: Sequence[CheckResult]) -> None:
        results = [*(result for result, _ in pending), *quiet]
        try:
            stored = await write_check_results(self._runtime, results)
        except Unavailable:
            raise
        except Exception as error:
            await self._write_separately(pending, quiet, error)
        else:
            self._new_entries += sum(len(result.new) for result in stored)
            for (_, done), result in zip(pending, stored, strict=False):
                if not done.done():
                    done.set_result(result)

    async def _write_separately(
        self, pending: Sequence[Waiting], quiet: Sequence[CheckResult], error: Exception
    ) -> None:
        """One result cannot be written: write each one separately, so that only the bad one fails."""
        if len(pending) + len(quiet) == 1:
            feed_id = (pending[0][0] if pending else quiet[0]).due.id
            log.error("an outcome could not be written", feed=feed_id, error=repr(error))
            return _fail(pending, error)
        for item in pending:
            await self._write([item], [])
        for result in quiet:
            await self._write([], [result])
        return None


def _fail(pending: Sequence[Waiting], error: Exception) -> None:
    for _, future in pending:
        if not future.done():
            future.set_exception(error)


def _unawaited_future() -> "asyncio.Future[WriteResult]":
    """A future that is not awaited. Reading its exception avoids a warning; failures are logged elsewhere."""
    future: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda finished: finished.exception())
    return future


# --- Progress of requested refreshes

JOB_KIND = "refresh"

_PROGRESS_INTERVAL = SECOND
_PROGRESS_TIMEOUT = 15 * MINUTE


async def follow(tx: Tx, feed_ids: Sequence[int], user_id: int, now: Instant) -> int:
    """Add a job that reports the progress of checking these feeds."""
    return await jobs.add(tx, JOB_KIND, {"feeds": list(feed_ids), "since": now}, now=now, user_id=user_id)


async def report_progress(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: count the feeds checked since the refresh was requested, until all are done."""
    feed_ids: list[int] = job.payload["feeds"]
    now = runtime.now()
    async with runtime.db.read() as tx:
        unchecked = await refresh.unchecked(tx, feed_ids, job.payload["since"], now)
    done = len(feed_ids) - unchecked
    if done != job.report.get("done"):
        await report_job_progress(runtime, job, done, len(feed_ids))
    if unchecked == 0 or now > job.created_at + _PROGRESS_TIMEOUT:
        return Done({"done": done, "total": len(feed_ids)})
    return Later(now + _PROGRESS_INTERVAL)
