"""Summaries: read or request one, request them for new entries, and write them in the AI worker."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape

from reedbed.ai.model import ModelError, Prompt
from reedbed.ai.prompts import summary_prompt
from reedbed.ai.responses import read_summary
from reedbed.domain.ai import Usage, effective_state, is_spent_for_user
from reedbed.domain.entries import Entry
from reedbed.domain.errors import NotFound
from reedbed.domain.failures import Failure, FailureCode, untranslated
from reedbed.domain.folders import FolderRow
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.summaries import (
    BACKGROUND,
    BUILT_IN,
    EXTRACT,
    NEVER,
    NOT_NEEDED,
    OPENED,
    ModelWait,
    Summary,
    SummaryState,
    Variant,
    min_line_words,
    min_summary_words,
)
from reedbed.domain.times import Instant
from reedbed.domain.users import Preferences, User
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import clean_text, content_hash, prose_text
from reedbed.services.ai import SaveResult, Updated, may_send, must_stay_local, variant_for, variant_for_feed
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import ai, folders, instance, summaries, users
from reedbed.store.ai import Queued
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.entries.read import EntryText
from reedbed.store.playback import recordings
from reedbed.store.summaries import GeneratedSummary, SummaryAttachment, TextSource

MAX_HTML = 400_000
SHORT_DESCRIPTION = 200
"""Words; a recording whose description is shorter is summarised by its transcript as well."""


async def get_summary(runtime: Runtime, user: User, entry_id: int, *, again: bool = False) -> SummaryState:
    """The summary of an entry, requested if there is none. `again` retries a failed one.

    While the model fails or is not used, the built-in extract replaces it.
    """
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user.id, entry_id)
        if entry is None:
            raise NotFound(NO_SUCH_ENTRY)
        variant = await variant_for_feed(tx, runtime, user, entry.row.feed_id)
    state = await _get_or_request(runtime, user, entry, variant, again=again)
    if variant.model == EXTRACT or state.status == "ready" or not state.needed:
        return state
    wait = await _wait_reason(runtime, user, state)
    if wait is None and state.error is None:
        return state
    extract = await _get_or_request(runtime, user, entry, BUILT_IN, again=again)
    if extract.status == "failed":
        return state
    return replace(extract, fallback=True, error=state.error, wait=wait)


async def shown_summary(tx: Tx, entry: Entry, variant: Variant) -> SummaryState | None:
    """The existing summary without requesting one; None if none was requested."""
    attachment = await summaries.attached(tx, entry.row.id, variant)
    state = _state(attachment, variant) if attachment is not None and _is_current(attachment, entry) else None
    if state is None or state.error is None or variant.model == EXTRACT:
        return state
    extract = await shown_summary(tx, entry, BUILT_IN)
    if extract is not None and extract.status == "failed":
        return state
    return None if extract is None else replace(extract, fallback=True, error=state.error)


async def _get_or_request(runtime: Runtime, user: User, entry: Entry, variant: Variant, *, again: bool) -> SummaryState:
    async with runtime.db.read() as tx:
        attachment = await summaries.attached(tx, entry.row.id, variant)
    if attachment is not None and _is_current(attachment, entry) and not again:
        state = _state(attachment, variant)
        if state is not None and (state.status != "pending" or attachment.queued_priority == OPENED):
            return state
    return await _request(runtime, user.id, entry, variant, priority=OPENED, again=again)


async def _wait_reason(runtime: Runtime, user: User, state: SummaryState) -> ModelWait | None:
    """Why the model cannot be called now, or None."""
    policy, now = runtime.ai.breaker, runtime.now()
    async with runtime.db.read() as tx:
        if await ai.is_paused(tx):
            return ModelWait("paused")
        if is_spent_for_user(runtime.ai.budget, await ai.spent_today(tx, user.id, now)):
            return ModelWait("budget")
        breaker = await ai.get_breaker(tx, state.model)
    if effective_state(breaker, policy, now) != "OPEN" or breaker.last_failure_at is None:
        return None
    return ModelWait("silence", breaker.last_failure_at, breaker.last_failure_at + policy.recovery)


async def one_lines_for(tx: Tx, runtime: Runtime, user: User, ids: list[int]) -> dict[int, str]:
    """The one-line summaries shown beside titles: the model's, else the extract's. Some entries have none."""
    variant = variant_for(runtime, user)
    lines = await summaries.one_lines(tx, ids, variant)
    if variant.model == EXTRACT:
        return lines
    return await summaries.one_lines(tx, [id_ for id_ in ids if id_ not in lines], BUILT_IN) | lines


async def one_lines(runtime: Runtime, user: User, ids: list[int]) -> dict[int, str]:
    async with runtime.db.read() as tx:
        return await one_lines_for(tx, runtime, user, ids)


async def request_summaries(runtime: Runtime, user: User, entry_ids: list[int]) -> int:
    """Queue entries without a summary, after those that a reader has opened; return how many."""
    variant = variant_for(runtime, user)
    async with runtime.db.read() as tx:
        loaded = await entries.by_ids(tx, user.id, entry_ids)
        private_feeds = await must_stay_local(tx, runtime, user.id)
        private_ids = [entry.row.id for entry in loaded if entry.row.feed_id in private_feeds]
        existing = {
            **await summaries.one_lines(tx, entry_ids, variant),
            **await summaries.one_lines(tx, private_ids, BUILT_IN),
        }
    missing = [entry for entry in loaded if entry.row.id not in existing]
    for entry in missing:
        entry_variant = BUILT_IN if entry.row.feed_id in private_feeds else variant
        await _request(runtime, user.id, entry, entry_variant, priority=BACKGROUND, again=False)
    return len(missing)


async def _request(
    runtime: Runtime, user_id: int, entry: Entry, variant: Variant, *, priority: int, again: bool
) -> SummaryState:
    async with runtime.db.read() as tx:
        transcript = await recordings.words(tx, entry.row.id) if entry.enclosures else ""
    html = _to_summarise(entry.full_content or entry.content, transcript)
    if not clean_text(html).strip():
        return SummaryState("failed", error=Failure(FailureCode.NOTHING_TO_SUMMARISE), model=variant.model)
    if not await asyncio.to_thread(_saves_reading, html):
        return _not_needed(variant)
    # Hashing reads the whole markup, so it runs in a thread to keep the event loop free.
    digest = await asyncio.to_thread(content_hash, html)
    now, key = runtime.now(), variant.key(digest)
    async with runtime.db.write() as tx:
        await summaries.attach(
            tx, entry.row.id, variant, key, version=entry.row.version, of_full=entry.full_content is not None
        )
        if again:
            await summaries.clear_failure(tx, key)
            await ai.retry(tx, key)
        attachment = await summaries.attached(tx, entry.row.id, variant)
        assert attachment is not None
        if attachment.summary is None and attachment.failure is None:
            await ai.enqueue(tx, digest, variant, user_id=user_id, priority=priority, now=now)
    state = _state(attachment, variant) or SummaryState("pending", model=variant.model)
    if state.status == "pending":
        await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))
    return state


def _is_current(attachment: SummaryAttachment, entry: Entry) -> bool:
    return attachment.version == entry.row.version and attachment.of_full == (entry.full_content is not None)


def _state(attachment: SummaryAttachment, variant: Variant) -> SummaryState | None:
    if attachment.summary is not None and not attachment.summary.text:
        return _not_needed(variant)
    if attachment.summary is not None:
        return SummaryState("ready", attachment.summary, model=attachment.summary.model)
    if attachment.failure is not None:
        return SummaryState("failed", error=attachment.failure, model=variant.model)
    if attachment.queued_priority is None:
        return None
    if attachment.cooldown_until is not None:
        return SummaryState("failed", error=attachment.queued_error or untranslated(""), model=variant.model)
    # With an error, at least one attempt has failed.
    return SummaryState("pending", error=attachment.queued_error, model=variant.model)


def _saves_reading(html: str) -> bool:
    from reedbed.ai.extractive import saves_reading  # imported late: three megabytes of word lists and patterns

    return saves_reading(prose_text(html))


def _not_needed(variant: Variant) -> SummaryState:
    return SummaryState("failed", error=NOT_NEEDED, model=variant.model, needed=False)


# --- Automatic summaries

AT_A_TIME = 100


class SummaryRequester:
    """Requests summaries of new entries; remembers the newest entry, so that an idle server asks for nothing."""

    def __init__(self) -> None:
        self._newest: int | None = None

    async def request_new(self, runtime: Runtime) -> int:
        async with runtime.db.read() as tx:
            newest = await summaries.newest_entry(tx)
            has_new = newest != self._newest
            owners = [await users.get(tx, id_) for id_ in await summaries.users_with_lines(tx, with_lines=has_new)]
        counts = [await _request_new(runtime, user) for user in owners if user is not None]
        # Whoever has more waiting goes on the next time.
        self._newest = None if AT_A_TIME in (seen for seen, _ in counts) else newest
        return sum(requested for _, requested in counts)


async def request_new_summaries(runtime: Runtime) -> int:
    """Request summaries of new entries; return how many."""
    return await SummaryRequester().request_new(runtime)


async def _request_new(runtime: Runtime, user: User) -> tuple[int, int]:
    """How many new entries were looked at, and for how many a summary or a line was requested."""
    summarised = await _request_of_new(runtime, user, "auto_summaries", min_summary_words, request_summaries)
    lined = await _request_of_new(runtime, user, "one_lines", min_line_words, _write_lines, skip_older=True)
    return max(summarised[0], lined[0]), summarised[1] + lined[1]


async def _request_of_new(
    runtime: Runtime,
    user: User,
    kind: str,
    minimum: Callable[[int | None, int | None, Sequence[FolderRow], Preferences], int],
    request: Callable[[Runtime, User, list[int]], Awaitable[int]],
    *,
    skip_older: bool = False,
) -> tuple[int, int]:
    """With `skip_older`, only the newest of very many are looked at: an import brings more than anyone reads."""
    key = f"{kind}:{user.id}"
    async with runtime.db.read() as tx:
        rows, preferences = await folders.of_user(tx, user.id), preferences_of(user)
        options = await summaries.auto_summary_options(tx, user.id)
        least = {one.feed_id: minimum(one.summary_words, one.folder_id, rows, preferences) for one in options}
        least = {feed_id: words for feed_id, words in least.items() if words != NEVER}
        if not least:
            return 0, 0
        seen = await instance.get_setting(tx, key)
        after = None if seen is None else int(seen)
        new = await summaries.new_entries(
            tx, user.id, list(least), after=None if skip_older else after, limit=AT_A_TIME
        )
        if skip_older and after is not None:
            new = [entry for entry in new if entry.id > after]
    if not new:
        return 0, 0
    count = await request(runtime, user, [entry.id for entry in new if entry.words >= least[entry.feed_id]])
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, key, str(new[-1].id), runtime.now())
    return len(new), count


async def _write_lines(runtime: Runtime, user: User, entry_ids: list[int]) -> int:
    """Extract the summaries of entries that have none: their first lines stand in lists."""
    async with runtime.db.read() as tx:
        existing = await summaries.one_lines(tx, entry_ids, BUILT_IN)
        rows = await entries.by_ids(tx, user.id, [id_ for id_ in entry_ids if id_ not in existing])
        missing = await entries.visible_texts(tx, user.id, [entry.row.id for entry in rows])
    return len(await extract_summaries(runtime, missing, {entry.row.id: entry.row.version for entry in rows}))


# --- Many built-in summaries at once


@record
class _ExtractedSummary:
    entry: EntryText
    content_hash: str
    summary: Summary


async def extract_summaries(
    runtime: Runtime, texts: Sequence[EntryText], versions: Mapping[int, int]
) -> dict[int, Summary]:
    """Extract and save the built-in summaries of these entries in one go, without the queue."""
    extracted = await asyncio.to_thread(_extract_all, texts)
    await _save_extracted(runtime, extracted, versions)
    return {item.entry.id: item.summary for item in extracted}


def _extract_all(missing: Sequence[EntryText]) -> list[_ExtractedSummary]:
    return [result for entry in missing if (result := _extract(entry)) is not None]


def _extract(entry: EntryText) -> _ExtractedSummary | None:
    from reedbed.ai.extractive import summarise  # loads three megabytes of words and patterns on first use

    html = _to_summarise(entry.content, entry.transcript)
    extracted = summarise(entry.title, prose_text(html))
    if not extracted.one_line:
        return None
    summary = Summary(extracted.text, extracted.one_line, EXTRACT, entry.language or "")
    return _ExtractedSummary(entry, content_hash(html), summary)


async def _save_extracted(
    runtime: Runtime, extracted: Sequence[_ExtractedSummary], versions: Mapping[int, int]
) -> None:
    if not extracted:
        return
    variant, now = BUILT_IN, runtime.now()
    async with runtime.db.write() as tx:
        for item in extracted:
            key = variant.key(item.content_hash)
            await summaries.save(tx, GeneratedSummary(key, item.content_hash, variant.name, item.summary, Usage()), now)
            await summaries.attach(
                tx,
                item.entry.id,
                variant,
                key,
                version=versions[item.entry.id],
                of_full=item.entry.content != item.entry.feed_content,
            )


# --- Writing summaries in the AI worker

BATCH_SIZE = 50


@record
class SummaryWork:
    row: Queued
    source: TextSource
    prompt: Prompt | None
    name: str = "summary"

    @property
    def user_id(self) -> int | None:
        return self.row.user_id

    def write(self) -> SaveResult | ModelError:
        from reedbed.ai.extractive import summarise  # imported late: three megabytes of word lists and patterns

        text = _text(self.source)
        extracted = summarise(self.source.title, text)
        if not extracted.one_line:
            return ModelError("permanent", Failure(FailureCode.NOTHING_TO_SUMMARISE))
        language = self.source.language or detect_language(text) or ""
        return partial(self._save, Summary(extracted.text, extracted.one_line, EXTRACT, language))

    def read(self, answer: str, model: str) -> SaveResult | ModelError:
        parsed = read_summary(answer, f"{self.source.title}\n{_text(self.source)}")
        if parsed is None:
            return ModelError("unreadable", Failure(FailureCode.MODEL_UNREADABLE_ANSWER))
        return partial(self._save, Summary(parsed.text, parsed.one_line, model, self.row.language))

    async def _save(self, summary: Summary, tx: Tx, runtime: Runtime, used: Usage, now: Instant) -> Updated:
        row = self.row
        await summaries.save(tx, GeneratedSummary(row.key, row.content_hash, row.variant, summary, used), now)
        return await self.readers(tx)

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        row = self.row
        await _request_extract(tx, row.key, row.content_hash, row.user_id, row.priority, now)

    async def readers(self, tx: Tx) -> Updated:
        return await summaries.entries_of(tx, self.row.key)


async def enqueue_extracts(tx: Tx, model: str, now: Instant) -> None:
    """The model is unavailable for a while: queue the built-in extract for the requests that wait for it."""
    for queued in await ai.without_extract(tx, model, limit=BATCH_SIZE):
        await _request_extract(tx, queued.key, queued.content_hash, queued.user_id, queued.priority, now)


async def _request_extract(
    tx: Tx, key: str, content_hash: str, user_id: int | None, priority: int, now: Instant
) -> None:
    variant = BUILT_IN
    extract = variant.key(content_hash)
    await summaries.attach_other_variant(tx, key, variant, extract)
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
        return None  # the user left or withdrew consent, so nothing is sent
    if await must_stay_local(tx, runtime, user.id) and not await ai.may_be_sent(tx, user.id, row.key):
        return None
    return SummaryWork(row, source, summary_prompt(source.title, source.source, _text(source), row.language))


def _text(source: TextSource) -> str:
    return prose_text(_to_summarise(source.content, source.transcript))


# --- Transcripts


def _to_summarise(html: str, transcript: str) -> str:
    """The markup to summarise: a description of a recording that is short, with the transcript after it."""
    if not transcript or not _is_short(html):
        return html[:MAX_HTML]
    return "".join((html, *(f"<p>{escape(line, quote=False)}</p>" for line in transcript.splitlines())))[:MAX_HTML]


def _is_short(html: str) -> bool:
    return len(html) < MAX_HTML and len(clean_text(html).split()) < SHORT_DESCRIPTION


async def summarise_again(runtime: Runtime, user_id: int, entry_id: int) -> None:
    """A transcript has come: what was written about a short description is out of date.

    The built-in line is written at once where there was one; the rest when somebody asks for it.
    """
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user_id, entry_id)
        texts = await entries.visible_texts(tx, user_id, [entry_id])
        has_line = await summaries.attached(tx, entry_id, BUILT_IN) is not None
    if entry is None or not await asyncio.to_thread(_is_short, entry.full_content or entry.content):
        return
    async with runtime.db.write() as tx:
        await summaries.detach(tx, entry_id)
    if has_line:
        await extract_summaries(runtime, texts, {entry_id: entry.row.version})
