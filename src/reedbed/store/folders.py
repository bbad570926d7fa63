"""A user's folders."""

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.folders import FolderRow
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, func, select
from reedbed.store.tables import folders, subscriptions

_COLUMNS = (folders.c.id, folders.c.parent_id, folders.c.name, folders.c.position, folders.c.summary_words)
_is_own = folders.c.user_id == bindparam("owner")

_LIST = Statement(select(*_COLUMNS).where(_is_own).order_by(folders.c.position, folders.c.name, folders.c.id))
_GET = Statement(select(*_COLUMNS).where(folders.c.id == bindparam("folder"), _is_own))
_LOCK = Statement(select(folders.c.id).where(_is_own).order_by(folders.c.id).with_for_update())
_ADD = Statement(
    insert(folders).returning(*_COLUMNS), columns=["user_id", "parent_id", "name", "position", "created_at"]
)
_UPDATE = Statement(
    update(folders)
    .where(folders.c.id == bindparam("folder"), _is_own)
    .values(
        name=bindparam("name"),
        parent_id=bindparam("parent_id"),
        position=bindparam("position"),
        summary_words=bindparam("summary_words"),
    )
)
_SET_POSITION = Statement(
    update(folders)
    .where(folders.c.id == bindparam("folder"), _is_own)
    .values(position=bindparam("new_position"))
)
_MOVE_FOLDERS_UP = Statement(
    update(folders)
    .where(folders.c.parent_id == bindparam("folder"), _is_own)
    .values(parent_id=bindparam("above"))
)
_MOVE_FEEDS_UP = Statement(
    update(subscriptions)
    .where(subscriptions.c.folder_id == bindparam("folder"), subscriptions.c.user_id == bindparam("owner"))
    .values(folder_id=bindparam("above"))
)
_DELETE = Statement(delete(folders).where(folders.c.id == bindparam("folder"), _is_own))
_NEXT_POSITION = Statement(select(func.coalesce(func.max(folders.c.position), -1) + 1).where(_is_own))


async def of_user(tx: Tx, user_id: int) -> list[FolderRow]:
    return [_folder(row) for row in await tx.all(_LIST, {"owner": user_id})]


async def get(tx: Tx, user_id: int, folder_id: int) -> FolderRow | None:
    row = await tx.one(_GET, {"owner": user_id, "folder": folder_id})
    return _folder(row) if row else None


async def lock(tx: Tx, user_id: int) -> None:
    """Two concurrent moves could create a cycle; with the lock the second one sees the first."""
    if tx.engine == "postgresql":  # SQLite has one writer
        await tx.all(_LOCK, {"owner": user_id})


async def add(tx: Tx, user_id: int, name: str, parent_id: int | None, now: Instant) -> FolderRow:
    position = await tx.value(_NEXT_POSITION, {"owner": user_id})
    row = await tx.one(
        _ADD,
        {"user_id": user_id, "parent_id": parent_id, "name": name, "position": position, "created_at": now},
    )
    assert row is not None
    return _folder(row)


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


def _folder(row: Row) -> FolderRow:
    return FolderRow(*row)
