"""Folders: nested, ordered, renamed, deleted without losing a feed."""

from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.folders import FolderRow, check_place, folder_name, reordered
from reedbed.domain.live import ChangeEvent
from reedbed.domain.summaries import check_summary_words
from reedbed.domain.unset import UNSET, Unset
from reedbed.services.runtime import Runtime
from reedbed.store import folders
from reedbed.store.engine.database import Tx

MAX_FOLDERS = 1_000


async def create_folder(runtime: Runtime, user_id: int, name: str, parent_id: int | None = None) -> FolderRow:
    tidy = folder_name(name)
    async with runtime.db.write() as tx:
        rows = await _locked(tx, user_id)
        _check_room(rows)
        check_place(rows, parent_id)
        _check_name_is_free(rows, tidy, parent_id)
        folder = await folders.add(tx, user_id, tidy, parent_id, runtime.now())
    await _announce(runtime, user_id)
    return folder


async def change_folder(
    runtime: Runtime,
    user_id: int,
    folder_id: int,
    *,
    name: str | None = None,
    parent: int | Unset | None = UNSET,
    summary_words: int | Unset | None = UNSET,
) -> FolderRow:
    """Rename, move into another folder (None is the top), summarise; what is left out stays."""
    async with runtime.db.write() as tx:
        rows = await _locked(tx, user_id)
        folder = _find(rows, folder_id)
        changed = replace(
            folder,
            name=folder.name if name is None else folder_name(name),
            parent_id=folder.parent_id if isinstance(parent, Unset) else parent,
            summary_words=folder.summary_words
            if isinstance(summary_words, Unset)
            else check_summary_words(summary_words),
        )
        check_place(rows, changed.parent_id, folder_id)
        _check_name_is_free(rows, changed.name, changed.parent_id, besides=folder_id)
        await folders.change(tx, user_id, changed)
    await _announce(runtime, user_id)
    return changed


async def reorder_folders(runtime: Runtime, user_id: int, parent_id: int | None, ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        rows = await _locked(tx, user_id)
        await folders.place(tx, user_id, reordered(rows, parent_id, ids))
    await _announce(runtime, user_id)


async def delete_folder(runtime: Runtime, user_id: int, folder_id: int) -> None:
    async with runtime.db.write() as tx:
        folder = _find(await _locked(tx, user_id), folder_id)
        await folders.remove(tx, user_id, folder)
    await _announce(runtime, user_id)


async def find_or_create_path(tx: Tx, runtime: Runtime, user_id: int, path: Sequence[str]) -> int | None:
    """The folder at the end of this path, made where it is missing."""
    rows = await _locked(tx, user_id)
    parent_id: int | None = None
    for step in path:
        name = folder_name(step[:255])
        known = next((row for row in rows if row.parent_id == parent_id and row.name == name), None)
        if known is None:
            _check_room(rows)
            known = await folders.add(tx, user_id, name, parent_id, runtime.now())
            rows.append(known)
        parent_id = known.id
    return parent_id


async def _locked(tx: Tx, user_id: int) -> list[FolderRow]:
    await folders.lock(tx, user_id)
    return await folders.of_user(tx, user_id)


def _check_room(rows: Sequence[FolderRow]) -> None:
    if len(rows) >= MAX_FOLDERS:
        raise Conflict(f"There can be at most {MAX_FOLDERS} folders.")


def _find(rows: Sequence[FolderRow], folder_id: int) -> FolderRow:
    for row in rows:
        if row.id == folder_id:
            return row
    raise NotFound("There is no such folder")


def _check_name_is_free(
    rows: Sequence[FolderRow], name: str, parent_id: int | None, *, besides: int | None = None
) -> None:
    if any(row.name == name and row.parent_id == parent_id and row.id != besides for row in rows):
        raise Conflict("A folder with this name already exists", field="name")


async def _announce(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
