"""Highlights and notes on entries. They remain when the entry is deleted."""

from collections.abc import AsyncGenerator

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.highlights import Highlight, Passage, check_note, check_passage, occurs
from reedbed.domain.live import ChangeEvent
from reedbed.ingest.text import clean_text
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.store import highlights
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.visibility import lock_entry

MAX_HIGHLIGHTS = 10_000
NO_SUCH = "There is no such highlight"
AT_ONCE = 200


async def create_highlight(
    runtime: Runtime,
    user_id: int,
    entry_id: int,
    quote: str,
    *,
    prefix: str = "",
    suffix: str = "",
    note: str = "",
) -> Highlight:
    passage, normalized_note = check_passage(quote, prefix, suffix), check_note(note)
    async with runtime.db.read() as tx:
        entry = await entry_texts.visible_text(tx, user_id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    _check_occurs(passage, entry)
    async with runtime.db.write() as tx:
        if not await lock_entry(tx, entry_id):
            raise NotFound(NO_SUCH_ENTRY)
        if await highlights.count(tx, user_id) >= MAX_HIGHLIGHTS:
            raise Conflict(f"There can be at most {MAX_HIGHLIGHTS} highlights. Delete some first.")
        source = (entry.id, entry.title, entry.url)
        highlight = await highlights.add(tx, user_id, source, passage, normalized_note, runtime.now())
    await _publish_change(runtime, user_id, highlight)
    return highlight


async def get_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> Highlight:
    async with runtime.db.read() as tx:
        highlight = await highlights.get(tx, user_id, highlight_id)
    if highlight is None:
        raise NotFound(NO_SUCH)
    return highlight


async def change_note(runtime: Runtime, user_id: int, highlight_id: int, note: str) -> Highlight:
    normalized = check_note(note)
    async with runtime.db.write() as tx:
        changed = await highlights.set_note(tx, user_id, highlight_id, normalized, runtime.now())
    if changed is None:
        raise NotFound(NO_SUCH)
    await _publish_change(runtime, user_id, changed)
    return changed


async def delete_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> None:
    highlight = await get_highlight(runtime, user_id, highlight_id)
    async with runtime.db.write() as tx:
        await highlights.remove(tx, user_id, highlight_id)
    await _publish_change(runtime, user_id, highlight)


async def every_highlight(runtime: Runtime, user_id: int) -> AsyncGenerator[Highlight]:
    """All highlights, newest first, with at most `AT_ONCE` in memory."""
    before: int | None = None
    while True:
        async with runtime.db.read() as tx:
            batch = await highlights.newest(tx, user_id, before=before, limit=AT_ONCE)
        for highlight in batch:
            yield highlight
        if len(batch) < AT_ONCE:
            return
        before = batch[-1].id


def _check_occurs(passage: Passage, entry: EntryText) -> None:
    if not occurs(passage, clean_text(entry.content), clean_text(entry.feed_content), entry.title):
        raise Invalid("This passage is not in the entry's text", field="quote")


async def _publish_change(runtime: Runtime, user_id: int, highlight: Highlight) -> None:
    ids = [] if highlight.entry_id is None else [str(highlight.entry_id)]
    await runtime.bus.publish(
        ChangeEvent("state_changed", user_id=user_id, data={"what": "highlights", "ids": ids})
    )
