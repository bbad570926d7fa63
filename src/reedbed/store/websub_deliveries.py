"""What hubs have sent and nobody has read yet."""

from dataclasses import field

from sqlalchemy import bindparam, delete, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import websub_deliveries as deliveries
from reedbed.store.tables import websub_subscriptions as subs


@record
class Waiting:
    """Without the body, which may be large."""

    id: int
    subscription_id: int
    feed_id: int
    topic_url: str
    content_type: str | None
    attempts: int


@record
class Delivery:
    subscription_id: int
    content_type: str | None
    body: bytes = field(repr=False)
    body_hash: str
    received_at: Instant


_ADD = Statement(
    insert(deliveries)
    .values(
        {
            name: bindparam(name)
            for name in ("subscription_id", "content_type", "body", "body_hash", "received_at")
        }
    )
    .on_conflict_do_nothing()
)
_HOW_MANY = Statement(select(func.count()).where(deliveries.c.subscription_id == bindparam("subscription")))
_oldest = select(func.min(deliveries.c.id)).group_by(deliveries.c.subscription_id)
_WAITING = Statement(
    select(
        deliveries.c.id,
        deliveries.c.subscription_id,
        subs.c.feed_id,
        subs.c.topic_url,
        deliveries.c.content_type,
        deliveries.c.attempts,
    )
    .join_from(deliveries, subs, subs.c.id == deliveries.c.subscription_id)
    .where(deliveries.c.id.in_(_oldest))
    .order_by(deliveries.c.id)
    .limit(bindparam("limit"))
)
_BODY = Statement(select(deliveries.c.body).where(deliveries.c.id == bindparam("id")))
_TRIED = Statement(
    update(deliveries).where(deliveries.c.id == bindparam("one")).values(attempts=deliveries.c.attempts + 1)
)
_REMOVE = Statement(delete(deliveries).where(among(deliveries.c.id, "ids")))


async def add(tx: Tx, delivery: Delivery) -> bool:
    """False when the same document waits already."""
    params = {
        "subscription_id": delivery.subscription_id,
        "content_type": delivery.content_type,
        "body": delivery.body,
        "body_hash": delivery.body_hash,
        "received_at": delivery.received_at,
    }
    return await tx.run(_ADD, params) == 1


async def how_many(tx: Tx, subscription_id: int) -> int:
    return await tx.value(_HOW_MANY, {"subscription": subscription_id})


async def waiting(tx: Tx, *, limit: int) -> list[Waiting]:
    """The oldest of each subscription."""
    return [Waiting(*row) for row in await tx.all(_WAITING, {"limit": limit})]


async def body_of(tx: Tx, delivery_id: int) -> bytes | None:
    """None when another has read it."""
    body = await tx.value(_BODY, {"id": delivery_id})
    return None if body is None else bytes(body)


async def note_attempt(tx: Tx, delivery_id: int) -> None:
    await tx.run(_TRIED, {"one": delivery_id})


async def remove(tx: Tx, delivery_id: int) -> None:
    await tx.run(_REMOVE, {"ids": [delivery_id]})
