"""Folders: create, nest, order, rename, and delete without deleting their feeds."""

from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.folders import FolderRow, check_place, folder_name, reordered
from reedbed.domain.records import UNSET, Unset
from reedbed.domain.subscriptions import check_muted_until
from reedbed.domain.summaries import check_summary_words
from reedbed.domain.times import Instant
from reedbed.services.live import publish_subscriptions
from reedbed.services.refresh.check import request_refresh
from reedbed.services.runtime import Runtime
from reedbed.store import folders, subscriptions, visibility
from reedbed.store.engine.database import Tx

MAX_FOLDERS = 1_000


async def create_folder(runtime: Runtime, user_id: int, name: str, parent_id: int | None = None) -> FolderRow:
    normalized = folder_name(name)
    async with runtime.db.write() as tx:
        rows = await _lock_and_list(tx, user_id)
        _check_limit(rows)
        check_place(rows, parent_id)
        _check_name_is_free(rows, normalized, parent_id)
        folder = await folders.add(tx, user_id, normalized, parent_id, runtime.now())
    await publish_subscriptions(runtime, user_id)
    return folder


async def change_folder(
    runtime: Runtime,
    user_id: int,
    folder_id: int,
    *,
    name: str | None = None,
    parent: int | Unset | None = UNSET,
    summary_words: int | Unset | None = UNSET,
    in_unread: bool | None = None,
) -> FolderRow:
    """Rename, move to another parent (None is the top level), set its options; the rest does not change."""
    async with runtime.db.write() as tx:
        rows = await _lock_and_list(tx, user_id)
        folder = _require_folder(rows, folder_id)
        changed = replace(
            folder,
            name=folder.name if name is None else folder_name(name),
            parent_id=folder.parent_id if isinstance(parent, Unset) else parent,
            summary_words=folder.summary_words
            if isinstance(summary_words, Unset)
            else check_summary_words(summary_words),
            in_unread=folder.in_unread if in_unread is None else in_unread,
        )
        check_place(rows, changed.parent_id, folder_id)
        _check_name_is_free(rows, changed.name, changed.parent_id, except_id=folder_id)
        await folders.change(tx, user_id, changed)
    await publish_subscriptions(runtime, user_id)
    return changed


async def reorder_folders(runtime: Runtime, user_id: int, parent_id: int | None, ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        rows = await _lock_and_list(tx, user_id)
        await folders.place(tx, user_id, reordered(rows, parent_id, ids))
    await publish_subscriptions(runtime, user_id)


async def delete_folder(runtime: Runtime, user_id: int, folder_id: int) -> None:
    async with runtime.db.write() as tx:
        folder = _require_folder(await _lock_and_list(tx, user_id), folder_id)
        await folders.remove(tx, user_id, folder)
    await publish_subscriptions(runtime, user_id)


async def mute_folder(runtime: Runtime, user_id: int, folder_id: int, until: Instant | None) -> None:
    """Mute every feed of the folder and its subfolders; None unmutes them."""
    async with runtime.db.write() as tx:
        feed_ids = await _feeds_in(tx, user_id, folder_id)
        await subscriptions.mute(tx, user_id, feed_ids, check_muted_until(until, runtime.now()))
    await publish_subscriptions(runtime, user_id)


async def refresh_folder(runtime: Runtime, user_id: int, folder_id: int) -> int:
    """Request a check of its feeds; return how many were accepted."""
    async with runtime.db.read() as tx:
        feed_ids = await _feeds_in(tx, user_id, folder_id)
    return len(await request_refresh(runtime, feed_ids, user_id=user_id)) if feed_ids else 0


async def _feeds_in(tx: Tx, user_id: int, folder_id: int) -> list[int]:
    feed_ids = await visibility.feeds_of(tx, user_id, feed_id=None, folder_id=folder_id, with_muted=True)
    if feed_ids is None:
        raise NotFound("There is no such folder")
    return feed_ids


async def file_in_new_folder(runtime: Runtime, user_id: int, subscription_id: int, name: str) -> None:
    """Move a feed into the folder of this name at the top, which is created if there is none."""
    async with runtime.db.write() as tx:
        folder_id = await find_or_create_path(tx, runtime, user_id, (name,))
        if folder_id is not None:
            await subscriptions.move_to_folder(tx, user_id, subscription_id, folder_id)
    await publish_subscriptions(runtime, user_id)


async def find_or_create_path(tx: Tx, runtime: Runtime, user_id: int, path: Sequence[str]) -> int | None:
    """The folder at this path; missing folders are created."""
    rows = await _lock_and_list(tx, user_id)
    parent_id: int | None = None
    for part in path:
        name = folder_name(part[:255])
        folder = next((row for row in rows if row.parent_id == parent_id and row.name == name), None)
        if folder is None:
            _check_limit(rows)
            folder = await folders.add(tx, user_id, name, parent_id, runtime.now())
            rows.append(folder)
        parent_id = folder.id
    return parent_id


async def _lock_and_list(tx: Tx, user_id: int) -> list[FolderRow]:
    await folders.lock(tx, user_id)
    return await folders.of_user(tx, user_id)


def _check_limit(rows: Sequence[FolderRow]) -> None:
    if len(rows) >= MAX_FOLDERS:
        raise Conflict("There can be at most %(limit)s folders.", limit=MAX_FOLDERS)


def _require_folder(rows: Sequence[FolderRow], folder_id: int) -> FolderRow:
    for row in rows:
        if row.id == folder_id:
            return row
    raise NotFound("There is no such folder")


def _check_name_is_free(
    rows: Sequence[FolderRow], name: str, parent_id: int | None, *, except_id: int | None = None
) -> None:
    if any(row.name == name and row.parent_id == parent_id and row.id != except_id for row in rows):
        raise Conflict("A folder with this name already exists", field="name")
