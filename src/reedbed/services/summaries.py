"""Summaries as readers ask for them. A request only looks and queues; workers write."""

import asyncio
from dataclasses import replace

from reedbed.domain.accounts import User
from reedbed.domain.breaker import shown_state
from reedbed.domain.budget import is_spent_for_user
from reedbed.domain.entries import Entry
from reedbed.domain.errors import NotFound
from reedbed.domain.hints import Hint
from reedbed.domain.summaries import BACKGROUND, EXTRACT, OPENED, SummaryState, Variant, Wait
from reedbed.ingest.content_hash import content_hash
from reedbed.ingest.text import clean_text
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.services.writers import kept_here, variant_for, variant_for_feed
from reedbed.store import ai_state, entries, summaries, summary_queue
from reedbed.store.database import Tx
from reedbed.store.summaries import Attachment

NOTHING_TO_READ = "There is nothing in this entry to summarise."
MOST_HTML = 400_000


async def get_summary(runtime: Runtime, user: User, entry_id: int, *, again: bool = False) -> SummaryState:
    """What there is; where there is nothing, it is asked for. `again` gives a failed one another chance.

    While the model fails or is not asked, the built-in extract stands in for it.
    """
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user.id, entry_id)
        if entry is None:
            raise NotFound(NO_SUCH_ENTRY)
        variant = await variant_for_feed(tx, runtime, user, entry.row.feed_id)
    state = await _state_of(runtime, user, entry, variant, again=again)
    if variant.model == EXTRACT or state.status == "ready":
        return state
    wait = await _why_waiting(runtime, user, state)
    if wait is None and state.error is None:
        return state
    extract = await _state_of(runtime, user, entry, Variant(EXTRACT), again=again)
    if extract.status == "failed":
        return state
    return replace(extract, fallback=True, error=state.error, wait=wait)


async def shown_summary(tx: Tx, entry: Entry, variant: Variant) -> SummaryState | None:
    """Only what is there, without asking; None when nobody has asked yet."""
    known = await summaries.attached(tx, entry.row.id, variant)
    state = _state(known, variant) if known is not None and _is_current(known, entry) else None
    if state is None or state.error is None or variant.model == EXTRACT:
        return state
    extract = await shown_summary(tx, entry, Variant(EXTRACT))
    if extract is not None and extract.status == "failed":
        return state
    return None if extract is None else replace(extract, fallback=True, error=state.error)


async def _state_of(
    runtime: Runtime, user: User, entry: Entry, variant: Variant, *, again: bool
) -> SummaryState:
    async with runtime.db.read() as tx:
        known = await summaries.attached(tx, entry.row.id, variant)
    if known is not None and _is_current(known, entry) and not again:
        state = _state(known, variant)
        if state is not None and (state.status != "pending" or known.queued_priority == OPENED):
            return state
    return await _ask(runtime, user.id, entry, variant, priority=OPENED, again=again)


async def _why_waiting(runtime: Runtime, user: User, state: SummaryState) -> Wait | None:
    """None while the model can be asked."""
    policy, now = runtime.ai.breaker, runtime.now()
    async with runtime.db.read() as tx:
        if await ai_state.is_paused(tx):
            return Wait("paused")
        if is_spent_for_user(runtime.ai.budget, await ai_state.spent(tx, user.id, now)):
            return Wait("budget")
        breaker = await ai_state.breaker_of(tx, state.model)
    if shown_state(breaker, policy, now) != "OPEN" or breaker.last_failure_at is None:
        return None
    return Wait("silence", breaker.last_failure_at, breaker.last_failure_at + policy.recovery)


async def one_lines_for(tx: Tx, runtime: Runtime, user: User, ids: list[int]) -> dict[int, str]:
    """The lines this user sees beside titles, the model's before the extract's; an entry may have none."""
    variant = variant_for(runtime, user)
    lines = await summaries.one_lines(tx, ids, variant)
    if variant.model == EXTRACT:
        return lines
    return await summaries.one_lines(tx, [id_ for id_ in ids if id_ not in lines], Variant(EXTRACT)) | lines


async def one_lines(runtime: Runtime, user: User, ids: list[int]) -> dict[int, str]:
    async with runtime.db.read() as tx:
        return await one_lines_for(tx, runtime, user, ids)


async def ask_in_background(runtime: Runtime, user: User, entry_ids: list[int]) -> int:
    """Queue what has no summary yet, behind everything a reader has opened; how many were asked for."""
    variant = variant_for(runtime, user)
    async with runtime.db.read() as tx:
        found = await entries.by_ids(tx, user.id, entry_ids)
        kept = await kept_here(tx, runtime, user.id)
        here = [entry.row.id for entry in found if entry.row.feed_id in kept]
        have = {
            **await summaries.one_lines(tx, entry_ids, variant),
            **await summaries.one_lines(tx, here, Variant(EXTRACT)),
        }
    asked = [entry for entry in found if entry.row.id not in have]
    for entry in asked:
        by = Variant(EXTRACT) if entry.row.feed_id in kept else variant
        await _ask(runtime, user.id, entry, by, priority=BACKGROUND, again=False)
    return len(asked)


async def _ask(
    runtime: Runtime, user_id: int, entry: Entry, variant: Variant, *, priority: int, again: bool
) -> SummaryState:
    html = (entry.full_content or entry.content)[:MOST_HTML]
    if not clean_text(html).strip():
        return SummaryState("failed", error=NOTHING_TO_READ, model=variant.model)
    # Hashing walks the whole markup; elsewhere, so that other requests go on meanwhile.
    digest = await asyncio.to_thread(content_hash, html)
    now, key = runtime.now(), variant.key(digest)
    async with runtime.db.write() as tx:
        await summaries.attach(
            tx,
            entry.row.id,
            variant,
            key,
            version=entry.row.version,
            of_full=entry.full_content is not None,
        )
        if again:
            await summaries.forgive(tx, key)
            await summary_queue.retry(tx, key)
        known = await summaries.attached(tx, entry.row.id, variant)
        assert known is not None
        if known.summary is None and known.failure is None:
            await summary_queue.add(tx, digest, variant, user_id=user_id, priority=priority, now=now)
    state = _state(known, variant) or SummaryState("pending", model=variant.model)
    if state.status == "pending":
        await runtime.bus.publish(Hint("wake", data={"for": "ai"}))
    return state


def _is_current(known: Attachment, entry: Entry) -> bool:
    return known.version == entry.row.version and known.of_full == (entry.full_content is not None)


def _state(known: Attachment, variant: Variant) -> SummaryState | None:
    if known.summary is not None:
        return SummaryState("ready", known.summary, model=known.summary.model)
    if known.failure is not None:
        return SummaryState("failed", error=known.failure, model=variant.model)
    if known.queued_priority is None:
        return None
    if known.cooldown_until is not None:
        return SummaryState("failed", error=known.queued_error or "", model=variant.model)
    # With an error it has been tried at least once, in vain.
    return SummaryState("pending", error=known.queued_error, model=variant.model)
