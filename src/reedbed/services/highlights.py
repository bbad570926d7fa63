"""Highlights and notes: made on an entry, kept whatever becomes of it."""

from collections.abc import AsyncGenerator

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.highlights import Highlight, Passage, check_note, check_passage, occurs
from reedbed.domain.live import ChangeEvent
from reedbed.ingest.text import clean_text
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.store import highlights
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryWords
from reedbed.store.visibility import hold_entry

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
    passage, tidy_note = check_passage(quote, prefix, suffix), check_note(note)
    async with runtime.db.read() as tx:
        entry = await entry_texts.one_seen_by(tx, user_id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    _check_occurs(passage, entry)
    async with runtime.db.write() as tx:
        if not await hold_entry(tx, entry_id):
            raise NotFound(NO_SUCH_ENTRY)
        if await highlights.count(tx, user_id) >= MAX_HIGHLIGHTS:
            raise Conflict(f"There can be at most {MAX_HIGHLIGHTS} highlights. Delete some first.")
        about = (entry.id, entry.title, entry.url)
        made = await highlights.add(tx, user_id, about, passage, tidy_note, runtime.now())
    await _announce(runtime, user_id, made)
    return made


async def get_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> Highlight:
    async with runtime.db.read() as tx:
        found = await highlights.get(tx, user_id, highlight_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def change_note(runtime: Runtime, user_id: int, highlight_id: int, note: str) -> Highlight:
    tidy = check_note(note)
    async with runtime.db.write() as tx:
        changed = await highlights.set_note(tx, user_id, highlight_id, tidy, runtime.now())
    if changed is None:
        raise NotFound(NO_SUCH)
    await _announce(runtime, user_id, changed)
    return changed


async def delete_highlight(runtime: Runtime, user_id: int, highlight_id: int) -> None:
    found = await get_highlight(runtime, user_id, highlight_id)
    async with runtime.db.write() as tx:
        await highlights.remove(tx, user_id, highlight_id)
    await _announce(runtime, user_id, found)


async def every_highlight(runtime: Runtime, user_id: int) -> AsyncGenerator[Highlight]:
    """All of them, newest first, a few hundred in memory at a time."""
    before: int | None = None
    while True:
        async with runtime.db.read() as tx:
            some = await highlights.newest(tx, user_id, before=before, limit=AT_ONCE)
        for highlight in some:
            yield highlight
        if len(some) < AT_ONCE:
            return
        before = some[-1].id


def _check_occurs(passage: Passage, entry: EntryWords) -> None:
    if not occurs(passage, clean_text(entry.content), clean_text(entry.feed_content), entry.title):
        raise Invalid("This passage is not in the entry's text", field="quote")


async def _announce(runtime: Runtime, user_id: int, highlight: Highlight) -> None:
    ids = [] if highlight.entry_id is None else [str(highlight.entry_id)]
    await runtime.bus.publish(
        ChangeEvent("state_changed", user_id=user_id, data={"what": "highlights", "ids": ids})
    )
