"""How much is unread, starred and kept for later: four small reads, none of them of entries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import bindparam

from reedbed.domain.entries import Counts, SubscriptionCount, roll_up
from reedbed.store import tags
from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import folders, later, starred, subscriptions

_SUBSCRIPTIONS = Statement(
    select(
        subscriptions.c.id, subscriptions.c.feed_id, subscriptions.c.folder_id, subscriptions.c.unread
    ).where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_BY_FOLDER = Statement(
    select(subscriptions.c.folder_id, func.sum(subscriptions.c.unread))
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
    .group_by(subscriptions.c.folder_id)
)
_FOLDERS = Statement(
    select(folders.c.id, folders.c.parent_id).where(folders.c.user_id == bindparam("user_id"))
)
_MARKS = Statement(
    select(
        select(func.count())
        .select_from(starred)
        .where(starred.c.user_id == bindparam("user_id"))
        .scalar_subquery(),
        select(func.count())
        .select_from(later)
        .where(later.c.user_id == bindparam("user_id"))
        .scalar_subquery(),
    )
)


async def counts(tx: Tx, user_id: int) -> Counts:
    user = {"user_id": user_id}
    followed = tuple(map(SubscriptionCount._make, await tx.all(_SUBSCRIPTIONS, user)))
    parents = {row["id"]: row["parent_id"] for row in await tx.all(_FOLDERS, user)}
    by_folder = [(one.folder_id, one.unread) for one in followed]
    return replace(await _counted(tx, user_id, by_folder, parents), subscriptions=followed)


async def totals(tx: Tx, user_id: int, parents: Mapping[int, int | None]) -> Counts:
    """The same without a line for each subscription, for whoever has read the folders already."""
    rows = await tx.all(_BY_FOLDER, {"user_id": user_id})
    return await _counted(tx, user_id, [(row[0], int(row[1])) for row in rows], parents)


async def _counted(
    tx: Tx, user_id: int, by_folder: Sequence[tuple[int | None, int]], parents: Mapping[int, int | None]
) -> Counts:
    marks = await tx.one(_MARKS, {"user_id": user_id})
    assert marks is not None
    return Counts(
        unread=sum(unread for _, unread in by_folder),
        folders=roll_up(by_folder, parents),
        tags=tuple(await tags.counts(tx, user_id)),
        starred=marks[0],
        later=marks[1],
    )
