"""Rules: made, ordered, switched on and off, tried and applied."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace

from reedbed.domain.entries import StateChange, ViewQuery
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.folders import FolderRow
from reedbed.domain.live import ChangeEvent
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.rules import Action, Condition, Rule, RuleRow, check_rule, reordered
from reedbed.services.jobs import Done, Later, enqueue, note_progress
from reedbed.services.live import publish_counts, publish_states
from reedbed.services.rules.match import (
    RULES_JOB,
    Case,
    MatchOutcome,
    count_matches,
    judge,
    leave_notices,
    set_states,
    subject_of,
)
from reedbed.services.runtime import Runtime
from reedbed.store import folders, rules
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryWords
from reedbed.store.jobs import Job
from reedbed.store.read_state import rows as reading

DRY_RUN_ENTRIES = 500
DRY_RUN_SECONDS = 3.0
MAX_SHOWN = 50
MAX_ENTRIES = 20_000
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
            return DryRun(looked_at, len(hits), complete=False, shown=hits[:MAX_SHOWN])
    return DryRun(looked_at, len(hits), complete=True, shown=hits[:MAX_SHOWN])


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
        total = await entry_texts.count_texts(tx, user_id, MAX_ENTRIES)
    if row is None:
        return Done({"error": "The rule was deleted."})
    looked_at, met = 0, list[MatchOutcome]()
    async for some, around in _newest(runtime, user_id, MAX_ENTRIES):
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
    met: list[MatchOutcome] = []
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
) -> list[MatchOutcome]:
    judged = await judge(_cases(own, some, around), seconds=SECONDS_AT_ONCE)
    verdicts = [MatchOutcome(user_id, entry_id, effects) for entry_id, effects in judged.effects.items()]
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


async def _announce(runtime: Runtime, user_id: int, verdicts: Sequence[MatchOutcome]) -> None:
    changes = (
        (StateChange(read=True), [each.entry_id for each in verdicts if each.effects.silent]),
        (StateChange(starred=True), [each.entry_id for each in verdicts if each.effects.starred]),
        (StateChange(later=True), [each.entry_id for each in verdicts if each.effects.later]),
    )
    for change, ids in changes:
        if ids:
            await publish_states(runtime, user_id, ids, change)
    if any(each.effects.tags for each in verdicts):
        await publish_counts(runtime, user_id)


MAX_RULES = 200
NO_SUCH = "There is no such rule"


@record
class RuleDraft:
    """A rule as it is asked for; `None` leaves a part as it is."""

    name: str | None = None
    join: str | None = None
    conditions: Sequence[Condition] | None = None
    actions: Sequence[Action] | None = None
    enabled: bool | None = None


async def get_rule(runtime: Runtime, user_id: int, rule_id: int) -> RuleRow:
    async with runtime.db.read() as tx:
        found = await rules.get(tx, user_id, rule_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def create_rule(runtime: Runtime, user_id: int, draft: RuleDraft) -> RuleRow:
    rule = _drafted(_EMPTY, draft)
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        if len(await rules.of_user(tx, user_id)) >= MAX_RULES:
            raise Conflict(f"There can be at most {MAX_RULES} rules. Delete some first.")
        made = await rules.add(tx, user_id, rule, runtime.now())
    await _publish_rules(runtime, user_id)
    return made


async def change_rule(runtime: Runtime, user_id: int, rule_id: int, draft: RuleDraft) -> RuleRow:
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        current = await rules.get(tx, user_id, rule_id)
        if current is None:
            raise NotFound(NO_SUCH)
        changed = replace(current, rule=_drafted(current.rule, draft))
        await rules.change(tx, user_id, changed.rule)
    await _publish_rules(runtime, user_id)
    return changed


async def reorder_rules(runtime: Runtime, user_id: int, ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        known = [row.rule.id for row in await rules.of_user(tx, user_id)]
        await rules.place(tx, user_id, reordered(known, ids))
    await _publish_rules(runtime, user_id)


async def delete_rule(runtime: Runtime, user_id: int, rule_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await rules.remove(tx, user_id, rule_id):
            raise NotFound(NO_SUCH)
    await _publish_rules(runtime, user_id)


async def try_rule(runtime: Runtime, user_id: int, draft: RuleDraft) -> DryRun:
    """What a rule that need not exist would match among the newest entries."""
    rule = replace(_drafted(_EMPTY, draft), enabled=True)
    return await dry_run(runtime, user_id, rule)


async def apply_rule(runtime: Runtime, user_id: int, rule_id: int) -> int:
    """Ask for a rule to be applied to what is there; the job that does it."""
    row = await get_rule(runtime, user_id, rule_id)
    return await enqueue(runtime, RULES_JOB, {"rule_id": row.rule.id}, user_id=user_id)


_EMPTY = Rule(0, "", (), ())


def _drafted(current: Rule, draft: RuleDraft) -> Rule:
    name, join, conditions, actions = check_rule(
        current.name if draft.name is None else draft.name,
        current.join if draft.join is None else draft.join,
        current.conditions if draft.conditions is None else draft.conditions,
        current.actions if draft.actions is None else draft.actions,
    )
    enabled = current.enabled if draft.enabled is None else draft.enabled
    return Rule(current.id, name, conditions, actions, join, enabled)


async def _publish_rules(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(
        ChangeEvent("state_changed", user_id=user_id, data={"what": "rules", "ids": []})
    )
