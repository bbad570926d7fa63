"""Unread, starred and saved counts of a user, and the repair of stored unread counts.

`subscriptions.unread` should always equal the number of its rows. `recount` finds and corrects deviations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import bindparam, update

from reedbed.domain.entries import Counts, SubscriptionCount, roll_up
from reedbed.domain.records import record
from reedbed.store import tags
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Statement, func, select
from reedbed.store.tables import folders, later, starred, subscriptions, unread
from reedbed.store.visibility import alive, follows, lock_user

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
_COUNT_FLAGS = Statement(
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
    subscribed = tuple(map(SubscriptionCount._make, await tx.all(_SUBSCRIPTIONS, user)))
    parents = {row["id"]: row["parent_id"] for row in await tx.all(_FOLDERS, user)}
    by_folder = [(subscription.folder_id, subscription.unread) for subscription in subscribed]
    return replace(await _build_counts(tx, user_id, by_folder, parents), subscriptions=subscribed)


async def totals(tx: Tx, user_id: int, parents: Mapping[int, int | None]) -> Counts:
    """The same without the single subscriptions, for callers that have already loaded the folders."""
    rows = await tx.all(_BY_FOLDER, {"user_id": user_id})
    return await _build_counts(tx, user_id, [(row[0], int(row[1])) for row in rows], parents)


async def _build_counts(
    tx: Tx, user_id: int, by_folder: Sequence[tuple[int | None, int]], parents: Mapping[int, int | None]
) -> Counts:
    flags = await tx.one(_COUNT_FLAGS, {"user_id": user_id})
    assert flags is not None
    return Counts(
        unread=sum(unread for _, unread in by_folder),
        folders=roll_up(by_folder, parents),
        tags=tuple(await tags.counts(tx, user_id)),
        starred=flags[0],
        later=flags[1],
    )


_REAL = (
    select(func.count())
    .where(follows(unread, subscriptions), alive(unread, subscriptions))
    .correlate(subscriptions)
    .scalar_subquery()
)
_USERS = Statement(
    select(subscriptions.c.user_id).where(subscriptions.c.unsubscribed_at.is_(None)).distinct()
)
_DRIFTED = Statement(
    select(subscriptions.c.id, subscriptions.c.feed_id, subscriptions.c.unread, _REAL.label("real")).where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.unread != _REAL,
    )
)
_SET = Statement(
    update(subscriptions).where(subscriptions.c.id == bindparam("id")).values(unread=bindparam("real"))
)


@record
class CountMismatch:
    subscription_id: int
    feed_id: int
    counted: int
    real: int


async def users_to_recount(tx: Tx) -> list[int]:
    return [row[0] for row in await tx.all(_USERS)]


async def recount(tx: Tx, user_id: int) -> list[CountMismatch]:
    """Correct wrong counts; returns what was wrong."""
    await lock_user(tx, user_id)
    drifts = [CountMismatch(*row) for row in await tx.all(_DRIFTED, {"user_id": user_id})]
    await tx.run_many(_SET, [{"id": drift.subscription_id, "real": drift.real} for drift in drifts])
    return drifts
