"""The sidebar's feeds in one light statement: no fetch state, no addresses."""

from sqlalchemy import bindparam, func, select

from reedbed.domain.shelf import ShelfFeed
from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state, feeds, subscriptions

_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)

_SHELF = Statement(
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        _title,
        subscriptions.c.unread,
        feeds.c.icon_id,
        feeds.c.language,
        feed_fetch_state.c.stop_reason,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
    .order_by(func.lower(_title), subscriptions.c.id)
)
_LAST_CHECK = Statement(
    select(func.max(feed_fetch_state.c.last_checked_at))
    .join_from(subscriptions, feed_fetch_state, feed_fetch_state.c.feed_id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)

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
    return [ShelfFeed(*row) for row in await tx.all(_SHELF, {"user_id": user_id})]


async def last_check(tx: Tx, user_id: int) -> int | None:
    """When any of the user's feeds was last looked at."""
    return await tx.value(_LAST_CHECK, {"user_id": user_id})


async def notifying(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """The subscriptions whose news the user wants to be told, with their names."""
    return [(row[0], row[1]) for row in await tx.all(_NOTIFYING, {"user_id": user_id})]
