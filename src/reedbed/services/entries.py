"""Reading: lists, one entry, its history; and the states a user gives it one by one."""

from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.differences import Difference, differences
from reedbed.domain.entries import Change, Entry, EntryPage, EntryRow, EntryVersion, States, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.paging import Cursor
from reedbed.domain.records import record
from reedbed.domain.tags import tag_names
from reedbed.ingest.text import clean_text
from reedbed.services.announcing import announce_states
from reedbed.services.runtime import Runtime
from reedbed.services.tags import make_tags
from reedbed.store import entries, history, marks, reading, tags
from reedbed.store.database import Tx
from reedbed.store.marks import Mark

NO_SUCH_ENTRY = "There is no such entry"
NO_SUCH_LIST = "There is no such feed or folder"


@record
class Revision:
    """How one version became the next."""

    version: EntryVersion
    title: tuple[Difference, ...]
    text: tuple[Difference, ...]


async def list_entries(
    runtime: Runtime, user_id: int, query: ViewQuery, cursor: Cursor | None, limit: int
) -> EntryPage:
    async with runtime.db.read() as tx:
        page = await entries.page(tx, user_id, query, cursor, limit)
    if page is None:
        raise NotFound(NO_SUCH_LIST)
    return page


async def get_entry(runtime: Runtime, user_id: int, entry_id: int) -> Entry:
    async with runtime.db.read() as tx:
        found = await entries.get(tx, user_id, entry_id)
    if found is None:
        raise NotFound(NO_SUCH_ENTRY)
    return found


async def get_revisions(runtime: Runtime, user_id: int, entry_id: int) -> list[Revision]:
    """Every version, the current one first, each with what it changed of the one before."""
    async with runtime.db.read() as tx:
        found = await entries.get(tx, user_id, entry_id)
        if found is None:
            raise NotFound(NO_SUCH_ENTRY)
        older = await entries.versions(tx, entry_id)
    current = EntryVersion(found.row.version, found.row.title, found.content, None)
    return _revisions([current, *older])


async def change_entry(runtime: Runtime, user_id: int, entry_id: int, change: Change) -> EntryRow:
    """Set states of one entry. Reading it is remembered in the short history."""
    names = None if change.tags is None else tag_names(change.tags)
    async with runtime.db.write() as tx:
        if change.brings_back:
            await marks.unmute(tx, user_id, [entry_id])
        before = await entries.rows_by_ids(tx, user_id, [entry_id])
        if not before:
            raise NotFound(NO_SUCH_ENTRY)
        await _set_read(runtime, tx, user_id, entry_id, change.read)
        await _set_mark(runtime, tx, user_id, entry_id, "starred", change.starred)
        await _set_mark(runtime, tx, user_id, entry_id, "later", change.later)
        if names is not None:
            await make_tags(runtime, tx, user_id, names)
            await tags.replace(tx, user_id, [entry_id], names)
        after = await entries.rows_by_ids(tx, user_id, [entry_id])
        if not after and (change.starred or change.later or names):
            raise NotFound(NO_SUCH_ENTRY)  # removed at this moment: what was just put on would show it
    await announce_states(runtime, user_id, [entry_id], change)
    # Without its last mark, an entry of a feed that was left can no longer be seen.
    return after[0] if after else replace(before[0], states=States(read=True, starred=False, later=False))


async def _set_read(runtime: Runtime, tx: Tx, user_id: int, entry_id: int, read: bool | None) -> None:
    if read:
        await reading.read(tx, user_id, [entry_id])
        await history.note(tx, user_id, [entry_id], runtime.now())
    elif read is not None:
        await reading.unread_again(tx, user_id, [entry_id])


async def _set_mark(
    runtime: Runtime, tx: Tx, user_id: int, entry_id: int, mark: Mark, wanted: bool | None
) -> None:
    if wanted:
        await marks.put(tx, user_id, mark, [entry_id], runtime.now())
    elif wanted is not None:
        await marks.take(tx, user_id, mark, [entry_id])


def _revisions(versions: Sequence[EntryVersion]) -> list[Revision]:
    texts = [clean_text(version.content) for version in versions]
    return [
        Revision(
            version=version,
            title=differences(versions[index + 1].title if index + 1 < len(versions) else "", version.title),
            text=differences(texts[index + 1] if index + 1 < len(versions) else "", texts[index]),
        )
        for index, version in enumerate(versions)
    ]
