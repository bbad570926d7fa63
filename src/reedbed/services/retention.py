"""Cleanups: the nightly one and those on request, by age, count and database size; and notices about them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from reedbed.domain.errors import Conflict, ReedbedError
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.retention import (
    ARTICLES_RETENTION,
    LOGS_RETENTION,
    MISSED_FOR,
    RetentionLimits,
    cut_short,
    effective_limits,
    in_use,
    is_due,
    shorter_ages,
)
from reedbed.domain.times import DAY, SECOND, Instant, Millis
from reedbed.domain.users import User
from reedbed.services import jobs
from reedbed.services.batching import Batches
from reedbed.services.jobs import Done, Later, awaited_since, run_exclusively
from reedbed.services.live import publish_counts
from reedbed.services.runtime import Runtime
from reedbed.services.search.upkeep import PossibleWords, pause_between_batches, possible_words, reindex, weight_of
from reedbed.store import auth, instance, search, transfer, users
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST
from reedbed.store.entries import write as removed
from reedbed.store.jobs import Job
from reedbed.store.retention import cleanups, deletion
from reedbed.store.retention.cleanups import Cleanup, CleanupNotice
from reedbed.store.retention.deletion import START, Removed, State
from reedbed.store.search import texts

log = structlog.get_logger()

BATCH_SIZE = 2_000
"""Candidates read in one query."""
TEXTS_PER_BATCH = 100
KEYS_PER_BATCH = 500
_PAUSE = 0.002
_TOO_LARGE = Failure(FailureCode.DATABASE_TOO_LARGE)
_LEANEST = "leanest_entry_bytes"
_WARNING = "db_size_warning"


async def clean_up_when_due(runtime: Runtime) -> Cleanup | None:
    """Clean up once a day at the configured hour; continue an interrupted cleanup immediately."""
    now = runtime.now()
    if not runtime.clock_guard.is_trusted(now):
        return None
    async with runtime.db.read() as tx:
        last, unfinished = await cleanups.latest_cleanup(tx, now), await cleanups.is_cleanup_unfinished(tx)
    if last is None:
        last = await awaited_since(runtime, "cleanup")
    local = datetime.fromtimestamp(now / SECOND).astimezone()
    if unfinished or is_due(last, now, local, runtime.keeping.hour):
        return await clean_up(runtime)
    return None


async def clean_up(runtime: Runtime) -> Cleanup:
    run = await _begin(runtime)
    limits = await _load_limits(runtime)
    before = await _in_use(runtime)
    await _remove_aged(run, limits, "read")
    await _remove_surplus(run, limits)
    await _clear_articles(run)
    await _remove_aged(run, limits, "unread")
    await _remove_unsubscribed_feeds(run)
    await _delete_expired(run)
    size_result = await _fit_size(run, limits)
    return await _finish(run, before, size_result)


@record
class _Limits:
    limits: RetentionLimits
    own: Mapping[int, RetentionLimits]
    """Of feeds whose subscribers chose other limits, by feed id."""

    def cut_short(self, age: Millis) -> "_Limits":
        return _Limits(
            cut_short(self.limits, age), {feed_id: cut_short(limits, age) for feed_id, limits in self.own.items()}
        )


@record
class _SizeResult:
    age_days: int | None = None
    problems: tuple[Failure, ...] = ()


@dataclass(slots=True)
class _CleanupRun:
    runtime: Runtime
    id: int
    batches: Batches
    affected_users: set[int] = field(default_factory=set[int])

    async def remove(self, entry_ids: Sequence[int], state: State) -> None:
        for start in range(0, len(entry_ids), TEXTS_PER_BATCH):
            waiting = await _load_index_words(self.runtime, entry_ids[start : start + TEXTS_PER_BATCH])
            while waiting:
                batch = self.batches.take(waiting, _index_cost)
                removed_entries = await self.batches.write(partial(self._remove, batch, state))
                self.affected_users |= removed_entries.lost.keys()
                await pause_between_batches(self.batches, self.runtime.db)

    async def _remove(self, batch: Sequence[PossibleWords], state: State, tx: Tx) -> Removed:
        removed_entries = await deletion.delete_entries(tx, [entry_id for entry_id, _ in batch], state, batch)
        await cleanups.add_to_cleanup(
            tx, self.id, entries_removed=removed_entries.entries, unread_removed=removed_entries.unread
        )
        await cleanups.add_notice(tx, removed_entries.lost, self.runtime.now())
        return removed_entries

    async def clear_articles(self, entry_ids: Sequence[int]) -> None:
        waiting = await _load_index_words(self.runtime, entry_ids, always=True)
        while waiting:
            await self.batches.write(partial(self._clear, self.batches.take(waiting, _index_cost)))
            await pause_between_batches(self.batches, self.runtime.db)

    async def _clear(self, batch: Sequence[PossibleWords], tx: Tx) -> None:
        cleared = await deletion.clear_articles(tx, [entry_id for entry_id, _ in batch])
        await search.forget(tx, [words for words in batch if words[0] in cleared])
        await reindex(tx, self.runtime.known_words, list(cleared))
        await cleanups.add_to_cleanup(tx, self.id, articles_cleared=len(cleared))

    async def count(self, **more: int) -> None:
        async with self.runtime.db.write() as tx:
            await cleanups.add_to_cleanup(tx, self.id, **more)


async def _begin(runtime: Runtime) -> _CleanupRun:
    async with runtime.db.write() as tx:
        cleanup = await cleanups.begin_cleanup(tx, runtime.now())
    return _CleanupRun(runtime, cleanup.id, Batches(runtime.db))


async def _load_limits(runtime: Runtime) -> _Limits:
    limits = runtime.keeping.limits
    async with runtime.db.read() as tx:
        overrides = await deletion.overrides(tx)
    return _Limits(limits, {feed_id: effective_limits(limits, override) for feed_id, override in overrides.items()})


async def _remove_aged(run: _CleanupRun, all_limits: _Limits, state: State) -> None:
    await _remove_older(run, None, _age(all_limits.limits, state), state, excluded=list(all_limits.own))
    for feed_id, limits in all_limits.own.items():
        await _remove_older(run, feed_id, _age(limits, state), state)


def _age(limits: RetentionLimits, state: State) -> Millis | None:
    return limits.age if state == "read" else limits.unread_age


async def _remove_older(
    run: _CleanupRun, feed_id: int | None, age: Millis | None, state: State, *, excluded: Sequence[int] = ()
) -> None:
    if age is None:
        return
    before, after = run.runtime.now() - age, START
    while True:
        async with run.runtime.db.read() as tx:
            if feed_id is None:
                rows = await deletion.aged(tx, state, before, after, limit=BATCH_SIZE, but=excluded)
            else:
                rows = await deletion.aged_in(tx, feed_id, state, before, after, limit=BATCH_SIZE)
        if not rows:
            return
        await run.remove([entry_id for _, entry_id in rows], state)
        after = rows[-1]


async def _remove_surplus(run: _CleanupRun, all_limits: _Limits) -> None:
    entry_limits = [
        limits.entries for limits in (all_limits.limits, *all_limits.own.values()) if limits.entries is not None
    ]
    if not entry_limits:
        return
    async with run.runtime.db.read() as tx:
        crowded = await deletion.crowded(tx, min(entry_limits))
    for feed_id, count in crowded.items():
        limit = all_limits.own.get(feed_id, all_limits.limits).entries
        if limit is not None and count > limit:
            async with run.runtime.db.read() as tx:
                top = await deletion.newest_surplus_entry(tx, feed_id, limit)
            if top is not None:
                await _remove_up_to(run, feed_id, top, "read")


async def _remove_up_to(run: _CleanupRun, feed_id: int, top: int, state: State) -> None:
    after = 0
    while True:
        async with run.runtime.db.read() as tx:
            entry_ids = await deletion.below(tx, feed_id, state, top, beyond=after, limit=BATCH_SIZE)
        if not entry_ids:
            return
        await run.remove(entry_ids, state)
        after = entry_ids[-1]


async def _clear_articles(run: _CleanupRun) -> None:
    after, before = 0, run.runtime.now() - ARTICLES_RETENTION
    while True:
        async with run.runtime.db.read() as tx:
            entry_ids = await deletion.articles(tx, before, beyond=after, limit=TEXTS_PER_BATCH)
        if not entry_ids:
            return
        after = entry_ids[-1]
        await run.clear_articles(entry_ids)


async def _remove_unsubscribed_feeds(run: _CleanupRun) -> None:
    """Remove feeds that had no subscriber for the grace period; entries that a user keeps stay."""
    grace = run.runtime.keeping.unfollowed
    if grace is None:
        return
    left_since = run.runtime.now() - grace
    async with run.runtime.db.read() as tx:
        feed_ids = await deletion.unfollowed(tx, left_since)
    for feed_id in feed_ids:
        await _remove_up_to(run, feed_id, HIGHEST, "any")
        await _delete_in_batches(run.runtime, partial(_delete_keys, feed_id, left_since))
        async with run.runtime.db.write() as tx:
            is_removed = await deletion.remove_feed(tx, feed_id, left_since)
            await cleanups.add_to_cleanup(tx, run.id, feeds_removed=int(is_removed))


async def _delete_keys(feed_id: int, left_since: Instant, tx: Tx) -> int:
    return await deletion.delete_removed_keys(tx, feed_id, left_since, limit=KEYS_PER_BATCH)


async def _delete_expired(run: _CleanupRun) -> None:
    runtime, now = run.runtime, run.runtime.now()
    async with runtime.db.write() as tx:
        failures = await deletion.delete_summary_failures(tx, now - LOGS_RETENTION)
        await cleanups.add_to_cleanup(tx, run.id, failures_removed=failures)
        await cleanups.delete_old_cleanups(tx, now - LOGS_RETENTION)
        await auth.delete_inactive_sessions(tx, now=now, idle_since=now - runtime.accounts.session_idle)
    await _delete_in_batches(runtime, lambda tx: removed.delete_missed_keys(tx, now - MISSED_FOR, limit=KEYS_PER_BATCH))
    imported_before = now - LOGS_RETENTION
    await _delete_in_batches(runtime, lambda tx: transfer.delete_imported(tx, imported_before, limit=KEYS_PER_BATCH))
    await _delete_in_batches(runtime, lambda tx: deletion.delete_orphan_blobs(tx, now - DAY))


async def _delete_in_batches(runtime: Runtime, drop_some: Callable[[Tx], Awaitable[int]]) -> None:
    while True:
        async with runtime.db.write() as tx:
            if not await drop_some(tx):
                return
        await asyncio.sleep(_PAUSE)


async def _fit_size(run: _CleanupRun, limits: _Limits) -> _SizeResult:
    """Delete older entries until the database fits its size limit, or only recent entries are left."""
    runtime, limit = run.runtime, run.runtime.keeping.size
    if limit is None or await _size(runtime) <= limit:
        await _warn(runtime, None)
        return _SizeResult()
    reached = await _shorten_ages(run, limits, limit)
    problems: list[Failure] = []
    try:
        await runtime.db.vacuum()
    except ReedbedError as error:
        problems.append(error.failure)
    fits = await _in_use(runtime) <= limit
    await _warn(runtime, None if fits else _TOO_LARGE)
    if not fits:
        log.critical("the database exceeds its size limit", limit=limit, size=await _size(runtime))
        problems.append(_TOO_LARGE)
    return _SizeResult(None if reached is None else reached // DAY, tuple(problems))


async def _shorten_ages(run: _CleanupRun, limits: _Limits, limit: int) -> Millis | None:
    async with run.runtime.db.read() as tx:
        oldest = await deletion.oldest_arrival(tx)
    reached = None
    for age in shorter_ages(limits.limits.age, run.runtime.now() - (oldest or run.runtime.now())):
        if await _in_use(run.runtime) <= limit:
            break
        reached = age
        await _remove_aged(run, limits.cut_short(age), "read")
    return reached


async def _finish(run: _CleanupRun, before: int, size_result: _SizeResult) -> Cleanup:
    runtime = run.runtime
    await run.count(bytes_freed=max(0, before - await _in_use(runtime)))
    async with runtime.db.write() as tx:
        done = await cleanups.finish_cleanup(
            tx, run.id, runtime.now(), age_days=size_result.age_days, problems=size_result.problems
        )
    for user_id in run.affected_users:
        await publish_counts(runtime, user_id)
    log.info(
        "cleaned up",
        entries=done.entries_removed,
        unread=done.unread_removed,
        articles=done.articles_cleared,
        feeds=done.feeds_removed,
        bytes_freed=done.bytes_freed,
    )
    return done


async def _warn(runtime: Runtime, warning: Failure | None) -> None:
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, _WARNING, warning.dump() if warning else "", runtime.now())


async def _size(runtime: Runtime) -> int:
    """The size of the SQLite file; on PostgreSQL the space in use, since the server keeps freed space."""
    if runtime.db.engine == "postgresql":
        return await _in_use(runtime)
    async with runtime.db.read() as tx:
        return await instance.size_in_bytes(tx)


async def _in_use(runtime: Runtime) -> int:
    async with runtime.db.read() as tx:
        size = await instance.bytes_in_use(tx)
        if runtime.db.engine == "sqlite":
            return size
        count, leanest = await deletion.count_entries(tx), await instance.get_setting(tx, _LEANEST)
    used, least = in_use(size, count, float(leanest) if leanest else None)
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, _LEANEST, str(least), runtime.now())
    return used


async def _load_index_words(runtime: Runtime, entry_ids: Sequence[int], *, always: bool = False) -> list[PossibleWords]:
    """The words these entries may be indexed with: of the feed's text first, then of the whole article."""
    if not always and not search.needs_text_to_delete(runtime.db.engine):
        return [(entry_id, []) for entry_id in entry_ids]
    async with runtime.db.read() as tx:
        indexed_texts = await texts.possibly_indexed(tx, entry_ids)
    return await asyncio.to_thread(possible_words, entry_ids, indexed_texts)


def _index_cost(words: PossibleWords) -> float:
    return weight_of(words[1])


# --- Cleanups on request, and notices

CLEANUP_JOB = "cleanup"
LEASE = "cleanup"
"""The nightly cleanup holds it too: only one cleanup runs at a time."""


async def enqueue_cleanup(runtime: Runtime, asker: User) -> int:
    """Enqueue a cleanup and return the id of the job."""
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "cleanup_asked", asker.id, {})
    return await jobs.enqueue(runtime, CLEANUP_JOB, {}, user_id=asker.id)


async def run_cleanup(runtime: Runtime, job: Job) -> Done | Later:
    await clean_up_alone(runtime)
    return Done()


async def clean_up_alone(runtime: Runtime) -> Cleanup:
    """Raises `Conflict` while another process cleans up."""
    done: list[Cleanup] = []

    async def clean() -> None:
        done.append(await clean_up(runtime))

    if not await run_exclusively(runtime, LEASE, clean):
        raise Conflict("A cleanup is running already.")
    return done[0]


async def notice_for(runtime: Runtime, user_id: int) -> CleanupNotice | None:
    async with runtime.db.read() as tx:
        return await cleanups.get_notice(tx, user_id)


async def dismiss_notice(runtime: Runtime, user_id: int) -> None:
    async with runtime.db.write() as tx:
        await cleanups.dismiss_notice(tx, user_id)
