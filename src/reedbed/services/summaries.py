"""A summary, as the AI worker writes it: by the model, or without one from the article's own sentences."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reedbed.ai.model import ModelError, Prompt
from reedbed.ai.prompts import summary_prompt
from reedbed.ai.responses import read_summary
from reedbed.domain.ai import Usage, is_spent_for_user, shown_state
from reedbed.domain.entries import Entry
from reedbed.domain.errors import NotFound
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.summaries import (
    BACKGROUND,
    EXTRACT,
    NEVER,
    OPENED,
    ModelWait,
    Summary,
    SummaryState,
    Variant,
    words_wanted,
)
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import clean_text, content_hash
from reedbed.services.ai import may_send, must_stay_local, variant_for, variant_for_feed
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import ai, folders, instance, subscriptions, summaries, users
from reedbed.store.ai import Queued
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.summaries import GeneratedSummary, SummaryAttachment, TextSource

NOTHING_TO_READ = "There is nothing in this entry to summarise."
MAX_HTML = 400_000


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


async def _why_waiting(runtime: Runtime, user: User, state: SummaryState) -> ModelWait | None:
    """None while the model can be asked."""
    policy, now = runtime.ai.breaker, runtime.now()
    async with runtime.db.read() as tx:
        if await ai.is_paused(tx):
            return ModelWait("paused")
        if is_spent_for_user(runtime.ai.budget, await ai.spent_today(tx, user.id, now)):
            return ModelWait("budget")
        breaker = await ai.get_breaker(tx, state.model)
    if shown_state(breaker, policy, now) != "OPEN" or breaker.last_failure_at is None:
        return None
    return ModelWait("silence", breaker.last_failure_at, breaker.last_failure_at + policy.recovery)


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
        kept = await must_stay_local(tx, runtime, user.id)
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
    html = (entry.full_content or entry.content)[:MAX_HTML]
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
            await summaries.clear_failure(tx, key)
            await ai.retry(tx, key)
        known = await summaries.attached(tx, entry.row.id, variant)
        assert known is not None
        if known.summary is None and known.failure is None:
            await ai.enqueue(tx, digest, variant, user_id=user_id, priority=priority, now=now)
    state = _state(known, variant) or SummaryState("pending", model=variant.model)
    if state.status == "pending":
        await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))
    return state


def _is_current(known: SummaryAttachment, entry: Entry) -> bool:
    return known.version == entry.row.version and known.of_full == (entry.full_content is not None)


def _state(known: SummaryAttachment, variant: Variant) -> SummaryState | None:
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


AT_A_TIME = 100


async def ask_for_new_entries(runtime: Runtime) -> int:
    """A chore: how many summaries were asked for."""
    async with runtime.db.read() as tx:
        found = [await users.get(tx, id_) for id_ in await summaries.users_with_auto_summaries(tx)]
    return sum([await _ask_for(runtime, user) for user in found if user is not None])


async def _ask_for(runtime: Runtime, user: User) -> int:
    mark = f"auto_summaries:{user.id}"
    async with runtime.db.read() as tx:
        wanted = await _wanted(tx, user)
        if not wanted:
            return 0
        seen = await instance.get_setting(tx, mark)
        after = None if seen is None else int(seen)
        new = await summaries.new_entries(tx, user.id, list(wanted), after=after, most=AT_A_TIME)
    if not new:
        return 0
    asked = await ask_in_background(
        runtime, user, [one.id for one in new if one.words >= wanted[one.feed_id]]
    )
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, mark, str(new[-1].id), runtime.now())
    return asked


async def _wanted(tx: Tx, user: User) -> Mapping[int, int]:
    """The feeds to look at, each with the least words of an entry."""
    rows, chosen = await folders.of_user(tx, user.id), preferences_of(user)
    wishes = await summaries.auto_summary_options(tx, user.id)
    words = {one.feed_id: words_wanted(one.summary_words, one.folder_id, rows, chosen) for one in wishes}
    return {feed_id: least for feed_id, least in words.items() if least != NEVER}


AT_ONCE = 50
UNREADABLE = "The model's answer could not be read."


@record
class SummaryWork:
    row: Queued
    source: TextSource
    prompt: Prompt | None
    name: str = "summary"

    @property
    def user_id(self) -> int | None:
        return self.row.user_id

    def write(self) -> Summary | ModelError:
        from reedbed.ai.extractive import extract  # three megabytes of words and patterns, once needed

        text = _text(self.source)
        found = extract(self.source.title, text)
        if not found.text:
            return ModelError("permanent", "There is nothing in this entry to summarise.")
        language = self.source.language or detect_language(text) or ""
        return Summary(found.text, found.one_line, EXTRACT, language)

    def read(self, answer: str, model: str) -> Summary | ModelError:
        found = read_summary(answer)
        if found is None:
            return ModelError("unreadable", UNREADABLE)
        return Summary(found.text, found.one_line, model, self.row.language)

    async def keep(
        self, tx: Tx, runtime: Runtime, written: Summary, used: Usage, now: Instant
    ) -> Sequence[tuple[int, int]]:
        row = self.row
        await summaries.save(tx, GeneratedSummary(row.key, row.content_hash, row.variant, written, used), now)
        return await self.readers(tx)

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        row = self.row
        await _ask_extract(tx, row.key, row.content_hash, row.user_id, row.priority, now)

    async def readers(self, tx: Tx) -> Sequence[tuple[int, int]]:
        return await summaries.entries_of(tx, self.row.key)


async def stand_in_for_all(tx: Tx, model: str, now: Instant) -> None:
    """The model is not asked for a while: what waits for it gets the built-in extract meanwhile."""
    for one in await ai.without_extract(tx, model, most=AT_ONCE):
        await _ask_extract(tx, one.key, one.content_hash, one.user_id, one.priority, now)


async def _ask_extract(
    tx: Tx, key: str, content_hash: str, user_id: int | None, priority: int, now: Instant
) -> None:
    variant = Variant(EXTRACT)
    extract = variant.key(content_hash)
    await summaries.attach_also(tx, key, variant, extract)
    if not await summaries.exists(tx, extract):
        await ai.enqueue(tx, content_hash, variant, user_id=user_id, priority=priority, now=now)


async def find(tx: Tx, runtime: Runtime, row: Queued) -> SummaryWork | None:
    source = await summaries.source_of(tx, row.key)
    if source is None or await summaries.exists(tx, row.key):
        return None
    if row.model == EXTRACT:
        return SummaryWork(row, source, None)
    user = None if row.user_id is None else await users.get(tx, row.user_id)
    if user is None or not may_send(runtime, preferences_of(user)):
        return None  # who asked has left or changed their mind since: nothing is sent for them
    if await must_stay_local(tx, runtime, user.id) and not await subscriptions.may_be_sent(
        tx, user.id, row.key
    ):
        return None
    return SummaryWork(row, source, summary_prompt(source.title, source.source, _text(source), row.language))


def _text(source: TextSource) -> str:
    return clean_text(source.content[:MAX_HTML])
