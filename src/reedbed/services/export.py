"""What a user has kept of entries, page by page, for taking it along."""

from collections.abc import AsyncGenerator, Sequence

from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.limits import Allowance
from reedbed.domain.paging import Cursor
from reedbed.domain.records import record
from reedbed.services.limits import spend
from reedbed.services.runtime import Runtime
from reedbed.store import entry_lists, entry_texts, tags
from reedbed.store.entry_texts import EntryWords

AT_ONCE = 20
"""Entries in memory, each with its text."""
PER_USER = Allowance(5, 5 / 3600)


@record
class KeptEntry:
    row: EntryRow
    words: EntryWords


async def spend_export(runtime: Runtime, user_id: int) -> None:
    await spend(
        runtime,
        f"export:{user_id}",
        PER_USER,
        "You have taken several exports already. Wait a few minutes.",
    )


async def kept_entries(runtime: Runtime, user_id: int) -> AsyncGenerator[KeptEntry]:
    """Every entry that is starred, saved for later or tagged, once."""
    async for kept in _listed(runtime, user_id, ViewQuery("starred")):
        yield kept
    async for kept in _listed(runtime, user_id, ViewQuery("later")):
        if not kept.row.states.starred:
            yield kept
    async with runtime.db.read() as tx:
        names = [tag.name for tag in await tags.counts(tx, user_id)]
    for place, name in enumerate(names):
        async for kept in _listed(runtime, user_id, ViewQuery("all", tag=name)):
            if not _came_before(kept.row, names[:place]):
                yield kept


async def _listed(runtime: Runtime, user_id: int, query: ViewQuery) -> AsyncGenerator[KeptEntry]:
    cursor: Cursor | None = None
    while True:
        async with runtime.db.read() as tx:
            page = await entry_lists.page(tx, user_id, query, cursor, AT_ONCE)
            rows = page.rows if page else ()
            words = await entry_texts.seen_by(tx, user_id, [row.id for row in rows])
        texts = {each.id: each for each in words}
        for row in rows:
            if row.id in texts:
                yield KeptEntry(row, texts[row.id])
        cursor = page.next if page else None
        if cursor is None:
            return


def _came_before(row: EntryRow, earlier_tags: Sequence[str]) -> bool:
    states = row.states
    return states.starred or states.later or any(tag in earlier_tags for tag in states.tags)
