"""How the feeds are doing, counted."""

from sqlalchemy import bindparam

from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state, subscriptions

_OF_USER = Statement(
    select(feed_fetch_state.c.status, func.count())
    .join_from(subscriptions, feed_fetch_state, feed_fetch_state.c.feed_id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
    .group_by(feed_fetch_state.c.status)
)
_OF_ALL = Statement(select(feed_fetch_state.c.status, func.count()).group_by(feed_fetch_state.c.status))


async def of_user(tx: Tx, user_id: int) -> dict[str, int]:
    """How many of the feeds a user follows have each status."""
    return {row[0]: row[1] for row in await tx.all(_OF_USER, {"user_id": user_id})}


async def of_all(tx: Tx) -> dict[str, int]:
    return {row[0]: row[1] for row in await tx.all(_OF_ALL)}
