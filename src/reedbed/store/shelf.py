"""The sidebar's feeds in one light statement: hardly any fetch state, no addresses."""

from collections.abc import Collection

from sqlalchemy import bindparam, func, select

from reedbed.domain.shelf import ShelfFeed
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state, feeds, subscriptions

_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)

_shelf = (
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        _title,
        subscriptions.c.unread,
        feeds.c.icon_id,
        feeds.c.language,
        feed_fetch_state.c.stop_reason,
        feed_fetch_state.c.last_checked_at,
        subscriptions.c.full_text,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_SHELF = Statement(_shelf.order_by(func.lower(_title), subscriptions.c.id))
_SOME = Statement(_shelf.where(among(subscriptions.c.feed_id, "feed_ids")))
_NOTIFYING = Statement(
    select(subscriptions.c.id, _title)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.notify,
    )
    .order_by(func.lower(_title), subscriptions.c.id)
)


async def feeds_of(tx: Tx, user_id: int) -> list[ShelfFeed]:
    return list(map(ShelfFeed._make, await tx.all(_SHELF, {"user_id": user_id})))


async def some(tx: Tx, user_id: int, feed_ids: Collection[int]) -> list[ShelfFeed]:
    """Those of these feeds that the user follows, in no order."""
    rows = await tx.all(_SOME, {"user_id": user_id, "feed_ids": sorted(set(feed_ids))})
    return list(map(ShelfFeed._make, rows))


async def notifying(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """The subscriptions whose news the user wants to be told, with their names."""
    return [(row[0], row[1]) for row in await tx.all(_NOTIFYING, {"user_id": user_id})]
