"""Rules over what is there already: a dry run to look at, and the job that applies them."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace

from reedbed.domain.entries import Change, ViewQuery
from reedbed.domain.folders import FolderRow
from reedbed.domain.paging import Cursor
from reedbed.domain.records import record
from reedbed.domain.rules import Rule
from reedbed.services.announcing import announce_counts, announce_states
from reedbed.services.jobs import Done, Later, note_progress
from reedbed.services.rule_actions import Verdict, count_matches, leave_notices, set_states
from reedbed.services.rule_matching import Case, judge, subject_of
from reedbed.services.runtime import Runtime
from reedbed.store import entry_lists, entry_texts, folders, reading, rules
from reedbed.store.entry_texts import EntryWords
from reedbed.store.jobs import Job

DRY_RUN_ENTRIES = 500
DRY_RUN_SECONDS = 3.0
MOST_SHOWN = 50
MOST_ENTRIES = 20_000
"""A rule applied on request looks at the newest so many."""
AT_ONCE = 100
SECONDS_AT_ONCE = 30.0


@record
class DryRun:
    looked_at: int
    matched: int
    complete: bool
    """False: time ran out before all of the newest entries were looked at."""
    shown: Sequence[EntryWords]
    """The newest matches."""


async def dry_run(runtime: Runtime, user_id: int, rule: Rule) -> DryRun:
    """What a rule would match among the newest entries, without doing anything."""
    looked_at, left = 0, DRY_RUN_SECONDS
    hits: list[EntryWords] = []
    started = runtime.now()
    async for some, around in _newest(runtime, user_id, DRY_RUN_ENTRIES):
        judged = await judge(_cases([rule], some, around), seconds=left)
        hits += [entry for entry in some if entry.id in judged.effects]
        looked_at += len(some) - len(judged.open)
        left = DRY_RUN_SECONDS - (runtime.now() - started) / 1000
        if judged.open or left <= 0:
            return DryRun(looked_at, len(hits), complete=False, shown=hits[:MOST_SHOWN])
    return DryRun(looked_at, len(hits), complete=True, shown=hits[:MOST_SHOWN])


async def run_rules(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job.

    One rule over the newest entries; or all rules over some that just arrived, or over what the new follower
    of a feed finds in it, which is no news to be told of.
    """
    assert job.user_id is not None
    match job.payload:
        case {"entry_ids": entry_ids}:
            return await _catch_up(runtime, job.user_id, entry_ids, tell=True)
        case {"feed_id": feed_id}:
            found = await _unread_in(runtime, job.user_id, feed_id)
            return await _catch_up(runtime, job.user_id, found, tell=False)
        case _:
            return await _apply_one(runtime, job.user_id, job)


async def _apply_one(runtime: Runtime, user_id: int, job: Job) -> Done:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, user_id, job.payload["rule_id"])
        total = await entry_texts.how_many(tx, user_id, MOST_ENTRIES)
    if row is None:
        return Done({"error": "The rule was deleted."})
    looked_at, met = 0, list[Verdict]()
    async for some, around in _newest(runtime, user_id, MOST_ENTRIES):
        met += await _act(runtime, user_id, [replace(row.rule, enabled=True)], some, around)
        looked_at += len(some)
        await note_progress(runtime, job, looked_at, max(total, looked_at), {"matched": len(met)})
    async with runtime.db.write() as tx:
        await count_matches(tx, met)
    return Done({"looked_at": looked_at, "matched": len(met)})


async def _unread_in(runtime: Runtime, user_id: int, feed_id: int) -> list[int]:
    async with runtime.db.read() as tx:
        page = await entry_lists.page(tx, user_id, ViewQuery("unread", feed_id=feed_id), None, AT_ONCE)
    return [row.id for row in page.rows] if page else []


async def _catch_up(runtime: Runtime, user_id: int, entry_ids: Sequence[int], *, tell: bool) -> Done:
    async with runtime.db.read() as tx:
        own = [row.rule for row in await rules.of_user(tx, user_id) if row.rule.enabled]
        around = await folders.of_user(tx, user_id)
    met: list[Verdict] = []
    for start in range(0, len(entry_ids), AT_ONCE):
        async with runtime.db.read() as tx:
            some = await entry_texts.seen_by(tx, user_id, entry_ids[start : start + AT_ONCE])
        met += await _act(runtime, user_id, own, some, around)
    async with runtime.db.write() as tx:
        if tell:
            await leave_notices(tx, met, runtime.now())
        await count_matches(tx, met)
    return Done({"looked_at": len(entry_ids), "matched": len(met)})


async def _newest(
    runtime: Runtime, user_id: int, most: int
) -> AsyncGenerator[tuple[list[EntryWords], list[FolderRow]]]:
    """The newest entries this user sees, some at a time, with the user's folders."""
    cursor: Cursor | None = None
    for _ in range(0, most, AT_ONCE):
        async with runtime.db.read() as tx:
            page = await entry_lists.page(tx, user_id, ViewQuery("all"), cursor, AT_ONCE)
            rows = page.rows if page else ()
            some = await entry_texts.seen_by(tx, user_id, [row.id for row in rows])
            around = await folders.of_user(tx, user_id)
        if some:
            yield some, around
        cursor = page.next if page else None
        if cursor is None:
            return


async def _act(
    runtime: Runtime,
    user_id: int,
    own: Sequence[Rule],
    some: Sequence[EntryWords],
    around: Sequence[FolderRow],
) -> list[Verdict]:
    judged = await judge(_cases(own, some, around), seconds=SECONDS_AT_ONCE)
    verdicts = [Verdict(user_id, entry_id, effects) for entry_id, effects in judged.effects.items()]
    if not verdicts:
        return []
    silent = [verdict.entry_id for verdict in verdicts if verdict.effects.silent]
    async with runtime.db.write() as tx:
        if silent:
            await reading.read(tx, user_id, silent)
        await set_states(tx, verdicts, runtime.now())
    await _announce(runtime, user_id, verdicts)
    return verdicts


def _cases(own: Sequence[Rule], some: Sequence[EntryWords], around: Sequence[FolderRow]) -> Iterator[Case]:
    return (Case(entry.id, own, subject_of(entry, around)) for entry in some)


async def _announce(runtime: Runtime, user_id: int, verdicts: Sequence[Verdict]) -> None:
    changes = (
        (Change(read=True), [each.entry_id for each in verdicts if each.effects.silent]),
        (Change(starred=True), [each.entry_id for each in verdicts if each.effects.starred]),
        (Change(later=True), [each.entry_id for each in verdicts if each.effects.later]),
    )
    for change, ids in changes:
        if ids:
            await announce_states(runtime, user_id, ids, change)
    if any(each.effects.tags for each in verdicts):
        await announce_counts(runtime, user_id)
