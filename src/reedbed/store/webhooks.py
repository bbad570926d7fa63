"""Webhooks and their deliveries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Text, bindparam, delete, null, update
from sqlalchemy import insert as plain_insert

from reedbed.domain.failures import dump_failure, load_failure
from reedbed.domain.times import Instant
from reedbed.domain.webhooks import Delivery, Outcome, Webhook, WebhookEvent, event_words
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Command, Query, among, func, insert, optional, row_of, select
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


def _webhook(
    id_: int, user_id: int, name: str, url: str, secret: str, events: str, enabled: bool, *times: Any
) -> Webhook:
    """With the secret as it is stored; see `_with_secret`."""
    wanted = frozenset(WebhookEvent(word) for word in events.split() if word in frozenset(WebhookEvent))
    return Webhook(id_, user_id, name, url, secret, wanted, bool(enabled), *times)


_LIST = Query(select(*_COLUMNS).where(_own_webhooks).order_by(webhooks.c.id), into=_webhook)
_GET = Query(select(*_COLUMNS).where(*_is_this), into=_webhook)
_BY_URL = Query(select(*_COLUMNS).where(_own_webhooks, webhooks.c.url == bindparam("url")), into=_webhook)
_COUNT = Query(select(func.count()).select_from(webhooks).where(_own_webhooks), into=int)
_ADD = Query(
    insert(webhooks).on_conflict_do_nothing(index_elements=["user_id", "url"]).returning(*_COLUMNS),
    columns=["user_id", "name", "url", "secret", "events", "created_at"],
    into=_webhook,
)
_UPDATE = Command(
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
_DELETE = Command(delete(webhooks).where(*_is_this))
_RECORD_SUCCESS = Command(update(webhooks).where(*_is_this).values(failing_since=null()))
_RECORD_FAILURE = Query(
    update(webhooks)
    .where(*_is_this)
    .values(failing_since=func.coalesce(webhooks.c.failing_since, bindparam("now")))
    .returning(webhooks.c.failing_since),
    into=optional(int),
)
_SWITCH_OFF = Command(
    update(webhooks).where(*_is_this, webhooks.c.enabled).values(enabled=False, disabled_at=bindparam("now"))
)
_OF_FOLLOWERS = Query(
    select(subscriptions.c.feed_id, webhooks.c.user_id, webhooks.c.id)
    .join_from(webhooks, subscriptions, subscriptions.c.user_id == webhooks.c.user_id)
    .where(
        webhooks.c.enabled,
        webhooks.c.events.contains(WebhookEvent.NEW_ENTRIES),
        among(subscriptions.c.feed_id, "feed_ids"),
        subscriptions.c.unsubscribed_at.is_(None),
    )
    .order_by(webhooks.c.id),
    into=row_of(int, int, int),
)


async def list_for_user(tx: Tx, user_id: int) -> list[Webhook]:
    return [_with_secret(tx, webhook) for webhook in await tx.all(_LIST, {"owner": user_id})]


async def get(tx: Tx, user_id: int, webhook_id: int) -> Webhook | None:
    webhook = await tx.one(_GET, {"owner": user_id, "hook": webhook_id})
    return webhook and _with_secret(tx, webhook)


async def get_by_url(tx: Tx, user_id: int, url: str) -> Webhook | None:
    webhook = await tx.one(_BY_URL, {"owner": user_id, "url": url})
    return webhook and _with_secret(tx, webhook)


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"owner": user_id})


async def add(
    tx: Tx, user_id: int, *, name: str, url: str, secret: str, events: Iterable[WebhookEvent], now: Instant
) -> Webhook | None:
    """Return None if this user already has a webhook with this URL."""
    webhook = await tx.one(
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
    return webhook and _with_secret(tx, webhook)


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
    since = await tx.one(_RECORD_FAILURE, {"owner": webhook.user_id, "hook": webhook.id, "now": now})
    return now if since is None else since


async def switch_off(tx: Tx, webhook: Webhook, now: Instant) -> bool:
    """Return False if it already was off."""
    return await tx.run(_SWITCH_OFF, {"owner": webhook.user_id, "hook": webhook.id, "now": now}) == 1


async def list_for_followers(tx: Tx, feed_ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return feed, user and webhook ids for subscribers' webhooks on new entries."""
    rows = await tx.all(_OF_FOLLOWERS, {"feed_ids": list(feed_ids)})
    return [(row[0], row[1], row[2]) for row in rows]


def _with_secret(tx: Tx, webhook: Webhook) -> Webhook:
    return replace(webhook, secret=tx.vault.decrypt(_SECRET, webhook.secret) or "")


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

_ADD_DELIVERY = Query(
    plain_insert(deliveries).returning(deliveries.c.id),
    columns=["user_id", "webhook_id", "event", "subject", "created_at", "next_at"],
    into=int,
)


def _delivery(id_: int, user_id: int, webhook_id: int, event: str, subject: str, *rest: Any) -> Delivery:
    delivery = Delivery(id_, user_id, webhook_id, WebhookEvent(event), orjson.loads(subject), *rest)
    return replace(delivery, answer=load_failure(rest[3]))


_GET_DELIVERY = Query(
    select(*_DELIVERY_COLUMNS).where(_own_deliveries, deliveries.c.id == bindparam("delivery")), into=_delivery
)
_LIST_DELIVERIES = Query(
    select(*_DELIVERY_COLUMNS)
    .where(_own_deliveries, deliveries.c.webhook_id == bindparam("hook"), deliveries.c.id < bindparam("before"))
    .order_by(deliveries.c.id.desc())
    .limit(bindparam("limit")),
    into=_delivery,
)
_RECORD_ATTEMPT = Command(
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
_DELETE_OLD_DELIVERIES = Command(delete(deliveries).where(deliveries.c.created_at < bindparam("before")))


async def add_delivery(
    tx: Tx, user_id: int, webhook_id: int, event: WebhookEvent, subject: Mapping[str, object], now: Instant
) -> int:
    return await tx.get(
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
    return await tx.one(_GET_DELIVERY, {"owner": user_id, "delivery": delivery_id})


async def list_deliveries(
    tx: Tx, user_id: int, webhook_id: int, *, limit: int, before: int | None = None
) -> list[Delivery]:
    params = {"owner": user_id, "hook": webhook_id, "before": HIGHEST if before is None else before, "limit": limit}
    return await tx.all(_LIST_DELIVERIES, params)


async def record_attempt(
    tx: Tx, delivery: Delivery, outcome: Outcome, *, now: Instant, next_at: Instant | None, called: bool = True
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
            "new_answer": dump_failure(outcome.answer) or "",
            "at": now if called else delivery.tried_at,
            "next": next_at,
        },
    )


async def delete_old_deliveries(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_DELIVERIES, {"before": before})
