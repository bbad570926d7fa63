"""WebSub: subscriptions at hubs, and pushed content that was not processed yet."""

from collections.abc import Sequence
from dataclasses import field, fields, replace

from sqlalchemy import BigInteger, ColumnElement, and_, bindparam, case, delete, exists, null, or_, update

from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.domain.websub import HubStatus, HubSubscription, Mode, State, place_of
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, optional, select, with_failure
from reedbed.store.tables import feeds, subscriptions
from reedbed.store.tables import websub_deliveries as deliveries
from reedbed.store.tables import websub_subscriptions as subs

# --- Subscriptions at hubs


@record
class FeedWithHub:
    """A feed with a hub, but without a subscription there."""

    feed_id: int
    hub_url: str
    topic_url: str


_NAMES = tuple(field.name for field in fields(HubSubscription))
_SECRET = "websub_subscriptions.secret"  # noqa: S105  what the vault calls it
_STATUS_NAMES = tuple(field.name for field in fields(HubStatus))
_is_this = subs.c.id == bindparam("id")
_now = bindparam("now", type_=BigInteger())
_topic = func.coalesce(feeds.c.self_url, feeds.c.url)
_is_current_hub = and_(subs.c.feed_id == feeds.c.id, subs.c.hub_url == feeds.c.hub_url, subs.c.topic_url == _topic)


def _is_eligible() -> ColumnElement[bool]:
    """Polled, and not private: the URL of a private feed must not be sent to a hub."""
    followed = exists().where(
        subscriptions.c.feed_id == feeds.c.id, subscriptions.c.unsubscribed_at.is_(None), ~subscriptions.c.paused
    )
    return and_(
        feeds.c.enabled,
        feeds.c.polling,
        feeds.c.deleted_at.is_(None),
        feeds.c.kind == "web",
        feeds.c.owner_id.is_(None),
        feeds.c.username.is_(None),
        or_(feeds.c.operator_added, followed),
    )


_FEEDS_WITHOUT = Query(
    select(feeds.c.id, feeds.c.hub_url, _topic)
    .where(feeds.c.hub_url.is_not(None), _is_eligible(), ~exists().where(_is_current_hub, subs.c.state != "leaving"))
    .order_by(feeds.c.id)
    .limit(bindparam("limit")),
    into=FeedWithHub,
)
_new = insert(subs).values(
    {
        name: bindparam(name)
        for name in ("feed_id", "hub_url", "topic_url", "place", "token", "secret", "due_at", "created_at")
    }
)
_ADD = Command(
    _new.on_conflict_do_update(
        index_elements=["feed_id", "place"],
        set_={"state": "new", "asked": null(), "attempts": 0, "due_at": _new.excluded["due_at"]},
    )
)
_UNWANTED = Query(
    select(subs.c.id)
    .where(subs.c.state != "leaving", ~exists().where(_is_current_hub, _is_eligible()))
    .limit(bindparam("limit")),
    into=int,
)
_REQUEST_UNSUBSCRIBE = Query(
    update(subs)
    .where(among(subs.c.id, "ids"))
    .values(state="leaving", asked=null(), attempts=0, due_at=_now)
    .returning(subs.c.feed_id),
    into=int,
)
_DUE = Query(
    select(*(subs.c[name] for name in _NAMES))
    .where(subs.c.due_at <= _now)
    .order_by(subs.c.due_at)
    .limit(bindparam("limit")),
    into=HubSubscription,
)
_RECORD_REQUEST = Command(
    update(subs)
    .where(_is_this)
    .values(
        asked=bindparam("mode"),
        asked_at=_now,
        due_at=bindparam("until"),
        attempts=subs.c.attempts + 1,
        state=case(
            (subs.c.state == "leaving", "leaving"),
            (and_(subs.c.state == "active", subs.c.expires_at > _now), "active"),
            else_="asked",
        ),
    )
)
_BY_TOKEN = Query(
    select(*(subs.c[name] for name in _NAMES)).where(subs.c.token == bindparam("token")), into=HubSubscription
)
_CONFIRM = Command(
    update(subs)
    .where(_is_this)
    .values(
        state="active",
        asked=null(),
        live_since=case((subs.c.state == "active", subs.c.live_since), else_=_now),
        missed_in_row=case((subs.c.state == "active", subs.c.missed_in_row), else_=0),
        expires_at=bindparam("until"),
        due_at=bindparam("renew_at"),
        attempts=0,
        last_error=null(),
    )
)
_FAIL = Query(
    update(subs)
    .where(_is_this, subs.c.asked.is_not(None))
    .values(state=bindparam("after"), asked=null(), due_at=bindparam("retry_at"), last_error=bindparam("error"))
    .returning(subs.c.feed_id),
    into=int,
)
_DENY = Command(
    update(subs)
    .where(_is_this)
    .values(
        state="denied", asked=null(), expires_at=null(), due_at=bindparam("retry_at"), last_error=bindparam("error")
    )
)
_REMOVE = Command(delete(subs).where(_is_this))
_REMOVE_ALL = Query(delete(subs).returning(subs.c.feed_id), into=int)
_RECORD_FORGED = Command(update(subs).where(_is_this).values(forged=subs.c.forged + 1))
_RECORD_PUSH = Command(
    update(subs)
    .where(_is_this)
    .values(pushes=subs.c.pushes + 1, missed_in_row=0, last_push_at=_now, body_hash=bindparam("digest"))
)
_RECORD_NEW_ENTRIES = Command(update(subs).where(_is_this).values(entries=subs.c.entries + bindparam("count")))
_RECORD_MISSED = Command(
    update(subs)
    .where(
        subs.c.feed_id == bindparam("feed"),
        subs.c.state == "active",
        subs.c.expires_at > _now,
        subs.c.live_since <= bindparam("last_checked", type_=BigInteger()),
    )
    .values(missed=subs.c.missed + bindparam("count"), missed_in_row=subs.c.missed_in_row + 1)
)
_STATUS_OF_FEED = Query(
    select(*(subs.c[name] for name in _STATUS_NAMES))
    .join_from(feeds, subs, _is_current_hub)
    .where(feeds.c.id == bindparam("feed"), subs.c.state != "leaving"),
    into=with_failure(HubStatus, _STATUS_NAMES.index("last_error")),
)
_HUB_OF = Query(select(feeds.c.hub_url).where(feeds.c.id == bindparam("feed")), into=optional(str))


async def feeds_without_subscription(tx: Tx, *, limit: int) -> list[FeedWithHub]:
    """Return eligible feeds that have a hub but no subscription there."""
    return await tx.all(_FEEDS_WITHOUT, {"limit": limit})


async def add(tx: Tx, feed: FeedWithHub, token: str, secret: str, now: Instant) -> None:
    """Add a subscription, due now. One that is being cancelled is revived with its old token and secret."""
    await tx.run(
        _ADD,
        {
            "feed_id": feed.feed_id,
            "hub_url": feed.hub_url,
            "topic_url": feed.topic_url,
            "place": place_of(feed.hub_url, feed.topic_url),
            "token": token,
            "secret": tx.vault.encrypt(_SECRET, secret),
            "due_at": now,
            "created_at": now,
        },
    )


async def unwanted(tx: Tx, *, limit: int) -> list[int]:
    """Return subscriptions of feeds that are not eligible any more or that changed their hub."""
    return await tx.all(_UNWANTED, {"limit": limit})


async def request_unsubscribe(tx: Tx, ids: Sequence[int], now: Instant) -> list[int]:
    """Mark these for cancellation; return their feeds."""
    return await tx.all(_REQUEST_UNSUBSCRIBE, {"ids": list(ids), "now": now})


async def due(tx: Tx, now: Instant, *, limit: int) -> list[HubSubscription]:
    return [_with_secret(tx, hub) for hub in await tx.all(_DUE, {"now": now, "limit": limit})]


async def get_by_token(tx: Tx, token: str) -> HubSubscription | None:
    hub = await tx.one(_BY_TOKEN, {"token": token})
    return hub and _with_secret(tx, hub)


async def record_request(tx: Tx, subscription_id: int, mode: Mode, now: Instant, patience: Millis) -> None:
    """Call it before the request is sent: the hub may verify it before it responds."""
    await tx.run(_RECORD_REQUEST, {"id": subscription_id, "mode": mode, "now": now, "until": now + patience})


async def confirm(tx: Tx, subscription_id: int, now: Instant, *, expires_at: Instant, renew_at: Instant) -> None:
    await tx.run(_CONFIRM, {"id": subscription_id, "now": now, "until": expires_at, "renew_at": renew_at})


async def fail(tx: Tx, subscription_id: int, after: State, error: Failure, retry_at: Instant) -> int | None:
    """Record a failed request, unless the hub verified it meanwhile; return the feed."""
    params = {"id": subscription_id, "after": after, "error": error.dump(), "retry_at": retry_at}
    return await tx.one(_FAIL, params)


async def deny(tx: Tx, subscription_id: int, error: Failure, retry_at: Instant) -> None:
    await tx.run(_DENY, {"id": subscription_id, "error": error.dump(), "retry_at": retry_at})


async def remove(tx: Tx, subscription_id: int) -> None:
    await tx.run(_REMOVE, {"id": subscription_id})


async def remove_all(tx: Tx) -> list[int]:
    """Return the feeds that had a subscription."""
    return await tx.all(_REMOVE_ALL)


async def record_forged(tx: Tx, subscription_id: int) -> None:
    await tx.run(_RECORD_FORGED, {"id": subscription_id})


async def record_push(tx: Tx, subscription_id: int, digest: str, now: Instant) -> None:
    """Also resets the count of missed entries: the hub works."""
    await tx.run(_RECORD_PUSH, {"id": subscription_id, "digest": digest, "now": now})


async def record_new_entries(tx: Tx, subscription_id: int, count: int) -> None:
    await tx.run(_RECORD_NEW_ENTRIES, {"id": subscription_id, "count": count})


async def record_missed(tx: Tx, feed_id: int, count: int, last_checked: Instant, now: Instant) -> None:
    """Count entries that a check found and the hub should have pushed since the previous check."""
    await tx.run(_RECORD_MISSED, {"feed": feed_id, "count": count, "last_checked": last_checked, "now": now})


async def list_for_feed(tx: Tx, feed_id: int) -> HubStatus | None:
    return await tx.one(_STATUS_OF_FEED, {"feed": feed_id})


async def hub_of(tx: Tx, feed_id: int) -> str | None:
    """Return the hub that the feed declares."""
    return await tx.one(_HUB_OF, {"feed": feed_id})


def _with_secret(tx: Tx, hub: HubSubscription) -> HubSubscription:
    return replace(hub, secret=tx.vault.decrypt(_SECRET, hub.secret) or "")


# --- Deliveries


@record
class WaitingDelivery:
    """Without the body, which may be large; see `delivery_body`."""

    id: int
    subscription_id: int
    feed_id: int
    topic_url: str
    content_type: str | None
    attempts: int


@record
class HubDelivery:
    subscription_id: int
    content_type: str | None
    body: bytes = field(repr=False)
    body_hash: str
    received_at: Instant


_ADD_DELIVERY = Command(
    insert(deliveries)
    .values({name: bindparam(name) for name in ("subscription_id", "content_type", "body", "body_hash", "received_at")})
    .on_conflict_do_nothing()
)
_COUNT_DELIVERIES = Query(
    select(func.count()).where(deliveries.c.subscription_id == bindparam("subscription")), into=int
)
_oldest_deliveries = select(func.min(deliveries.c.id)).group_by(deliveries.c.subscription_id)
_WAITING_DELIVERIES = Query(
    select(
        deliveries.c.id,
        deliveries.c.subscription_id,
        subs.c.feed_id,
        subs.c.topic_url,
        deliveries.c.content_type,
        deliveries.c.attempts,
    )
    .join_from(deliveries, subs, subs.c.id == deliveries.c.subscription_id)
    .where(deliveries.c.id.in_(_oldest_deliveries))
    .order_by(deliveries.c.id)
    .limit(bindparam("limit")),
    into=WaitingDelivery,
)
_BODY = Query(select(deliveries.c.body).where(deliveries.c.id == bindparam("id")), into=bytes)
_RECORD_ATTEMPT = Command(
    update(deliveries).where(deliveries.c.id == bindparam("one")).values(attempts=deliveries.c.attempts + 1)
)
_DELETE_DELIVERY = Command(delete(deliveries).where(among(deliveries.c.id, "ids")))


async def add_delivery(tx: Tx, delivery: HubDelivery) -> bool:
    """Return False if the same document is already waiting."""
    params = {
        "subscription_id": delivery.subscription_id,
        "content_type": delivery.content_type,
        "body": delivery.body,
        "body_hash": delivery.body_hash,
        "received_at": delivery.received_at,
    }
    return await tx.run(_ADD_DELIVERY, params) == 1


async def count_deliveries(tx: Tx, subscription_id: int) -> int:
    return await tx.get(_COUNT_DELIVERIES, {"subscription": subscription_id})


async def waiting_deliveries(tx: Tx, *, limit: int) -> list[WaitingDelivery]:
    """Return the oldest delivery of each subscription."""
    return await tx.all(_WAITING_DELIVERIES, {"limit": limit})


async def delivery_body(tx: Tx, delivery_id: int) -> bytes | None:
    """Return None if another process has handled it."""
    body = await tx.one(_BODY, {"id": delivery_id})
    return None if body is None else bytes(body)


async def record_delivery_attempt(tx: Tx, delivery_id: int) -> None:
    await tx.run(_RECORD_ATTEMPT, {"one": delivery_id})


async def delete_delivery(tx: Tx, delivery_id: int) -> None:
    await tx.run(_DELETE_DELIVERY, {"ids": [delivery_id]})
