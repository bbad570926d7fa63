"""A user's folders, and the feeds that lie in several of them."""

from collections.abc import Collection, Mapping

from sqlalchemy import BigInteger, bindparam, cast, delete, insert, update

from reedbed.domain.folders import FolderRow
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, joined_ids, select
from reedbed.store.engine.statements import insert as insert_or_skip
from reedbed.store.tables import folders, subscription_folders, subscriptions

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
_KEEP_OTHERS_UP = Command(
    insert_or_skip(subscription_folders)
    .from_select(
        ["user_id", "subscription_id", "folder_id"],
        select(
            subscription_folders.c.user_id,
            subscription_folders.c.subscription_id,
            cast(bindparam("above", type_=BigInteger), BigInteger).label("above"),
        ).where(
            subscription_folders.c.user_id == bindparam("owner"),
            subscription_folders.c.folder_id == bindparam("folder"),
        ),
    )
    .on_conflict_do_nothing()
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
    if folder.parent_id is not None:
        await tx.run(_KEEP_OTHERS_UP, params)
    await tx.run(_DELETE, params)
    await _update_first_folders(tx, user_id)


# --- Feeds in several folders

_is_others_owner = subscription_folders.c.user_id == bindparam("user_id", type_=BigInteger)

other_folders = (
    select(subscription_folders.c.subscription_id, joined_ids(subscription_folders.c.folder_id).label("ids"))
    .where(_is_others_owner)
    .group_by(subscription_folders.c.subscription_id)
    .subquery("other_folders")
)
"""Join it to read the further folders of the user's feeds as a text for `parse_folders`: few feeds have any."""
with_other_folders = subscriptions.outerjoin(other_folders, other_folders.c.subscription_id == subscriptions.c.id)


other_folders_of_row = (
    select(joined_ids(subscription_folders.c.folder_id))
    .where(
        subscription_folders.c.user_id == subscriptions.c.user_id,
        subscription_folders.c.subscription_id == subscriptions.c.id,
    )
    .correlate(subscriptions)
    .scalar_subquery()
)
"""The same for statements that read few subscriptions, or those of several users."""


def parse_folders(ids: str | None) -> tuple[int, ...]:
    return tuple(sorted(map(int, ids.split(",")))) if ids else ()


_CLEAR_OTHERS = Command(
    delete(subscription_folders).where(
        _is_others_owner, subscription_folders.c.subscription_id == bindparam("subscription")
    )
)
_ADD_OTHER = Command(
    insert_or_skip(subscription_folders).on_conflict_do_nothing(), columns=["user_id", "subscription_id", "folder_id"]
)
_ADD_UNLESS_FIRST = Command(
    insert_or_skip(subscription_folders)
    .from_select(
        ["user_id", "subscription_id", "folder_id"],
        select(
            subscriptions.c.user_id,
            subscriptions.c.id,
            cast(bindparam("into", type_=BigInteger), BigInteger).label("folder_id"),
        ).where(
            subscriptions.c.user_id == bindparam("user_id", type_=BigInteger),
            subscriptions.c.id == bindparam("subscription"),
            subscriptions.c.folder_id.is_distinct_from(bindparam("into", type_=BigInteger)),
        ),
    )
    .on_conflict_do_nothing()
)
_FIRST_IS_NO_OTHER = Command(
    delete(subscription_folders).where(
        _is_others_owner,
        subscription_folders.c.folder_id.in_(
            select(subscriptions.c.folder_id).where(subscriptions.c.id == subscription_folders.c.subscription_id)
        ),
    )
)
_LOWEST_OTHER = (
    select(func.min(subscription_folders.c.folder_id))
    .where(_is_others_owner, subscription_folders.c.subscription_id == subscriptions.c.id)
    .correlate(subscriptions)
    .scalar_subquery()
)
_OTHER_BECOMES_FIRST = Command(
    update(subscriptions)
    .where(
        subscriptions.c.user_id == bindparam("user_id", type_=BigInteger),
        subscriptions.c.folder_id.is_(None),
        subscriptions.c.id.in_(select(subscription_folders.c.subscription_id).where(_is_others_owner)),
    )
    .values(folder_id=_LOWEST_OTHER)
)


async def put_in_others(tx: Tx, user_id: int, subscription_id: int, folder_ids: Collection[int]) -> None:
    """Set the folders of a feed besides its first one."""
    await tx.run(_CLEAR_OTHERS, {"user_id": user_id, "subscription": subscription_id})
    rows = [{"user_id": user_id, "subscription_id": subscription_id, "folder_id": id_} for id_ in folder_ids]
    await tx.run_many(_ADD_OTHER, rows)


async def add_other(tx: Tx, user_id: int, subscription_id: int, folder_id: int) -> bool:
    """Put a feed into one more folder; return False if it already is there."""
    params = {"user_id": user_id, "subscription": subscription_id, "into": folder_id}
    added = await tx.run(_ADD_UNLESS_FIRST, params) > 0
    await _update_first_folders(tx, user_id)
    return added


async def _update_first_folders(tx: Tx, user_id: int) -> None:
    """A feed in any folder has a first one, which is not among the others."""
    await tx.run(_FIRST_IS_NO_OTHER, {"user_id": user_id})
    await tx.run(_OTHER_BECOMES_FIRST, {"user_id": user_id})
    await tx.run(_FIRST_IS_NO_OTHER, {"user_id": user_id})
