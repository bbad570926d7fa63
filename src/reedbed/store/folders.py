"""A user's folders."""

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.folders import FolderRow
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, select
from reedbed.store.tables import folders, subscriptions

_COLUMNS = (
    folders.c.id,
    folders.c.parent_id,
    folders.c.name,
    folders.c.position,
    folders.c.summary_words,
    folders.c.in_unread,
)
_is_own = folders.c.user_id == bindparam("owner")


def _folder(id_: int, parent_id: int | None, name: str, position: int, words: int | None, in_unread: bool) -> FolderRow:
    return FolderRow(id_, parent_id, name, position, words, bool(in_unread))


_LIST = Query(select(*_COLUMNS).where(_is_own).order_by(folders.c.position, folders.c.name, folders.c.id), into=_folder)
_GET = Query(select(*_COLUMNS).where(folders.c.id == bindparam("folder"), _is_own), into=_folder)
_LOCK = Query(select(folders.c.id).where(_is_own).order_by(folders.c.id).with_for_update(), into=int)
_ADD = Query(
    insert(folders).returning(*_COLUMNS),
    columns=["user_id", "parent_id", "name", "position", "created_at"],
    into=_folder,
)
_UPDATE = Command(
    update(folders)
    .where(folders.c.id == bindparam("folder"), _is_own)
    .values(
        name=bindparam("name"),
        parent_id=bindparam("parent_id"),
        position=bindparam("position"),
        summary_words=bindparam("summary_words"),
        in_unread=bindparam("in_unread"),
    )
)
_SET_POSITION = Command(
    update(folders).where(folders.c.id == bindparam("folder"), _is_own).values(position=bindparam("new_position"))
)
_MOVE_FOLDERS_UP = Command(
    update(folders).where(folders.c.parent_id == bindparam("folder"), _is_own).values(parent_id=bindparam("above"))
)
_MOVE_FEEDS_UP = Command(
    update(subscriptions)
    .where(subscriptions.c.folder_id == bindparam("folder"), subscriptions.c.user_id == bindparam("owner"))
    .values(folder_id=bindparam("above"))
)
_DELETE = Command(delete(folders).where(folders.c.id == bindparam("folder"), _is_own))
_NEXT_POSITION = Query(select(func.coalesce(func.max(folders.c.position), -1) + 1).where(_is_own), into=int)


async def of_user(tx: Tx, user_id: int) -> list[FolderRow]:
    return await tx.all(_LIST, {"owner": user_id})


async def get(tx: Tx, user_id: int, folder_id: int) -> FolderRow | None:
    return await tx.one(_GET, {"owner": user_id, "folder": folder_id})


async def lock(tx: Tx, user_id: int) -> None:
    """Two concurrent moves could create a cycle; with the lock the second one sees the first."""
    if tx.engine == "postgresql":  # SQLite has one writer
        await tx.all(_LOCK, {"owner": user_id})


async def add(tx: Tx, user_id: int, name: str, parent_id: int | None, now: Instant) -> FolderRow:
    position = await tx.one(_NEXT_POSITION, {"owner": user_id})
    return await tx.get(
        _ADD, {"user_id": user_id, "parent_id": parent_id, "name": name, "position": position, "created_at": now}
    )


async def change(tx: Tx, user_id: int, folder: FolderRow) -> bool:
    return (
        await tx.run(
            _UPDATE,
            {
                "owner": user_id,
                "folder": folder.id,
                "name": folder.name,
                "parent_id": folder.parent_id,
                "position": folder.position,
                "summary_words": folder.summary_words,
                "in_unread": folder.in_unread,
            },
        )
        == 1
    )


async def place(tx: Tx, user_id: int, positions: Mapping[int, int]) -> None:
    await tx.run_many(
        _SET_POSITION,
        [{"owner": user_id, "folder": id_, "new_position": position} for id_, position in positions.items()],
    )


async def remove(tx: Tx, user_id: int, folder: FolderRow) -> None:
    """Delete the folder; its feeds and subfolders move to its parent."""
    params = {"owner": user_id, "folder": folder.id, "above": folder.parent_id}
    await tx.run(_MOVE_FOLDERS_UP, params)
    await tx.run(_MOVE_FEEDS_UP, params)
    await tx.run(_DELETE, params)
