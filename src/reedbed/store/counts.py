"""How much is unread, starred and kept for later: four small reads, none of them of entries."""

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, func, select

from reedbed.domain.entries import Counts, SubscriptionCount, roll_up
from reedbed.store import tags
from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import folders, later, starred, subscriptions

_SUBSCRIPTIONS = Statement(
    select(
        subscriptions.c.id, subscriptions.c.feed_id, subscriptions.c.folder_id, subscriptions.c.unread
    ).where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
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
    return await with_marks(tx, user_id, followed, parents)


async def with_marks(
    tx: Tx, user_id: int, followed: Sequence[SubscriptionCount], parents: Mapping[int, int | None]
) -> Counts:
    """The same for whoever has read what is followed, and the folders, already."""
    marks = await tx.one(_MARKS, {"user_id": user_id})
    assert marks is not None
    return Counts(
        subscriptions=tuple(followed),
        folders=roll_up(followed, parents),
        tags=tuple(await tags.counts(tx, user_id)),
        starred=marks[0],
        later=marks[1],
    )
