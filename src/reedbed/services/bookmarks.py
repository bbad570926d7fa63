"""Bookmarks: snapshots of entries that survive the deletion of the entry."""

from collections.abc import AsyncGenerator

from reedbed.domain.bookmarks import Bookmark, Snapshot
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.records import record
from reedbed.services import interest
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.live import publish_change
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks
from reedbed.store.entries import read as entry_texts
from reedbed.store.visibility import lock_entry

MAX_BOOKMARKS = 20_000
NO_SUCH = "There is no such bookmark"
BATCH_SIZE = 20
"""Snapshots loaded at a time: each may hold a long article."""


@record
class SavedBookmark:
    bookmark: Bookmark
    new: bool
    """False: it already existed, and its snapshot was updated."""


async def bookmark_entry(runtime: Runtime, user_id: int, entry_id: int) -> SavedBookmark:
    async with runtime.db.write() as tx:
        held = await lock_entry(tx, entry_id)
        entry = await entry_texts.visible_text(tx, user_id, entry_id) if held else None
        if entry is None:
            raise NotFound(NO_SUCH_ENTRY)
        snapshot = Snapshot(entry.id, entry.url, entry.title, entry.content, entry.feed_title, entry.published_at)
        existing = await bookmarks.is_known(tx, user_id, snapshot.key)
        if not existing and await bookmarks.count(tx, user_id) >= MAX_BOOKMARKS:
            raise Conflict("There can be at most %(limit)s bookmarks. Delete some first.", limit=MAX_BOOKMARKS)
        bookmark = await bookmarks.put(tx, user_id, snapshot, runtime.now())
        await interest.learn(runtime, tx, user_id, [entry_id], "saved")
    await publish_change(runtime, user_id, "bookmarks", bookmark.row.entry_id)
    return SavedBookmark(bookmark, new=not existing)


async def get_bookmark(runtime: Runtime, user_id: int, bookmark_id: int) -> Bookmark:
    async with runtime.db.read() as tx:
        bookmark = await bookmarks.get(tx, user_id, bookmark_id)
    if bookmark is None:
        raise NotFound(NO_SUCH)
    return bookmark


async def delete_bookmark(runtime: Runtime, user_id: int, bookmark_id: int) -> None:
    bookmark = await get_bookmark(runtime, user_id, bookmark_id)
    async with runtime.db.write() as tx:
        await bookmarks.remove(tx, user_id, bookmark_id)
    await publish_change(runtime, user_id, "bookmarks", bookmark.row.entry_id)


async def iter_bookmarks(runtime: Runtime, user_id: int) -> AsyncGenerator[Bookmark]:
    """All bookmarks, newest first, with a few in memory at a time."""
    before: int | None = None
    while True:
        async with runtime.db.read() as tx:
            batch = await bookmarks.newest_with_content(tx, user_id, before=before, limit=BATCH_SIZE)
        for bookmark in batch:
            yield bookmark
        if len(batch) < BATCH_SIZE:
            return
        before = batch[-1].row.id
