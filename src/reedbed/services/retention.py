"""Cleaning up because somebody asked for it, and what people are told about cleanups."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from reedbed.domain.errors import Conflict, ReedbedError
from reedbed.domain.records import record
from reedbed.domain.retention import (
    ARTICLES_KEPT,
    LOGS_KEPT,
    MISSED_FOR,
    RetentionLimits,
    cut_short,
    in_use,
    is_due,
    limits_of_feed,
    shorter_ages,
)
from reedbed.domain.times import DAY, SECOND, Instant, Millis
from reedbed.domain.users import User
from reedbed.services import jobs
from reedbed.services.batching import Batches
from reedbed.services.jobs import Done, Later, first_look, run_exclusively
from reedbed.services.live import publish_counts
from reedbed.services.runtime import Runtime
from reedbed.services.search import PossibleWords, possible_words, reindex, weight_of, yield_to_event_loop
from reedbed.store import auth, instance, retention, search, transfer, users
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST
from reedbed.store.entries import write as removed
from reedbed.store.jobs import Job
from reedbed.store.retention import START, Cleanup, CleanupNotice, Removed, State
from reedbed.store.search import texts

log = structlog.get_logger()

AT_ONCE = 2_000
"""Candidates looked up in one go."""
TEXTS_AT_ONCE = 100
KEYS_AT_ONCE = 500
_PAUSE = 0.002
_TOO_LARGE = "DB exceeds configured limit"
_LEANEST = "leanest_entry_bytes"
_WARNING = "db_size_warning"


async def clean_up_when_due(runtime: Runtime) -> Cleanup | None:
    """Once a day at the set hour; one that was broken off goes on at once."""
    now = runtime.now()
    if not runtime.steadiness.trusts(now):
        return None
    async with runtime.db.read() as tx:
        last, unfinished = await retention.latest_cleanup(tx, now), await retention.is_cleanup_unfinished(tx)
    if last is None:
        last = await first_look(runtime, "cleanup")
    local = datetime.fromtimestamp(now / SECOND).astimezone()
    if unfinished or is_due(last, now, local, runtime.keeping.hour):
        return await clean_up(runtime)
    return None


async def clean_up(runtime: Runtime) -> Cleanup:
    run = await _begin(runtime)
    terms = await _terms(runtime)
    before = await _in_use(runtime)
    await _remove_aged(run, terms, "read")
    await _remove_surplus(run, terms)
    await _clear_articles(run)
    await _remove_aged(run, terms, "unread")
    await _remove_unfollowed(run)
    await _drop_leftovers(run)
    fitted = await _make_fit(run, terms)
    return await _finish(run, before, fitted)


@record
class _Terms:
    limits: RetentionLimits
    own: Mapping[int, RetentionLimits]
    """Of feeds whose followers want more or less kept."""

    def cut_short(self, age: Millis) -> "_Terms":
        return _Terms(
            cut_short(self.limits, age),
            {feed_id: cut_short(limits, age) for feed_id, limits in self.own.items()},
        )


@record
class _Fitted:
    age_days: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _CleanupRun:
    runtime: Runtime
    id: int
    pieces: Batches
    losers: set[int] = field(default_factory=set[int])

    async def remove(self, entry_ids: Sequence[int], state: State) -> None:
        for place in range(0, len(entry_ids), TEXTS_AT_ONCE):
            waiting = await _words(self.runtime, entry_ids[place : place + TEXTS_AT_ONCE])
            while waiting:
                piece = self.pieces.take(waiting, _weigh)
                gone = await self.pieces.write(partial(self._remove, piece, state))
                self.losers |= gone.lost.keys()
                await yield_to_event_loop(self.pieces, self.runtime.db)

    async def _remove(self, piece: Sequence[PossibleWords], state: State, tx: Tx) -> Removed:
        gone = await retention.delete_entries(tx, [entry_id for entry_id, _ in piece], state, piece)
        await retention.add_to_cleanup(tx, self.id, entries_removed=gone.entries, unread_removed=gone.unread)
        await retention.add_notice(tx, gone.lost, self.runtime.now())
        return gone

    async def clear_articles(self, entry_ids: Sequence[int]) -> None:
        waiting = await _words(self.runtime, entry_ids, always=True)
        while waiting:
            await self.pieces.write(partial(self._clear, self.pieces.take(waiting, _weigh)))
            await yield_to_event_loop(self.pieces, self.runtime.db)

    async def _clear(self, piece: Sequence[PossibleWords], tx: Tx) -> None:
        cleared = await retention.clear_articles(tx, [entry_id for entry_id, _ in piece])
        await search.forget(tx, [one for one in piece if one[0] in cleared])
        await reindex(tx, list(cleared))
        await retention.add_to_cleanup(tx, self.id, articles_cleared=len(cleared))

    async def count(self, **more: int) -> None:
        async with self.runtime.db.write() as tx:
            await retention.add_to_cleanup(tx, self.id, **more)


async def _begin(runtime: Runtime) -> _CleanupRun:
    async with runtime.db.write() as tx:
        begun = await retention.begin_cleanup(tx, runtime.now())
    return _CleanupRun(runtime, begun.id, Batches(runtime.db))


async def _terms(runtime: Runtime) -> _Terms:
    limits = runtime.keeping.limits
    async with runtime.db.read() as tx:
        wishes = await retention.wishes(tx)
    return _Terms(limits, {feed_id: limits_of_feed(limits, wanted) for feed_id, wanted in wishes.items()})


async def _remove_aged(run: _CleanupRun, terms: _Terms, state: State) -> None:
    await _remove_older(run, None, _age(terms.limits, state), state, but=list(terms.own))
    for feed_id, limits in terms.own.items():
        await _remove_older(run, feed_id, _age(limits, state), state)


def _age(limits: RetentionLimits, state: State) -> Millis | None:
    return limits.age if state == "read" else limits.unread_age


async def _remove_older(
    run: _CleanupRun, feed_id: int | None, age: Millis | None, state: State, *, but: Sequence[int] = ()
) -> None:
    if age is None:
        return
    before, place = run.runtime.now() - age, START
    while True:
        async with run.runtime.db.read() as tx:
            if feed_id is None:
                found = await retention.aged(tx, state, before, place, most=AT_ONCE, but=but)
            else:
                found = await retention.aged_in(tx, feed_id, state, before, place, most=AT_ONCE)
        if not found:
            return
        await run.remove([entry_id for _, entry_id in found], state)
        place = found[-1]


async def _remove_surplus(run: _CleanupRun, terms: _Terms) -> None:
    wanted = [limits.entries for limits in (terms.limits, *terms.own.values()) if limits.entries is not None]
    if not wanted:
        return
    async with run.runtime.db.read() as tx:
        crowded = await retention.crowded(tx, min(wanted))
    for feed_id, count in crowded.items():
        kept = terms.own.get(feed_id, terms.limits).entries
        if kept is not None and count > kept:
            async with run.runtime.db.read() as tx:
                top = await retention.surplus_top(tx, feed_id, kept)
            if top is not None:
                await _remove_up_to(run, feed_id, top, "read")


async def _remove_up_to(run: _CleanupRun, feed_id: int, top: int, state: State) -> None:
    beyond = 0
    while True:
        async with run.runtime.db.read() as tx:
            found = await retention.below(tx, feed_id, state, top, beyond=beyond, most=AT_ONCE)
        if not found:
            return
        await run.remove(found, state)
        beyond = found[-1]


async def _clear_articles(run: _CleanupRun) -> None:
    beyond, before = 0, run.runtime.now() - ARTICLES_KEPT
    while True:
        async with run.runtime.db.read() as tx:
            found = await retention.articles(tx, before, beyond=beyond, most=TEXTS_AT_ONCE)
        if not found:
            return
        beyond = found[-1]
        await run.clear_articles(found)


async def _remove_unfollowed(run: _CleanupRun) -> None:
    """Feeds that nobody came back to, with what nobody kept of them."""
    grace = run.runtime.keeping.unfollowed
    if grace is None:
        return
    left_since = run.runtime.now() - grace
    async with run.runtime.db.read() as tx:
        feed_ids = await retention.unfollowed(tx, left_since)
    for feed_id in feed_ids:
        await _remove_up_to(run, feed_id, HIGHEST, "any")
        await _drop_all(run.runtime, partial(_drop_keys, feed_id, left_since))
        async with run.runtime.db.write() as tx:
            gone = await retention.remove_feed(tx, feed_id, left_since)
            await retention.add_to_cleanup(tx, run.id, feeds_removed=int(gone))


async def _drop_keys(feed_id: int, left_since: Instant, tx: Tx) -> int:
    return await retention.drop_keys(tx, feed_id, left_since, most=KEYS_AT_ONCE)


async def _drop_leftovers(run: _CleanupRun) -> None:
    runtime, now = run.runtime, run.runtime.now()
    async with runtime.db.write() as tx:
        failures = await retention.drop_failures(tx, now - LOGS_KEPT)
        await retention.add_to_cleanup(tx, run.id, failures_removed=failures)
        await retention.delete_old_cleanups(tx, now - LOGS_KEPT)
        await auth.delete_user_sessions(tx, now=now, idle_since=now - runtime.accounts.session_idle)
    await _drop_all(runtime, lambda tx: removed.forget_missed(tx, now - MISSED_FOR, most=KEYS_AT_ONCE))
    await _drop_all(runtime, lambda tx: transfer.delete_imported(tx, now - LOGS_KEPT, most=KEYS_AT_ONCE))
    await _drop_all(runtime, lambda tx: retention.drop_orphan_blobs(tx, now - DAY))


async def _drop_all(runtime: Runtime, drop_some: Callable[[Tx], Awaitable[int]]) -> None:
    while True:
        async with runtime.db.write() as tx:
            if not await drop_some(tx):
                return
        await asyncio.sleep(_PAUSE)


async def _make_fit(run: _CleanupRun, terms: _Terms) -> _Fitted:
    """Make room until the database is within its size, or only what arrived lately is left."""
    runtime, limit = run.runtime, run.runtime.keeping.size
    if limit is None or await _size(runtime) <= limit:
        await _warn(runtime, "")
        return _Fitted()
    reached = await _shorten(run, terms, limit)
    notes = [] if reached is None else [f"Only {reached // DAY} days of read entries are kept."]
    try:
        await runtime.db.vacuum()
    except ReedbedError as error:
        notes.append(error.message)
    fits = await _in_use(runtime) <= limit
    await _warn(runtime, "" if fits else _TOO_LARGE)
    if not fits:
        log.critical("the database is larger than it may be", limit=limit, size=await _size(runtime))
        notes.append(_TOO_LARGE)
    return _Fitted(None if reached is None else reached // DAY, tuple(notes))


async def _shorten(run: _CleanupRun, terms: _Terms, limit: int) -> Millis | None:
    async with run.runtime.db.read() as tx:
        oldest = await retention.oldest_arrival(tx)
    reached = None
    for age in shorter_ages(terms.limits.age, run.runtime.now() - (oldest or run.runtime.now())):
        if await _in_use(run.runtime) <= limit:
            break
        reached = age
        await _remove_aged(run, terms.cut_short(age), "read")
    return reached


async def _finish(run: _CleanupRun, before: int, fitted: _Fitted) -> Cleanup:
    runtime = run.runtime
    await run.count(bytes_freed=max(0, before - await _in_use(runtime)))
    async with runtime.db.write() as tx:
        done = await retention.finish_cleanup(
            tx, run.id, runtime.now(), age_days=fitted.age_days, notes=" ".join(fitted.notes)
        )
    for user_id in run.losers:
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


async def _warn(runtime: Runtime, warning: str) -> None:
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, _WARNING, warning, runtime.now())


async def _size(runtime: Runtime) -> int:
    """On SQLite of the file; on PostgreSQL of what it holds, since freed space stays with the server."""
    if runtime.db.engine == "postgresql":
        return await _in_use(runtime)
    async with runtime.db.read() as tx:
        return await instance.size_in_bytes(tx)


async def _in_use(runtime: Runtime) -> int:
    async with runtime.db.read() as tx:
        size = await instance.bytes_in_use(tx)
        if runtime.db.engine == "sqlite":
            return size
        count, leanest = await retention.count_entries(tx), await instance.get_setting(tx, _LEANEST)
    used, least = in_use(size, count, float(leanest) if leanest else None)
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, _LEANEST, str(least), runtime.now())
    return used


async def _words(runtime: Runtime, entry_ids: Sequence[int], *, always: bool = False) -> list[PossibleWords]:
    """What the search index may hold of these entries: from the feed's text first, then the whole article."""
    if not always and not search.needs_words_to_forget(runtime.db.engine):
        return [(entry_id, []) for entry_id in entry_ids]
    async with runtime.db.read() as tx:
        found = await texts.possibly_indexed(tx, entry_ids)
    return await asyncio.to_thread(possible_words, entry_ids, found)


def _weigh(one: PossibleWords) -> float:
    return weight_of(one[1])


CLEANUP_JOB = "cleanup"
LEASE = "cleanup"
"""The nightly one holds it, too: there is one cleanup at a time."""


async def ask_for_cleanup(runtime: Runtime, asker: User) -> int:
    """The id of the job."""
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
        return await retention.get_notice(tx, user_id)


async def dismiss_notice(runtime: Runtime, user_id: int) -> None:
    async with runtime.db.write() as tx:
        await retention.dismiss_notice(tx, user_id)
