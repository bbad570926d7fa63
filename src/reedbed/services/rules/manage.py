"""Create, change, order, test and apply rules, and send their notices."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace

import structlog

from reedbed.domain.email import NotSent
from reedbed.domain.entries import StateChange, ViewQuery
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.folders import FolderRow
from reedbed.domain.live import ChangeEvent
from reedbed.domain.pagination import Cursor
from reedbed.domain.push import rule_note
from reedbed.domain.records import record
from reedbed.domain.rules import (
    Action,
    ActionKind,
    Channel,
    Condition,
    NoticedEntry,
    Rule,
    RuleNotice,
    RuleRow,
    check_rule,
    notice_email,
    notice_json,
    reordered,
)
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.domain.webhooks import WebhookEvent
from reedbed.services.email import texts_for
from reedbed.services.jobs import Done, Later, enqueue, pace, report_job_progress, try_again
from reedbed.services.live import publish_change, publish_counts, publish_states
from reedbed.services.push import enqueue_push_notes
from reedbed.services.rules.match import (
    RULES_JOB,
    Case,
    MatchOutcome,
    count_matches,
    enqueue_notices,
    enqueue_shares,
    match_rules,
    rule_subject,
    set_states,
)
from reedbed.services.runtime import Runtime
from reedbed.services.webhooks import enqueue_webhook_event, leave, webhook_at
from reedbed.store import folders, rules, sharing, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.jobs import Job
from reedbed.store.read_state import rows as reading

# --- Testing and applying

DRY_RUN_ENTRIES = 500
DRY_RUN_SECONDS = 3.0
MAX_SHOWN = 50
MAX_ENTRIES = 20_000
"""A rule applied on request is limited to the newest entries."""
BATCH_SIZE = 100
BATCH_SECONDS = 30.0


@record
class DryRun:
    looked_at: int
    matched: int
    complete: bool
    """False: time ran out before all of the newest entries were checked."""
    shown: Sequence[EntryText]
    """The newest matches."""


async def dry_run(runtime: Runtime, user_id: int, rule: Rule) -> DryRun:
    """Match a rule against the newest entries, without applying it."""
    checked, remaining = 0, DRY_RUN_SECONDS
    matches: list[EntryText] = []
    started = runtime.now()
    async for batch, folder_rows in _newest(runtime, user_id, DRY_RUN_ENTRIES):
        result = await match_rules(_cases([rule], batch, folder_rows), seconds=remaining)
        matches += [entry for entry in batch if entry.id in result.effects]
        checked += len(batch) - len(result.open)
        remaining = DRY_RUN_SECONDS - (runtime.now() - started) / 1000
        if result.open or remaining <= 0:
            return DryRun(checked, len(matches), complete=False, shown=matches[:MAX_SHOWN])
    return DryRun(checked, len(matches), complete=True, shown=matches[:MAX_SHOWN])


async def run_rules(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler, in three forms depending on the payload.

    All rules for entries that just arrived; all rules for the entries of a newly subscribed feed, without
    notices because they are not new; or one rule for the newest entries.
    """
    assert job.user_id is not None
    match job.payload:
        case {"entry_ids": entry_ids}:
            return await _apply_all(runtime, job.user_id, entry_ids, notify=True)
        case {"feed_id": feed_id}:
            unread = await _unread_ids(runtime, job.user_id, feed_id)
            return await _apply_all(runtime, job.user_id, unread, notify=False)
        case _:
            return await _apply_one(runtime, job.user_id, job)


async def _apply_one(runtime: Runtime, user_id: int, job: Job) -> Done:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, user_id, job.payload["rule_id"])
        total = await entry_texts.count_texts(tx, user_id, MAX_ENTRIES)
    if row is None:
        return Done({"error": "The rule was deleted."})
    checked, outcomes = 0, list[MatchOutcome]()
    async for batch, folder_rows in _newest(runtime, user_id, MAX_ENTRIES):
        outcomes += await _match_and_apply(runtime, user_id, [replace(row.rule, enabled=True)], batch, folder_rows)
        checked += len(batch)
        await report_job_progress(runtime, job, checked, max(total, checked), {"matched": len(outcomes)})
    async with runtime.db.write() as tx:
        await count_matches(tx, outcomes)
    return Done({"looked_at": checked, "matched": len(outcomes)})


async def _unread_ids(runtime: Runtime, user_id: int, feed_id: int) -> list[int]:
    async with runtime.db.read() as tx:
        page = await entry_lists.page(tx, user_id, ViewQuery("unread", feed_id=feed_id), None, BATCH_SIZE)
    return [row.id for row in page.rows] if page else []


async def _apply_all(runtime: Runtime, user_id: int, entry_ids: Sequence[int], *, notify: bool) -> Done:
    async with runtime.db.read() as tx:
        enabled_rules = [row.rule for row in await rules.of_user(tx, user_id) if row.rule.enabled]
        folder_rows = await folders.of_user(tx, user_id)
    outcomes: list[MatchOutcome] = []
    for start in range(0, len(entry_ids), BATCH_SIZE):
        async with runtime.db.read() as tx:
            batch = await entry_texts.visible_texts(tx, user_id, entry_ids[start : start + BATCH_SIZE])
        outcomes += await _match_and_apply(runtime, user_id, enabled_rules, batch, folder_rows)
    async with runtime.db.write() as tx:
        if notify:
            await enqueue_notices(tx, outcomes, runtime.now())
            await enqueue_shares(tx, outcomes, runtime.now())
        await count_matches(tx, outcomes)
    return Done({"looked_at": len(entry_ids), "matched": len(outcomes)})


async def _newest(
    runtime: Runtime, user_id: int, limit: int
) -> AsyncGenerator[tuple[list[EntryText], list[FolderRow]]]:
    """The newest entries this user can see, in batches, with the user's folders."""
    cursor: Cursor | None = None
    for _ in range(0, limit, BATCH_SIZE):
        async with runtime.db.read() as tx:
            page = await entry_lists.page(tx, user_id, ViewQuery("all"), cursor, BATCH_SIZE)
            rows = page.rows if page else ()
            batch = await entry_texts.visible_texts(tx, user_id, [row.id for row in rows])
            folder_rows = await folders.of_user(tx, user_id)
        if batch:
            yield batch, folder_rows
        cursor = page.next if page else None
        if cursor is None:
            return


async def _match_and_apply(
    runtime: Runtime,
    user_id: int,
    own_rules: Sequence[Rule],
    batch: Sequence[EntryText],
    folder_rows: Sequence[FolderRow],
) -> list[MatchOutcome]:
    result = await match_rules(_cases(own_rules, batch, folder_rows), seconds=BATCH_SECONDS)
    outcomes = [MatchOutcome(user_id, entry_id, effects) for entry_id, effects in result.effects.items()]
    if not outcomes:
        return []
    silent = [outcome.entry_id for outcome in outcomes if outcome.effects.silent]
    async with runtime.db.write() as tx:
        if silent:
            await reading.mark_read(tx, user_id, silent)
        await set_states(tx, outcomes, runtime.now())
    await _publish_outcomes(runtime, user_id, outcomes)
    return outcomes


def _cases(own_rules: Sequence[Rule], batch: Sequence[EntryText], folder_rows: Sequence[FolderRow]) -> Iterator[Case]:
    return (Case(entry.id, own_rules, rule_subject(entry, folder_rows)) for entry in batch)


async def _publish_outcomes(runtime: Runtime, user_id: int, outcomes: Sequence[MatchOutcome]) -> None:
    changes = (
        (StateChange(read=True), [outcome.entry_id for outcome in outcomes if outcome.effects.silent]),
        (StateChange(starred=True), [outcome.entry_id for outcome in outcomes if outcome.effects.starred]),
        (StateChange(later=True), [outcome.entry_id for outcome in outcomes if outcome.effects.later]),
    )
    for change, ids in changes:
        if ids:
            await publish_states(runtime, user_id, ids, change)
    if any(outcome.effects.tags for outcome in outcomes):
        await publish_counts(runtime, user_id)


# --- Managing

MAX_RULES = 200
NO_SUCH = "There is no such rule"


@record
class RuleDraft:
    """The requested fields of a rule. `None` leaves a field as it is."""

    name: str | None = None
    join: str | None = None
    conditions: Sequence[Condition] | None = None
    actions: Sequence[Action] | None = None
    enabled: bool | None = None


async def get_rule(runtime: Runtime, user_id: int, rule_id: int) -> RuleRow:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, user_id, rule_id)
    if row is None:
        raise NotFound(NO_SUCH)
    return row


async def create_rule(runtime: Runtime, user_id: int, draft: RuleDraft) -> RuleRow:
    rule = _with_draft(_EMPTY, draft)
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        await _check_targets(tx, user_id, rule)
        if len(await rules.of_user(tx, user_id)) >= MAX_RULES:
            raise Conflict("There can be at most %(limit)s rules. Delete some first.", limit=MAX_RULES)
        row = await rules.add(tx, user_id, rule, runtime.now())
    await publish_change(runtime, user_id, "rules")
    return row


async def change_rule(runtime: Runtime, user_id: int, rule_id: int, draft: RuleDraft) -> RuleRow:
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        current = await rules.get(tx, user_id, rule_id)
        if current is None:
            raise NotFound(NO_SUCH)
        changed = replace(current, rule=_with_draft(current.rule, draft))
        if draft.actions is not None:
            await _check_targets(tx, user_id, changed.rule)
        await rules.change(tx, user_id, changed.rule)
    await publish_change(runtime, user_id, "rules")
    return changed


async def reorder_rules(runtime: Runtime, user_id: int, ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        current_ids = [row.rule.id for row in await rules.of_user(tx, user_id)]
        await rules.place(tx, user_id, reordered(current_ids, ids))
    await publish_change(runtime, user_id, "rules")


async def delete_rule(runtime: Runtime, user_id: int, rule_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await rules.remove(tx, user_id, rule_id):
            raise NotFound(NO_SUCH)
    await publish_change(runtime, user_id, "rules")


async def try_rule(runtime: Runtime, user_id: int, draft: RuleDraft) -> DryRun:
    """Match an unsaved rule against the newest entries."""
    rule = replace(_with_draft(_EMPTY, draft), enabled=True)
    return await dry_run(runtime, user_id, rule)


async def apply_rule(runtime: Runtime, user_id: int, rule_id: int) -> int:
    """Enqueue applying a rule to existing entries; return the job id."""
    row = await get_rule(runtime, user_id, rule_id)
    return await enqueue(runtime, RULES_JOB, {"rule_id": row.rule.id}, user_id=user_id)


_EMPTY = Rule(0, "", (), ())


def _with_draft(current: Rule, draft: RuleDraft) -> Rule:
    name, join, conditions, actions = check_rule(
        current.name if draft.name is None else draft.name,
        current.join if draft.join is None else draft.join,
        current.conditions if draft.conditions is None else draft.conditions,
        current.actions if draft.actions is None else draft.actions,
    )
    enabled = current.enabled if draft.enabled is None else draft.enabled
    return Rule(current.id, name, conditions, actions, join, enabled)


async def _check_targets(tx: Tx, user_id: int, rule: Rule) -> None:
    """Refuse a service that the user does not have."""
    target_ids = {id_ for id_, _ in await sharing.names(tx, user_id)}
    for action in rule.actions:
        if action.kind is ActionKind.SHARE and int(action.value) not in target_ids:
            raise Invalid("There is no such service.", field="value")


# --- Notices


log = structlog.get_logger()

PER_USER = Allowance(30, 1 / 60)
"""Mail notices per user: allows bursts, but no steady stream."""
GIVE_UP_AFTER = 6 * HOUR


async def send_notice(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler. Nothing is sent if the rule or all its entries were deleted meanwhile."""
    assert job.user_id is not None
    notice = await _load_notice(runtime, job.user_id, job)
    if notice is None:
        return Done()
    channel = Channel(job.payload["channel"])
    if channel is Channel.MAIL and runtime.mailer is not None:
        paced = await pace(runtime, f"notices:{job.user_id}", PER_USER)
        sent = paced or await _send_mail(runtime, job, notice)
    elif channel is Channel.WEBHOOK:
        sent = Done({"named": job.payload["url"]})
    elif channel is Channel.PUSH:
        sent = await _send_push(runtime, job.user_id, notice)
    else:
        sent = Done({"shown": "page"})
    if isinstance(sent, Done):
        await _enqueue_webhooks(runtime, job)
        await runtime.bus.publish(ChangeEvent("notice", user_id=job.user_id, data=notice_json(notice)))
    return sent


async def _load_notice(runtime: Runtime, user_id: int, job: Job) -> RuleNotice | None:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, user_id, job.payload["rule_id"])
        entries = await entry_texts.visible_texts(tx, user_id, job.payload["entry_ids"])
    if row is None or not entries:
        return None
    noticed = [
        NoticedEntry(entry.id, entry.title, entry.url, entry.feed_title, entry.published_at) for entry in entries
    ]
    return RuleNotice(row.rule.id, row.rule.name, max(job.payload["count"], len(noticed)), noticed)


async def _send_mail(runtime: Runtime, job: Job, notice: RuleNotice) -> Done | Later:
    assert job.user_id is not None and runtime.mailer is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
    if user is None or user.disabled_at is not None:
        return Done()
    email = notice_email(user.email, notice, runtime.accounts.base_url, texts_for(runtime, user))
    result = await runtime.mailer.send(email, runtime.now())
    if not isinstance(result, NotSent):
        return Done({"sent": "mail"})
    return _retry_or_give_up(runtime, job, result.reason) if result.try_again else _give_up(job, result.reason)


async def _send_push(runtime: Runtime, user_id: int, notice: RuleNotice) -> Done:
    async with runtime.db.write() as tx:
        return Done({"devices": await enqueue_push_notes(tx, user_id, rule_note(notice), runtime.now())})


async def _enqueue_webhooks(runtime: Runtime, job: Job) -> None:
    """Enqueue calls of the webhook named by the rule and of those subscribed to all matches."""
    assert job.user_id is not None
    subject = {name: job.payload[name] for name in ("rule_id", "entry_ids", "count")}
    async with runtime.db.write() as tx:
        url = job.payload["url"] if job.payload["channel"] == Channel.WEBHOOK else ""
        named = await webhook_at(runtime, tx, job.user_id, url) if url else None
        if job.payload.get("first", True):
            await enqueue_webhook_event(tx, job.user_id, WebhookEvent.RULE_MATCH, subject, runtime.now(), also=named)
        elif named is not None and named.enabled and WebhookEvent.RULE_MATCH not in named.events:
            await leave(tx, job.user_id, named.id, WebhookEvent.RULE_MATCH, subject, runtime.now())


def _retry_or_give_up(runtime: Runtime, job: Job, reason: str) -> Done | Later:
    return try_again(runtime, job, give_up_after=GIVE_UP_AFTER) or _give_up(job, reason)


def _give_up(job: Job, reason: str) -> Done:
    log.warning("a notice was not sent", job=job.id, channel=job.payload["channel"], reason=reason)
    return Done({"error": reason})
