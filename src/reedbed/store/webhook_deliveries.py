"""What webhooks are told, and what became of it."""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.times import Instant
from reedbed.domain.webhooks import Delivery, Event, Outcome
from reedbed.store.database import Row, Tx
from reedbed.store.keyset import HIGHEST
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import webhook_deliveries as deliveries

_COLUMNS = (
    deliveries.c.id,
    deliveries.c.user_id,
    deliveries.c.webhook_id,
    deliveries.c.event,
    deliveries.c.subject,
    deliveries.c.state,
    deliveries.c.tries,
    deliveries.c.status,
    deliveries.c.answer,
    deliveries.c.created_at,
    deliveries.c.tried_at,
    deliveries.c.next_at,
)
_mine = deliveries.c.user_id == bindparam("owner")

_ADD = Statement(
    insert(deliveries).returning(deliveries.c.id),
    columns=["user_id", "webhook_id", "event", "subject", "created_at", "next_at"],
)
_GET = Statement(select(*_COLUMNS).where(_mine, deliveries.c.id == bindparam("delivery")))
_PAGE = Statement(
    select(*_COLUMNS)
    .where(_mine, deliveries.c.webhook_id == bindparam("hook"), deliveries.c.id < bindparam("before"))
    .order_by(deliveries.c.id.desc())
    .limit(bindparam("most"))
)
_NOTE = Statement(
    update(deliveries)
    .where(_mine, deliveries.c.id == bindparam("delivery"))
    .values(
        state=bindparam("new_state"),
        tries=deliveries.c.tries + bindparam("more"),
        status=bindparam("new_status"),
        answer=bindparam("new_answer"),
        tried_at=bindparam("at"),
        next_at=bindparam("next"),
    )
)
_FORGET = Statement(delete(deliveries).where(deliveries.c.created_at < bindparam("before")))


async def add(
    tx: Tx, user_id: int, webhook_id: int, event: Event, subject: Mapping[str, Any], now: Instant
) -> int:
    return await tx.value(
        _ADD,
        {
            "user_id": user_id,
            "webhook_id": webhook_id,
            "event": event,
            "subject": orjson.dumps(subject).decode(),
            "created_at": now,
            "next_at": now,
        },
    )


async def get(tx: Tx, user_id: int, delivery_id: int) -> Delivery | None:
    row = await tx.one(_GET, {"owner": user_id, "delivery": delivery_id})
    return _delivery(row) if row else None


async def newest(
    tx: Tx, user_id: int, webhook_id: int, *, limit: int, before: int | None = None
) -> list[Delivery]:
    params = {
        "owner": user_id,
        "hook": webhook_id,
        "before": HIGHEST if before is None else before,
        "most": limit,
    }
    return [_delivery(row) for row in await tx.all(_PAGE, params)]


async def note(
    tx: Tx,
    delivery: Delivery,
    outcome: Outcome,
    *,
    now: Instant,
    next_at: Instant | None,
    called: bool = True,
) -> None:
    """`called` is False where nobody was asked."""
    open_still = "failed" if next_at is None else "waiting"
    await tx.run(
        _NOTE,
        {
            "owner": delivery.user_id,
            "delivery": delivery.id,
            "new_state": "delivered" if outcome.good else open_still,
            "more": int(called),
            "new_status": outcome.status,
            "new_answer": outcome.answer,
            "at": now if called else delivery.tried_at,
            "next": next_at,
        },
    )


async def forget(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


def _delivery(row: Row) -> Delivery:
    id_, user_id, webhook_id, event, subject, *rest = row
    return Delivery(id_, user_id, webhook_id, Event(event), orjson.loads(subject), *rest)
