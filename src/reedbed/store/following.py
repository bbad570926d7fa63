"""Which feeds a user follows, for live updates."""

from sqlalchemy import bindparam, select

from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import subscriptions

_FEED_IDS = Statement(
    select(subscriptions.c.feed_id).where(
        subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)
    )
)


async def feed_ids(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset(row[0] for row in await tx.all(_FEED_IDS, {"user_id": user_id}))
