"""Bookmarks: keep a snapshot of an entry, whatever becomes of it."""

from collections.abc import AsyncGenerator

from reedbed.domain.bookmarks import Bookmark, Snapshot
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks
from reedbed.store.entries import read as entry_texts
from reedbed.store.visibility import hold_entry

MAX_BOOKMARKS = 20_000
NO_SUCH = "There is no such bookmark"
AT_ONCE = 20
"""Snapshots read together: each may hold a long article."""


@record
class SavedBookmark:
    bookmark: Bookmark
    new: bool
    """False: it was there already, and its snapshot was renewed."""


async def keep_entry(runtime: Runtime, user_id: int, entry_id: int) -> SavedBookmark:
    async with runtime.db.write() as tx:
        held = await hold_entry(tx, entry_id)
        entry = await entry_texts.one_seen_by(tx, user_id, entry_id) if held else None
        if entry is None:
            raise NotFound(NO_SUCH_ENTRY)
        snapshot = Snapshot(
            entry.id, entry.url, entry.title, entry.content, entry.feed_title, entry.published_at
        )
        known = await bookmarks.is_known(tx, user_id, snapshot.key)
        if not known and await bookmarks.count(tx, user_id) >= MAX_BOOKMARKS:
            raise Conflict(f"There can be at most {MAX_BOOKMARKS} bookmarks. Delete some first.")
        kept = await bookmarks.put(tx, user_id, snapshot, runtime.now())
    await _announce(runtime, user_id, kept.row.entry_id)
    return SavedBookmark(kept, new=not known)


async def get_bookmark(runtime: Runtime, user_id: int, bookmark_id: int) -> Bookmark:
    async with runtime.db.read() as tx:
        found = await bookmarks.get(tx, user_id, bookmark_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def delete_bookmark(runtime: Runtime, user_id: int, bookmark_id: int) -> None:
    found = await get_bookmark(runtime, user_id, bookmark_id)
    async with runtime.db.write() as tx:
        await bookmarks.remove(tx, user_id, bookmark_id)
    await _announce(runtime, user_id, found.row.entry_id)


async def every_bookmark(runtime: Runtime, user_id: int) -> AsyncGenerator[Bookmark]:
    """All of them, newest first, a few in memory at a time."""
    before: int | None = None
    while True:
        async with runtime.db.read() as tx:
            some = await bookmarks.newest_whole(tx, user_id, before=before, limit=AT_ONCE)
        for bookmark in some:
            yield bookmark
        if len(some) < AT_ONCE:
            return
        before = some[-1].row.id


async def _announce(runtime: Runtime, user_id: int, entry_id: int | None) -> None:
    ids = [] if entry_id is None else [str(entry_id)]
    await runtime.bus.publish(
        ChangeEvent("state_changed", user_id=user_id, data={"what": "bookmarks", "ids": ids})
    )
