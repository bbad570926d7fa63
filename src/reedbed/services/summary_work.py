"""A summary, as the AI worker writes it: by the model, or without one from the article's own sentences."""

from collections.abc import Sequence

from reedbed.ai.answers import read_summary
from reedbed.ai.model import Prompt, Trouble
from reedbed.ai.prompts import summary_prompt
from reedbed.domain.budget import Usage
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT, Summary, Variant
from reedbed.domain.times import Instant
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import clean_text
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import MOST_HTML
from reedbed.services.writers import kept_here, may_send
from reedbed.store import local_only, summaries, summary_queue, users
from reedbed.store.database import Tx
from reedbed.store.summaries import Made, Source
from reedbed.store.summary_queue import Queued

AT_ONCE = 50
UNREADABLE = "The model's answer could not be read."


@record
class SummaryWork:
    row: Queued
    source: Source
    prompt: Prompt | None
    name: str = "summary"

    @property
    def user_id(self) -> int | None:
        return self.row.user_id

    def write(self) -> Summary | Trouble:
        from reedbed.ai.extractive import extract  # three megabytes of words and patterns, once needed

        text = _text(self.source)
        found = extract(self.source.title, text)
        if not found.text:
            return Trouble("permanent", "There is nothing in this entry to summarise.")
        language = self.source.language or detect_language(text) or ""
        return Summary(found.text, found.one_line, EXTRACT, language)

    def read(self, answer: str, model: str) -> Summary | Trouble:
        found = read_summary(answer)
        if found is None:
            return Trouble("unreadable", UNREADABLE)
        return Summary(found.text, found.one_line, model, self.row.language)

    async def keep(
        self, tx: Tx, runtime: Runtime, written: Summary, used: Usage, now: Instant
    ) -> Sequence[tuple[int, int]]:
        row = self.row
        await summaries.save(tx, Made(row.key, row.content_hash, row.variant, written, used), now)
        return await self.readers(tx)

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        row = self.row
        await _ask_extract(tx, row.key, row.content_hash, row.user_id, row.priority, now)

    async def readers(self, tx: Tx) -> Sequence[tuple[int, int]]:
        return await summaries.entries_of(tx, self.row.key)


async def stand_in_for_all(tx: Tx, model: str, now: Instant) -> None:
    """The model is not asked for a while: what waits for it gets the built-in extract meanwhile."""
    for one in await summary_queue.without_extract(tx, model, most=AT_ONCE):
        await _ask_extract(tx, one.key, one.content_hash, one.user_id, one.priority, now)


async def _ask_extract(
    tx: Tx, key: str, content_hash: str, user_id: int | None, priority: int, now: Instant
) -> None:
    variant = Variant(EXTRACT)
    extract = variant.key(content_hash)
    await summaries.attach_also(tx, key, variant, extract)
    if not await summaries.exists(tx, extract):
        await summary_queue.add(tx, content_hash, variant, user_id=user_id, priority=priority, now=now)


async def find(tx: Tx, runtime: Runtime, row: Queued) -> SummaryWork | None:
    source = await summaries.source_of(tx, row.key)
    if source is None or await summaries.exists(tx, row.key):
        return None
    if row.model == EXTRACT:
        return SummaryWork(row, source, None)
    user = None if row.user_id is None else await users.by_id(tx, row.user_id)
    if user is None or not may_send(runtime, preferences_of(user)):
        return None  # who asked has left or changed their mind since: nothing is sent for them
    if await kept_here(tx, runtime, user.id) and not await local_only.may_be_sent(tx, user.id, row.key):
        return None
    return SummaryWork(row, source, summary_prompt(source.title, source.source, _text(source), row.language))


def _text(source: Source) -> str:
    return clean_text(source.content[:MOST_HTML])
