"""Counts that do not agree with their rows: there should be none, and here they would be found."""

from sqlalchemy import bindparam, update

from reedbed.domain.records import record
from reedbed.store.alive import alive, follows, lock_user
from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import subscriptions, unread

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
class Drift:
    subscription_id: int
    feed_id: int
    counted: int
    real: int


async def users_to_recount(tx: Tx) -> list[int]:
    return [row[0] for row in await tx.all(_USERS)]


async def recount(tx: Tx, user_id: int) -> list[Drift]:
    """Set right what is wrong, and say what it was."""
    await lock_user(tx, user_id)
    found = [Drift(*row) for row in await tx.all(_DRIFTED, {"user_id": user_id})]
    await tx.run_each(_SET, [{"id": drift.subscription_id, "real": drift.real} for drift in found])
    return found
