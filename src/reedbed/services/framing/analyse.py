"""Framing analysis tasks for the AI worker."""

from collections.abc import Sequence
from dataclasses import field
from functools import partial

from reedbed.ai.model import ModelError, Prompt
from reedbed.ai.prompts import framing_prompt
from reedbed.ai.responses import json_object, read_framing
from reedbed.domain.ai import Usage
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.framing import Analysis, variant_for
from reedbed.domain.records import record
from reedbed.domain.summaries import MAX_ATTEMPTS
from reedbed.domain.times import Instant
from reedbed.ingest.text import clean_text
from reedbed.services.ai import SaveResult, Updated, may_send, must_stay_local
from reedbed.services.framing.manage import build_documents
from reedbed.services.jobs import enqueue_framing
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import MAX_HTML
from reedbed.services.users import preferences_of
from reedbed.store import users
from reedbed.store.ai import Queued
from reedbed.store.engine.database import Tx
from reedbed.store.framing import analyses
from reedbed.store.framing.analyses import AnalysisInput, GeneratedAnalysis


@record
class FramingWork:
    row: Queued
    source: AnalysisInput
    words: str = field(repr=False)
    """The text that the model may quote."""
    prompt: Prompt | None
    name: str = "framing"

    @property
    def user_id(self) -> int | None:
        return None if self.source.for_all_users else self.row.user_id

    def write(self) -> ModelError:
        return ModelError("permanent", Failure(FailureCode.FRAMING_NEEDS_MODEL))

    def read(self, answer: str, model: str) -> SaveResult | ModelError:
        last = self.row.attempts + 1 >= MAX_ATTEMPTS
        analysis = read_framing(answer, self.words, model=model, language=self.row.language, last_try=last)
        if analysis is not None:
            return partial(self._save, analysis)
        # Valid JSON with a wrong field does not mean that the model is broken.
        kind = "permanent" if json_object(answer) else "unreadable"
        return ModelError(kind, Failure(FailureCode.MODEL_WRONG_ANSWER))

    async def _save(self, analysis: Analysis, tx: Tx, runtime: Runtime, used: Usage, now: Instant) -> Updated:
        row = self.row
        await analyses.save(tx, GeneratedAnalysis(row.key, row.content_hash, row.variant, analysis, used), now)
        return await _publish(tx, runtime, row.key, now)

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        """There is no substitute: only a model can analyse framing."""

    async def readers(self, tx: Tx) -> Updated:
        return await analyses.waiting_for(tx, self.row.key)


async def find(tx: Tx, runtime: Runtime, row: Queued) -> FramingWork | None:
    if await analyses.exists(tx, row.key):
        await _publish(tx, runtime, row.key, runtime.now())
        return None
    source = await analyses.source_of(tx, row.key, row.user_id)
    if source is None or not await _may_analyse(tx, runtime, row, source):
        return None
    if variant_for(row.model, row.language, source.prompt).name != row.variant:
        await enqueue_framing(tx, source.feed_id, runtime.now())  # the feed's prompt has changed since
        return None
    text = clean_text(source.content[:MAX_HTML])
    prompt = framing_prompt(source.title, source.source, text, row.language, source.prompt)
    return FramingWork(row, source, f"{source.title}\n\n{text}", prompt)


async def _may_analyse(tx: Tx, runtime: Runtime, row: Queued, source: AnalysisInput) -> bool:
    """The admin may send texts of a public feed. For a private analysis, its user must allow it."""
    if source.for_all_users:
        return True
    user = None if row.user_id is None else await users.get(tx, row.user_id)
    if user is None or not source.requested or not may_send(runtime, preferences_of(user)):
        return False
    return source.feed_id not in await must_stay_local(tx, runtime, user.id)


async def _publish(tx: Tx, runtime: Runtime, key: str, now: Instant) -> Sequence[tuple[int, int]]:
    updated = await analyses.adopt(tx, key)
    await build_documents(tx, runtime, {feed_id for _, feed_id in updated}, now)
    return updated
