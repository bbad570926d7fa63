"""What a subscription shows, what makes an unread row count, and the locks that keep counts exact.

A row in `unread` is alive when its entry lies above the subscription's mark, or was marked unread by hand
(`kept`). Rows exist only for active subscriptions and above their `since_id`: every writer sees to that, so
that no reader has to ask.
"""

from sqlalchemy import ColumnElement, bindparam, case, true
from sqlalchemy.sql.selectable import FromClause

from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import audience_members, entries, feeds, muted, subscriptions


def alive(row: FromClause, subscription: FromClause) -> ColumnElement[bool]:
    return _kept_or_above(row, subscription.c.read_to)


def follows(row: FromClause, subscription: FromClause) -> ColumnElement[bool]:
    """The row (with a user and a feed) belongs to this subscription."""
    return (subscription.c.user_id == row.c.user_id) & (subscription.c.feed_id == row.c.feed_id)


def shows(subscription: FromClause, entry: FromClause, *, with_muted: bool = False) -> ColumnElement[bool]:
    """The entry (of this subscription's feed) lies above the floor of the subscription, and is not muted.

    What came from another feed lies above the floor that its audience had there, or is hidden.
    """
    floor_there = (
        select(audience_members.c.since_id)
        .where(
            audience_members.c.user_id == subscription.c.user_id,
            audience_members.c.audience_id == entry.c.audience_id,
        )
        .correlate(subscription, entry)
        .scalar_subquery()
    )
    floor = case((entry.c.audience_id.is_(None), subscription.c.since_id), else_=floor_there)
    if with_muted:
        return entry.c.id > floor
    hidden = (
        select(muted.c.entry_id)
        .where(muted.c.user_id == subscription.c.user_id, muted.c.entry_id == entry.c.id)
        .correlate(subscription, entry)
        .exists()
    )
    return (entry.c.id > floor) & ~hidden


def above_mark(row: FromClause) -> ColumnElement[bool]:
    """Like `alive`, with the mark looked up for each row.

    PostgreSQL sorts all unread rows when the mark is a join; as a scalar subquery it walks the index.
    """
    mark = select(subscriptions.c.read_to).where(follows(row, subscriptions)).correlate(row).scalar_subquery()
    return _kept_or_above(row, mark)


def _kept_or_above(row: FromClause, mark: ColumnElement[int]) -> ColumnElement[bool]:
    # Not an OR: PostgreSQL would gather the rows of each side and lose the order of the index.
    return case((row.c.kept, true()), else_=row.c.entry_id > mark) == true()


_OF_FEED = Statement(
    select(subscriptions.c.id)
    .where(subscriptions.c.feed_id == bindparam("feed_id"), subscriptions.c.unsubscribed_at.is_(None))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_USER_AND_FEEDS = Statement(
    select(subscriptions.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), among(subscriptions.c.feed_id, "feed_ids"))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_USER = Statement(
    select(subscriptions.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_USER_AND_ENTRIES = Statement(
    select(subscriptions.c.id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.feed_id.in_(select(entries.c.feed_id).where(among(entries.c.id, "ids"))),
    )
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_ENTRIES = Statement(
    select(subscriptions.c.id)
    .where(subscriptions.c.feed_id.in_(select(entries.c.feed_id).where(among(entries.c.id, "ids"))))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
# NO KEY UPDATE: whoever inserts an entry or a subscription holds a key share on the feed already.
_FEED = Statement(
    select(feeds.c.id).where(feeds.c.id == bindparam("feed_id")).with_for_update(key_share=True)
)
_STILL_THERE = Statement(
    select(entries.c.id).where(entries.c.id == bindparam("id")).with_for_update(read=True, key_share=True)
)


# A change of states locks the subscriptions whose counts it touches, always in the order of their ids, so
# that nobody waits in a circle. SQLite has one writer and needs none of it.


async def lock_feed(tx: Tx, feed_id: int) -> None:
    """Arrivals and new subscribers of a feed take turns, so that neither misses the other.

    Where no lease keeps others out, whoever stores entries of a feed begins with it.
    """
    if tx.engine == "postgresql":
        await tx.run(_FEED, {"feed_id": feed_id})


async def lock_followers(tx: Tx, feed_id: int) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_FEED, {"feed_id": feed_id})


async def lock_followers_of_entries(tx: Tx, entry_ids: list[int]) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_ENTRIES, {"ids": entry_ids})


async def hold_entry(tx: Tx, entry_id: int) -> bool:
    """Keep an entry from being removed while this lasts; False when it is gone."""
    return await tx.value(_STILL_THERE, {"id": entry_id}) is not None


async def lock_user(tx: Tx, user_id: int) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_USER, {"user_id": user_id})


async def lock_user_feeds(tx: Tx, user_id: int, feed_ids: list[int]) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_USER_AND_FEEDS, {"user_id": user_id, "feed_ids": feed_ids})


async def lock_user_entries(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_USER_AND_ENTRIES, {"user_id": user_id, "ids": entry_ids})
