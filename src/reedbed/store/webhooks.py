"""Webhooks and their deliveries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Text, bindparam, delete, null, update
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.domain.webhooks import Delivery, Outcome, Webhook, WebhookEvent, event_words
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Statement, among, func, select
from reedbed.store.tables import subscriptions, webhooks
from reedbed.store.tables import webhook_deliveries as deliveries

_COLUMNS = (
    webhooks.c.id,
    webhooks.c.user_id,
    webhooks.c.name,
    webhooks.c.url,
    webhooks.c.secret,
    webhooks.c.events,
    webhooks.c.enabled,
    webhooks.c.created_at,
    webhooks.c.failing_since,
    webhooks.c.disabled_at,
)
_SECRET = "webhooks.secret"  # noqa: S105  what the vault calls it
_own_webhooks = webhooks.c.user_id == bindparam("owner")
_is_this = (_own_webhooks, webhooks.c.id == bindparam("hook"))

_LIST = Statement(select(*_COLUMNS).where(_own_webhooks).order_by(webhooks.c.id))
_GET = Statement(select(*_COLUMNS).where(*_is_this))
_BY_URL = Statement(select(*_COLUMNS).where(_own_webhooks, webhooks.c.url == bindparam("url")))
_COUNT = Statement(select(func.count()).select_from(webhooks).where(_own_webhooks))
_ADD = Statement(
    insert(webhooks).on_conflict_do_nothing(index_elements=["user_id", "url"]).returning(*_COLUMNS),
    columns=["user_id", "name", "url", "secret", "events", "created_at"],
)
_UPDATE = Statement(
    update(webhooks)
    .where(*_is_this)
    .values(
        name=bindparam("new_name"),
        url=bindparam("new_url"),
        secret=func.coalesce(bindparam("new_secret", type_=Text()), webhooks.c.secret),
        events=bindparam("new_events"),
        enabled=bindparam("on"),
        failing_since=bindparam("failing"),
        disabled_at=bindparam("off_at"),
    )
)
_DELETE = Statement(delete(webhooks).where(*_is_this))
_RECORD_SUCCESS = Statement(update(webhooks).where(*_is_this).values(failing_since=null()))
_RECORD_FAILURE = Statement(
    update(webhooks)
    .where(*_is_this)
    .values(failing_since=func.coalesce(webhooks.c.failing_since, bindparam("now")))
    .returning(webhooks.c.failing_since)
)
_SWITCH_OFF = Statement(
    update(webhooks).where(*_is_this, webhooks.c.enabled).values(enabled=False, disabled_at=bindparam("now"))
)
_OF_FOLLOWERS = Statement(
    select(subscriptions.c.feed_id, webhooks.c.user_id, webhooks.c.id)
    .join_from(webhooks, subscriptions, subscriptions.c.user_id == webhooks.c.user_id)
    .where(
        webhooks.c.enabled,
        webhooks.c.events.contains(WebhookEvent.NEW_ENTRIES),
        among(subscriptions.c.feed_id, "feed_ids"),
        subscriptions.c.unsubscribed_at.is_(None),
    )
    .order_by(webhooks.c.id)
)


async def list_for_user(tx: Tx, user_id: int) -> list[Webhook]:
    return [_webhook(tx, row) for row in await tx.all(_LIST, {"owner": user_id})]


async def get(tx: Tx, user_id: int, webhook_id: int) -> Webhook | None:
    row = await tx.one(_GET, {"owner": user_id, "hook": webhook_id})
    return _webhook(tx, row) if row else None


async def get_by_url(tx: Tx, user_id: int, url: str) -> Webhook | None:
    row = await tx.one(_BY_URL, {"owner": user_id, "url": url})
    return _webhook(tx, row) if row else None


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"owner": user_id})


async def add(
    tx: Tx, user_id: int, *, name: str, url: str, secret: str, events: Iterable[WebhookEvent], now: Instant
) -> Webhook | None:
    """Return None if this user already has a webhook with this URL."""
    row = await tx.one(
        _ADD,
        {
            "user_id": user_id,
            "name": name,
            "url": url,
            "secret": tx.vault.encrypt(_SECRET, secret),
            "events": event_words(events),
            "created_at": now,
        },
    )
    return _webhook(tx, row) if row else None


async def update_webhook(tx: Tx, webhook: Webhook) -> None:
    await tx.run(
        _UPDATE,
        {
            "owner": webhook.user_id,
            "hook": webhook.id,
            "new_name": webhook.name,
            "new_url": webhook.url,
            "new_secret": tx.vault.encrypt(_SECRET, webhook.secret) if webhook.secret else None,
            "new_events": event_words(webhook.events),
            "on": webhook.enabled,
            "failing": webhook.failing_since,
            "off_at": webhook.disabled_at,
        },
    )


async def delete_webhook(tx: Tx, user_id: int, webhook_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "hook": webhook_id}) == 1


async def record_success(tx: Tx, webhook: Webhook) -> None:
    await tx.run(_RECORD_SUCCESS, {"owner": webhook.user_id, "hook": webhook.id})


async def record_failure(tx: Tx, webhook: Webhook, now: Instant) -> Instant:
    """Return since when it has been failing."""
    since = await tx.value(_RECORD_FAILURE, {"owner": webhook.user_id, "hook": webhook.id, "now": now})
    return now if since is None else since


async def switch_off(tx: Tx, webhook: Webhook, now: Instant) -> bool:
    """Return False if it already was off."""
    return await tx.run(_SWITCH_OFF, {"owner": webhook.user_id, "hook": webhook.id, "now": now}) == 1


async def list_for_followers(tx: Tx, feed_ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return feed, user and webhook ids for subscribers' webhooks on new entries."""
    rows = await tx.all(_OF_FOLLOWERS, {"feed_ids": list(feed_ids)})
    return [(row[0], row[1], row[2]) for row in rows]


def _webhook(tx: Tx, row: Row) -> Webhook:
    id_, user_id, name, url, secret, events, enabled, created_at, failing_since, disabled_at = row
    return Webhook(
        id_,
        user_id,
        name,
        url,
        tx.vault.decrypt(_SECRET, secret) or "",
        frozenset(WebhookEvent(word) for word in events.split() if word in frozenset(WebhookEvent)),
        bool(enabled),
        created_at,
        failing_since,
        disabled_at,
    )


# --- Deliveries

_DELIVERY_COLUMNS = (
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
_own_deliveries = deliveries.c.user_id == bindparam("owner")

_ADD_DELIVERY = Statement(
    plain_insert(deliveries).returning(deliveries.c.id),
    columns=["user_id", "webhook_id", "event", "subject", "created_at", "next_at"],
)
_GET_DELIVERY = Statement(
    select(*_DELIVERY_COLUMNS).where(_own_deliveries, deliveries.c.id == bindparam("delivery"))
)
_LIST_DELIVERIES = Statement(
    select(*_DELIVERY_COLUMNS)
    .where(
        _own_deliveries,
        deliveries.c.webhook_id == bindparam("hook"),
        deliveries.c.id < bindparam("before"),
    )
    .order_by(deliveries.c.id.desc())
    .limit(bindparam("most"))
)
_RECORD_ATTEMPT = Statement(
    update(deliveries)
    .where(_own_deliveries, deliveries.c.id == bindparam("delivery"))
    .values(
        state=bindparam("new_state"),
        tries=deliveries.c.tries + bindparam("more"),
        status=bindparam("new_status"),
        answer=bindparam("new_answer"),
        tried_at=bindparam("at"),
        next_at=bindparam("next"),
    )
)
_DELETE_OLD_DELIVERIES = Statement(delete(deliveries).where(deliveries.c.created_at < bindparam("before")))


async def add_delivery(
    tx: Tx, user_id: int, webhook_id: int, event: WebhookEvent, subject: Mapping[str, Any], now: Instant
) -> int:
    return await tx.value(
        _ADD_DELIVERY,
        {
            "user_id": user_id,
            "webhook_id": webhook_id,
            "event": event,
            "subject": orjson.dumps(subject).decode(),
            "created_at": now,
            "next_at": now,
        },
    )


async def get_delivery(tx: Tx, user_id: int, delivery_id: int) -> Delivery | None:
    row = await tx.one(_GET_DELIVERY, {"owner": user_id, "delivery": delivery_id})
    return _delivery(row) if row else None


async def list_deliveries(
    tx: Tx, user_id: int, webhook_id: int, *, limit: int, before: int | None = None
) -> list[Delivery]:
    params = {
        "owner": user_id,
        "hook": webhook_id,
        "before": HIGHEST if before is None else before,
        "most": limit,
    }
    return [_delivery(row) for row in await tx.all(_LIST_DELIVERIES, params)]


async def record_attempt(
    tx: Tx,
    delivery: Delivery,
    outcome: Outcome,
    *,
    now: Instant,
    next_at: Instant | None,
    called: bool = True,
) -> None:
    """`called` is False if no request was sent."""
    state_if_failed = "failed" if next_at is None else "waiting"
    await tx.run(
        _RECORD_ATTEMPT,
        {
            "owner": delivery.user_id,
            "delivery": delivery.id,
            "new_state": "delivered" if outcome.good else state_if_failed,
            "more": int(called),
            "new_status": outcome.status,
            "new_answer": outcome.answer,
            "at": now if called else delivery.tried_at,
            "next": next_at,
        },
    )


async def delete_old_deliveries(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_DELIVERIES, {"before": before})


def _delivery(row: Row) -> Delivery:
    id_, user_id, webhook_id, event, subject, *rest = row
    return Delivery(id_, user_id, webhook_id, WebhookEvent(event), orjson.loads(subject), *rest)
