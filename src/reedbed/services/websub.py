"""WebSub: subscribe to the hubs of feeds, verify their calls, store what they push, and report the status."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from urllib.parse import urlencode

import structlog

from reedbed.domain.errors import NotFound, TooMany, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.text import storable
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.urls import host_of
from reedbed.domain.users import Allowance
from reedbed.domain.websub import (
    DENIED_FOR,
    MAX_UNSUBSCRIBE_ATTEMPTS,
    PATIENCE,
    REQUESTED_LEASE,
    HubStatus,
    HubSubscription,
    Mode,
    State,
    is_signed,
    lease_of,
    renew_at,
    retry_at,
)
from reedbed.services.refresh.check import request_refresh, start_check
from reedbed.services.refresh.diff import body_hash, read_document
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, new_token, spend
from reedbed.store import refresh, websub
from reedbed.store.engine.database import Tx
from reedbed.store.refresh import CheckResult
from reedbed.store.websub import HubDelivery, WaitingDelivery

log = structlog.get_logger()

AT_A_TIME = 200
MAX_CONCURRENT = 8
MAX_MOVES = 4
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "*/*"}


def callback_url(runtime: Runtime, token: str) -> str:
    return f"{runtime.accounts.base_url}/websub/{token}"


async def renew_hub_subscriptions(runtime: Runtime) -> int:
    """Add new hubs, leave unneeded ones, send the requests that are due; return the number sent."""
    if runtime.hubs.off is not None:
        await _delete_all(runtime)
        return 0
    await _update_subscriptions(runtime)
    async with runtime.db.read() as tx:
        due = await websub.due(tx, runtime.now(), limit=AT_A_TIME)
    gate = asyncio.Semaphore(MAX_CONCURRENT)
    await asyncio.gather(*(_renew_safely(runtime, subscription, gate) for subscription in due))
    return len(due)


async def _delete_all(runtime: Runtime) -> None:
    """Hubs cannot reach this server any more. Their leases expire by themselves; feeds are polled again."""
    async with runtime.db.write() as tx:
        await poll_again(tx, await websub.remove_all(tx), runtime.now())


async def _update_subscriptions(runtime: Runtime) -> None:
    now = runtime.now()
    async with runtime.db.read() as tx:
        new_hubs = await websub.feeds_without_subscription(tx, limit=AT_A_TIME)
        unneeded = await websub.unwanted(tx, limit=AT_A_TIME)
    if not new_hubs and not unneeded:
        return
    async with runtime.db.write() as tx:
        for new_hub in new_hubs:
            await websub.add(tx, new_hub, new_token(), new_token(), now)
        await poll_again(tx, await websub.request_unsubscribe(tx, unneeded, now), now)


async def _renew_safely(runtime: Runtime, subscription: HubSubscription, gate: asyncio.Semaphore) -> None:
    async with gate:
        try:
            await _send_request(runtime, subscription)
        except Unavailable:
            raise
        except Exception:
            log.exception("hub request failed unexpectedly", feed=subscription.feed_id, hub=subscription.hub_url)


async def _send_request(runtime: Runtime, subscription: HubSubscription) -> None:
    if await _needs_no_request(runtime, subscription):
        return
    mode: Mode = "unsubscribe" if subscription.state == "leaving" else "subscribe"
    await _wait_for_turn(runtime, subscription.hub_url)
    now = runtime.now()
    async with runtime.db.write() as tx:
        await websub.record_request(tx, subscription.id, mode, now, PATIENCE)
        if not subscription.is_live(now):
            await poll_again(tx, [subscription.feed_id], now)
    failure = await _post_to_hub(runtime, subscription.hub_url, _form(runtime, subscription, mode))
    if failure is None:
        log.info("hub subscription requested", feed=subscription.feed_id, hub=subscription.hub_url, mode=mode)
    else:
        await _record_failure(runtime, subscription, failure, attempts=subscription.attempts + 1)


async def _post_to_hub(runtime: Runtime, hub_url: str, form: bytes) -> Failure | None:
    """Return the error or None. Follows redirects, except from https to http."""
    url = hub_url
    for _ in range(MAX_MOVES):
        response = await runtime.fetcher.exchange(url, form, FORM, max_bytes=0)
        if isinstance(response, Failed):
            return response.failure
        if 200 <= response.status < 300:
            return None
        if response.location is None or (url.startswith("https:") and response.location.startswith("http:")):
            return Failure(FailureCode.HUB_STATUS, {"status": response.status})
        url = response.location
    return Failure(FailureCode.HUB_TOO_MANY_REDIRECTS, {"limit": MAX_MOVES - 1})


async def _needs_no_request(runtime: Runtime, subscription: HubSubscription) -> bool:
    """Handle subscriptions that need no request: an unverified one has failed, an ended one is removed."""
    if subscription.state == "leaving":
        lapsed = subscription.expires_at is None or subscription.expires_at <= runtime.now()
        if lapsed or subscription.attempts >= MAX_UNSUBSCRIBE_ATTEMPTS:
            async with runtime.db.write() as tx:
                await websub.remove(tx, subscription.id)
            return True
        return False
    if subscription.asked is None:
        return False
    failure = Failure(FailureCode.HUB_UNCONFIRMED)
    await _record_failure(runtime, subscription, failure, attempts=subscription.attempts)
    return True


async def _record_failure(runtime: Runtime, subscription: HubSubscription, failure: Failure, *, attempts: int) -> None:
    now = runtime.now()
    state: State = subscription.state if subscription.state == "leaving" or subscription.is_live(now) else "failed"
    expires_at = subscription.expires_at if state == "active" else None
    error = failure.message
    log.warning("hub failed", feed=subscription.feed_id, hub=subscription.hub_url, error=error, attempts=attempts)
    async with runtime.db.write() as tx:
        feed_id = await websub.fail(tx, subscription.id, state, failure, retry_at(now, attempts, expires_at))
        if feed_id is not None and state == "failed":
            await poll_again(tx, [feed_id], now)


async def poll_again(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """These feeds have no working hub: check them soon, since their next check was put off because of it."""
    await refresh.check_soon(tx, feed_ids, now)


async def _wait_for_turn(runtime: Runtime, hub_url: str) -> None:
    if not runtime.fetching.host_delay:
        return
    wait = await runtime.host_throttle.reserve(host_of(hub_url) or "", runtime.fetching.host_delay)
    await asyncio.sleep(wait / SECOND)


def _form(runtime: Runtime, subscription: HubSubscription, mode: Mode) -> bytes:
    fields = {
        "hub.mode": mode,
        "hub.topic": subscription.topic_url,
        "hub.callback": callback_url(runtime, subscription.token),
    }
    if mode == "subscribe":
        fields |= {"hub.lease_seconds": str(REQUESTED_LEASE // SECOND), "hub.secret": subscription.secret}
    return urlencode(fields).encode()


# --- Calls from hubs

UNKNOWN_CALLERS = Allowance(60, 1)
"""Calls of unknown callback URLs, from one network."""
FROM_HUB = Allowance(60, 2)
"""Calls of one subscription's callback URL."""
MAX_WAITING = 20
MAX_CHALLENGE_LENGTH = 2_000
MAX_REASON_LENGTH = 300

UNKNOWN = "No subscription has this address."
NOT_ASKED = "Nobody here asked for this."


@record
class Push:
    body: bytes
    signature: str | None
    content_type: str | None


async def admit(runtime: Runtime, token: str, ip: str | None) -> HubSubscription:
    """Find the subscription of a callback URL before any of the body is read."""
    async with runtime.db.read() as tx:
        subscription = await websub.get_by_token(tx, token)
    if subscription is None:
        await spend(runtime, f"websub-unknown:{network_of(ip)}", UNKNOWN_CALLERS)
        raise NotFound(UNKNOWN)
    await spend(runtime, f"websub:{subscription.id}", FROM_HUB)
    return subscription


async def handle_hub_call(runtime: Runtime, token: str, params: Mapping[str, str], ip: str | None) -> str:
    """Handle a verification or a denial; return the text to echo. `NotFound` for a request we never made."""
    subscription = await admit(runtime, token, ip)
    mode, challenge = params.get("hub.mode"), params.get("hub.challenge", "")
    if params.get("hub.topic") != subscription.topic_url:
        raise _unrequested(subscription, mode)
    if mode == "denied":
        await _record_denial(runtime, subscription, params.get("hub.reason", ""))
        return ""
    if mode != subscription.asked or not challenge or len(challenge) > MAX_CHALLENGE_LENGTH:
        raise _unrequested(subscription, mode)
    if mode == "unsubscribe":
        async with runtime.db.write() as tx:
            await websub.remove(tx, subscription.id)
        log.info("hub unsubscribed", feed=subscription.feed_id, hub=subscription.hub_url)
    else:
        await _confirm(runtime, subscription, params.get("hub.lease_seconds"))
    return challenge


async def store_push(runtime: Runtime, subscription: HubSubscription, push: Push, ip: str | None) -> None:
    """Store the push for the worker. A forged one is only counted; the response is the same."""
    if subscription.state == "leaving":
        raise NotFound(UNKNOWN)
    if not push.body or not is_signed(subscription.secret, push.body, push.signature):
        await _record_forged(runtime, subscription, ip)
        return
    digest = sha256(push.body).hexdigest()
    now = runtime.now()
    async with runtime.db.write() as tx:
        if await websub.count_deliveries(tx, subscription.id) >= MAX_WAITING:
            raise TooMany("Too many messages are waiting. Send it again a little later.", 60)
        await websub.record_push(tx, subscription.id, digest, now)
        if digest == subscription.body_hash:
            return
        kind = storable(push.content_type or "")[:200] or None
        await websub.add_delivery(tx, HubDelivery(subscription.id, kind, push.body, digest, now))
    await runtime.bus.publish(ChangeEvent("hub_news"))


async def _confirm(runtime: Runtime, subscription: HubSubscription, seconds: str | None) -> None:
    now, lease = runtime.now(), lease_of(seconds)
    async with runtime.db.write() as tx:
        await websub.confirm(tx, subscription.id, now, expires_at=now + lease, renew_at=renew_at(now, lease))
    log.info("hub confirmed", feed=subscription.feed_id, hub=subscription.hub_url, lease_ms=lease)


async def _record_denial(runtime: Runtime, subscription: HubSubscription, reason: str) -> None:
    if subscription.state == "leaving":
        return
    now = runtime.now()
    text = storable(reason).strip()[:MAX_REASON_LENGTH]
    because = Failure(FailureCode.HUB_REFUSED_BECAUSE, {"reason": text})
    failure = because if text else Failure(FailureCode.HUB_REFUSED)
    log.warning("hub refused", feed=subscription.feed_id, hub=subscription.hub_url, reason=text)
    async with runtime.db.write() as tx:
        await websub.deny(tx, subscription.id, failure, now + DENIED_FOR)
        await poll_again(tx, [subscription.feed_id], now)


async def _record_forged(runtime: Runtime, subscription: HubSubscription, ip: str | None) -> None:
    log.warning("forged push", feed=subscription.feed_id, hub=subscription.hub_url, ip=ip)
    async with runtime.db.write() as tx:
        await websub.record_forged(tx, subscription.id)


def _unrequested(subscription: HubSubscription, mode: str | None) -> NotFound:
    log.warning(
        "hub verifies a request that was never made", feed=subscription.feed_id, hub=subscription.hub_url, mode=mode
    )
    return NotFound(NOT_ASKED)


# --- Reading pushes

MAX_CONCURRENT_PUSHES = 4
MAX_ATTEMPTS = 5


async def read_pushes(runtime: Runtime, writer: OutcomeWriter) -> bool:
    """Read one delivery of each subscription; return whether there were any."""
    async with runtime.db.read() as tx:
        waiting = await websub.waiting_deliveries(tx, limit=MAX_CONCURRENT_PUSHES)
    await asyncio.gather(*(_process_delivery(runtime, writer, delivery) for delivery in waiting))
    return bool(waiting)


async def _process_delivery(runtime: Runtime, writer: OutcomeWriter, delivery: WaitingDelivery) -> None:
    async with runtime.db.write() as tx:
        # The lease prevents a check of the same feed from writing the same entries at the same time.
        due = await refresh.claim(tx, delivery.feed_id, runtime.name, runtime.now(), runtime.fetching.lease)
        if due is None:
            return
        await websub.record_delivery_attempt(tx, delivery.id)
    try:
        await _store_delivery(runtime, writer, delivery, due)
    except Unavailable:
        raise
    except Exception:
        log.exception("a push could not be read", feed=delivery.feed_id)
        await _drop_delivery(runtime, delivery, only_after=MAX_ATTEMPTS)


async def _store_delivery(runtime: Runtime, writer: OutcomeWriter, delivery: WaitingDelivery, due: DueFeed) -> None:
    async with runtime.db.read() as tx:
        body = await websub.delivery_body(tx, delivery.id)
    if body is None:  # another worker has just read it
        return await _drop_delivery(runtime, delivery)
    result = await _read_delivery(runtime, delivery, due, body)
    if isinstance(result, Failed):
        log.warning("a push holds no feed", feed=due.id, error=result.message)
        await _drop_delivery(runtime, delivery)
        # A push without a feed document still means that there is something new.
        await request_refresh(runtime, [due.id])
        return None
    stored = await writer.store(result)
    async with runtime.db.write() as tx:
        await websub.record_new_entries(tx, delivery.subscription_id, len(stored.new))
        await websub.delete_delivery(tx, delivery.id)
    log.info("push read", feed=due.id, new=len(stored.new), changed=len(stored.changed))
    return None


async def _read_delivery(
    runtime: Runtime, delivery: WaitingDelivery, due: DueFeed, body: bytes
) -> CheckResult | Failed:
    check = start_check(runtime, due, runtime.now())
    fetched = Fetched(200, due.url, body, delivery.content_type)
    result = await read_document(runtime, check, fetched, body_hash(body))
    if isinstance(result, Failed):
        return result
    # A push may contain only the newest entries, so feed metadata is updated by checks alone.
    stats = replace(result.stats, checks=0)
    return replace(result, pushed=True, about=None, listed=(), removed=None, stats=stats)


async def _drop_delivery(runtime: Runtime, delivery: WaitingDelivery, *, only_after: int = 0) -> None:
    async with runtime.db.write() as tx:
        await refresh.release(tx, runtime.name, [delivery.feed_id])
        if delivery.attempts + 1 >= only_after:
            await websub.delete_delivery(tx, delivery.id)


# --- Status for readers

NO_HUB = "The feed names no hub, so it is checked in its own rhythm."
NOT_YET = "The hub will be asked within a minute."


@record
class HubView:
    hub_url: str | None
    status: str
    """none, off, new, asked, active, failed or denied."""
    reason: str
    """In English, for programs."""
    failure: Failure | None = None
    relied_on: bool = False
    standing: HubStatus | None = None


async def hub_status(runtime: Runtime, feed_id: int) -> HubView:
    async with runtime.db.read() as tx:
        hub_url = await websub.hub_of(tx, feed_id)
        status = await websub.list_for_feed(tx, feed_id)
    if hub_url is None:
        return HubView(None, "none", NO_HUB)
    if runtime.hubs.off is not None:
        return HubView(hub_url, "off", runtime.hubs.off.message, runtime.hubs.off)
    if status is None:
        return HubView(hub_url, "new", NOT_YET)
    relied_on = status.is_relied_on(runtime.now())
    failure = None
    if status.state in ("denied", "failed", "leaving"):
        failure = status.last_error or Failure(FailureCode.HUB_NO_ANSWER)
    reason = _reason(status, relied_on=relied_on) if failure is None else failure.message
    return HubView(hub_url, status.state, reason, failure, relied_on, status)


def _reason(status: HubStatus, *, relied_on: bool) -> str:
    if relied_on:
        return "The hub sends new entries at once; one check a day makes sure that none is lost."
    match status.state:
        case "active":
            return "The hub missed news, so the feed is checked in its own rhythm until it sends some again."
        case "new":
            return NOT_YET
        case _:
            return "The hub was asked and has not confirmed yet."
