"""How much there is, for one user and in all."""

from sqlalchemy import bindparam

from reedbed.domain.records import record
from reedbed.store.alive import shows
from reedbed.store.database import Tx
from reedbed.store.dialect import database_in_use, database_size
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, subscriptions

_mine = (subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
_COUNTS = Statement(
    select(
        select(func.count()).select_from(subscriptions).where(*_mine).scalar_subquery(),
        select(func.count())
        .select_from(subscriptions)
        .join(entries, entries.c.feed_id == subscriptions.c.feed_id)
        .where(*_mine, shows(subscriptions, entries))
        .scalar_subquery(),
        select(func.coalesce(func.sum(subscriptions.c.unread), 0)).where(*_mine).scalar_subquery(),
    )
)
_SIZE = Statement(select(database_size()))
_IN_USE = Statement(select(database_in_use()))


@record
class Counts:
    feeds: int
    posts: int
    unread: int


async def counts(tx: Tx, user_id: int) -> Counts:
    row = await tx.one(_COUNTS, {"user_id": user_id})
    assert row is not None
    return Counts(int(row[0]), int(row[1]), int(row[2]))


async def size_in_bytes(tx: Tx) -> int:
    return await tx.value(_SIZE)


async def bytes_in_use(tx: Tx) -> int:
    return await tx.value(_IN_USE)
