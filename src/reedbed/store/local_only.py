"""Feeds whose texts a user does not want sent to somebody else's model."""

from sqlalchemy import bindparam

from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_summaries, subscriptions

_mine = subscriptions.c.user_id == bindparam("user_id")
_FEEDS = Statement(select(subscriptions.c.feed_id).where(_mine, subscriptions.c.local_only))
_local = (
    select(subscriptions.c.id)
    .where(_mine, subscriptions.c.feed_id == entries.c.feed_id, subscriptions.c.local_only)
    .exists()
)
_FREE = Statement(
    select(entries.c.id)
    .join_from(entry_summaries, entries, entries.c.id == entry_summaries.c.entry_id)
    .where(entry_summaries.c.key == bindparam("key"), ~_local)
    .limit(1)
)


async def feeds_of(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset([row[0] for row in await tx.all(_FEEDS, {"user_id": user_id})])


async def may_be_sent(tx: Tx, user_id: int, key: str) -> bool:
    """Whether some entry with this text is in a feed that this user does not keep here."""
    return await tx.value(_FREE, {"user_id": user_id, "key": key}) is not None
