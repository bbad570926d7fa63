"""The sidebar's feeds in one light statement: hardly any fetch state, no addresses."""

from collections.abc import Collection

from sqlalchemy import BigInteger, bindparam

from reedbed.domain.shelf import ShelfFeed
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import func, select
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
        subscriptions.c.full_text,
        feed_fetch_state.c.status,
        feed_fetch_state.c.last_error,
        feed_fetch_state.c.last_http_status,
        subscriptions.c.paused,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_ordered = _shelf.order_by(func.lower(_title), subscriptions.c.id)
_SHELF = Statement(_ordered)
_ranked = subscriptions.alias("ranked")
_BUSIEST = Statement(
    _ordered.add_columns(feed_fetch_state.c.last_checked_at).where(
        subscriptions.c.id.in_(
            select(_ranked.c.id)
            .where(_ranked.c.user_id == bindparam("user_id"), _ranked.c.unsubscribed_at.is_(None))
            .order_by(_ranked.c.unread.desc(), _ranked.c.id)
            .limit(bindparam("most", type_=BigInteger))
        )
    )
)
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


async def busiest(tx: Tx, user_id: int, most: int) -> tuple[list[ShelfFeed], Instant]:
    """Those with the most unread, in the order of all, and when the last of them was looked at, or 0."""
    rows = await tx.all(_BUSIEST, {"user_id": user_id, "most": most})
    return [ShelfFeed._make(row[:-1]) for row in rows], max((row[-1] or 0 for row in rows), default=0)


async def some(tx: Tx, user_id: int, feed_ids: Collection[int]) -> list[ShelfFeed]:
    """Those of these feeds that the user follows, in no order."""
    rows = await tx.all(_SOME, {"user_id": user_id, "feed_ids": sorted(set(feed_ids))})
    return list(map(ShelfFeed._make, rows))


async def notifying(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """The subscriptions whose news the user wants to be told, with their names."""
    return [(row[0], row[1]) for row in await tx.all(_NOTIFYING, {"user_id": user_id})]
