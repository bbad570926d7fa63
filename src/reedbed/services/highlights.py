"""Highlights and notes on entries. They remain when the entry is deleted."""

from collections.abc import AsyncGenerator

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.highlights import (
    FIRST_COLOR,
    Highlight,
    HighlightFilter,
    Passage,
    check_color,
    check_note,
    check_passage,
    occurs,
)
from reedbed.ingest.text import clean_text
from reedbed.services import interest
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.live import publish_change
from reedbed.services.runtime import Runtime
from reedbed.store import highlights
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.visibility import lock_entry

MAX_HIGHLIGHTS = 10_000
NO_SUCH = "There is no such highlight"
BATCH_SIZE = 200


async def create_highlight(
    runtime: Runtime, user_id: int, entry_id: int, passage: Passage, *, note: str = "", color: str = FIRST_COLOR
) -> Highlight:
    passage = check_passage(passage.quote, passage.prefix, passage.suffix)
    normalized_note, known_color = check_note(note), check_color(color)
    async with runtime.db.read() as tx:
        entry = await entry_texts.visible_text(tx, user_id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    _check_occurs(passage, entry)
    async with runtime.db.write() as tx:
        if not await lock_entry(tx, entry_id):
            raise NotFound(NO_SUCH_ENTRY)
        if await highlights.count(tx, user_id) >= MAX_HIGHLIGHTS:
            raise Conflict("There can be at most %(limit)s highlights. Delete some first.", limit=MAX_HIGHLIGHTS)
        source = (entry.id, entry.title, entry.url)
        highlight = await highlights.add(
            tx, user_id, source, passage, runtime.now(), note=normalized_note, color=known_color
        )
        await interest.learn(runtime, tx, user_id, [entry_id], "highlighted")
    await publish_change(runtime, user_id, "highlights", highlight.entry_id)
    return highlight


async def get_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> Highlight:
    async with runtime.db.read() as tx:
        highlight = await highlights.get(tx, user_id, highlight_id)
    if highlight is None:
        raise NotFound(NO_SUCH)
    return highlight


async def change_highlight(
    runtime: Runtime, user_id: int, highlight_id: int, *, note: str | None = None, color: str | None = None
) -> Highlight:
    """Change the given fields; None keeps a field as it is."""
    new_note = None if note is None else check_note(note)
    new_color = None if color is None else check_color(color)
    async with runtime.db.write() as tx:
        current = await highlights.get(tx, user_id, highlight_id)
        if current is None:
            raise NotFound(NO_SUCH)
        final_note = current.note if new_note is None else new_note
        changed = await highlights.set_note_and_color(
            tx, user_id, highlight_id, final_note, new_color or current.color, runtime.now()
        )
    if changed is None:
        raise NotFound(NO_SUCH)
    await publish_change(runtime, user_id, "highlights", changed.entry_id)
    return changed


async def review_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> Highlight:
    """Record a review: the highlight moves to the end of the rotation."""
    async with runtime.db.write() as tx:
        reviewed = await highlights.set_reviewed(tx, user_id, highlight_id, runtime.now())
    if reviewed is None:
        raise NotFound(NO_SUCH)
    return reviewed


async def delete_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> None:
    highlight = await get_highlight(runtime, user_id, highlight_id)
    async with runtime.db.write() as tx:
        await highlights.remove(tx, user_id, highlight_id)
    await publish_change(runtime, user_id, "highlights", highlight.entry_id)


async def every_highlight(runtime: Runtime, user_id: int) -> AsyncGenerator[Highlight]:
    """All highlights, newest first, with at most `BATCH_SIZE` in memory."""
    before: int | None = None
    while True:
        async with runtime.db.read() as tx:
            batch = await highlights.newest(tx, user_id, before=before, limit=BATCH_SIZE)
        for highlight in batch:
            yield highlight
        if len(batch) < BATCH_SIZE:
            return
        before = batch[-1].id


async def highlighted_entries(runtime: Runtime, user_id: int) -> list[Highlight]:
    """One highlight of each entry, for its title and address; those of deleted entries are left out."""
    found: dict[int, Highlight] = {}
    async for highlight in every_highlight(runtime, user_id):
        if highlight.entry_id is not None:
            found.setdefault(highlight.entry_id, highlight)
    return list(found.values())


async def highlights_of_entry(runtime: Runtime, user_id: int, entry_id: int) -> AsyncGenerator[Highlight]:
    """In the order in which they were made."""
    chosen, before = HighlightFilter(entry_id=entry_id), None
    found: list[Highlight] = []
    while True:
        async with runtime.db.read() as tx:
            batch = await highlights.newest(tx, user_id, before=before, limit=BATCH_SIZE, chosen=chosen)
        found += batch
        if len(batch) < BATCH_SIZE:
            break
        before = batch[-1].id
    for highlight in reversed(found):
        yield highlight


def _check_occurs(passage: Passage, entry: EntryText) -> None:
    if not occurs(passage, clean_text(entry.content), clean_text(entry.feed_content), entry.title):
        raise Invalid("This passage is not in the entry's text", field="quote")
