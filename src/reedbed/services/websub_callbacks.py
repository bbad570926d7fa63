"""What hubs say to us: verifications, refusals, and news. Only what was asked for is believed."""

from collections.abc import Mapping
from hashlib import sha256

import structlog

from reedbed.domain.errors import NotFound, TooMany
from reedbed.domain.hints import Hint
from reedbed.domain.limits import Allowance
from reedbed.domain.records import record
from reedbed.domain.texts import storable
from reedbed.domain.websub import DENIED_FOR, HubSubscription, is_signed, lease_of, renew_at
from reedbed.services.limits import network_of, spend
from reedbed.services.runtime import Runtime
from reedbed.services.websub import poll_again
from reedbed.store import websub, websub_deliveries
from reedbed.store.websub_deliveries import Delivery

log = structlog.get_logger()

STRANGERS = Allowance(60, 1)
"""Knocks at addresses that do not exist, from one network."""
FROM_HUB = Allowance(60, 2)
"""Calls at one subscription's address."""
MOST_WAITING = 20
LONGEST_CHALLENGE = 2_000
LONGEST_REASON = 300

UNKNOWN = "No subscription has this address."
NOT_ASKED = "Nobody here asked for this."


@record
class Push:
    body: bytes
    signature: str | None
    content_type: str | None


async def admit(runtime: Runtime, token: str, ip: str | None) -> HubSubscription:
    """Whose address this is, before a byte of what is sent is read."""
    async with runtime.db.read() as tx:
        one = await websub.by_token(tx, token)
    if one is None:
        await spend(runtime, f"websub-stranger:{network_of(ip)}", STRANGERS)
        raise NotFound(UNKNOWN)
    await spend(runtime, f"websub:{one.id}", FROM_HUB)
    return one


async def answer_hub(runtime: Runtime, token: str, said: Mapping[str, str], ip: str | None) -> str:
    """What to echo to a hub that verifies, or tells of a refusal. `NotFound` for what was never asked for."""
    one = await admit(runtime, token, ip)
    mode, challenge = said.get("hub.mode"), said.get("hub.challenge", "")
    if said.get("hub.topic") != one.topic_url:
        raise _unasked(one, mode)
    if mode == "denied":
        await _note_denied(runtime, one, said.get("hub.reason", ""))
        return ""
    if mode != one.asked or not challenge or len(challenge) > LONGEST_CHALLENGE:
        raise _unasked(one, mode)
    if mode == "unsubscribe":
        async with runtime.db.write() as tx:
            await websub.remove(tx, one.id)
        log.info("hub left", feed=one.feed_id, hub=one.hub_url)
    else:
        await _confirm(runtime, one, said.get("hub.lease_seconds"))
    return challenge


async def take_push(runtime: Runtime, one: HubSubscription, push: Push, ip: str | None) -> None:
    """Keep it for the worker. A forged one is counted and forgotten; the answer does not tell which."""
    if one.state == "leaving":
        raise NotFound(UNKNOWN)
    if not push.body or not is_signed(one.secret, push.body, push.signature):
        await _note_forged(runtime, one, ip)
        return
    digest = sha256(push.body).hexdigest()
    now = runtime.now()
    async with runtime.db.write() as tx:
        if await websub_deliveries.how_many(tx, one.id) >= MOST_WAITING:
            raise TooMany("Too much is waiting to be read. Send it again a little later.", 60)
        await websub.note_push(tx, one.id, digest, now)
        if digest == one.body_hash:
            return
        kind = storable(push.content_type or "")[:200] or None
        await websub_deliveries.add(tx, Delivery(one.id, kind, push.body, digest, now))
    await runtime.bus.publish(Hint("hub_news"))


async def _confirm(runtime: Runtime, one: HubSubscription, seconds: str | None) -> None:
    now, lease = runtime.now(), lease_of(seconds)
    async with runtime.db.write() as tx:
        await websub.confirm(tx, one.id, now, expires_at=now + lease, renew_at=renew_at(now, lease))
    log.info("hub confirmed", feed=one.feed_id, hub=one.hub_url, lease_ms=lease)


async def _note_denied(runtime: Runtime, one: HubSubscription, reason: str) -> None:
    if one.state == "leaving":
        return
    now = runtime.now()
    told = storable(reason).strip()[:LONGEST_REASON]
    error = f"The hub refused: {told}" if told else "The hub refused."
    log.warning("hub refused", feed=one.feed_id, hub=one.hub_url, reason=told)
    async with runtime.db.write() as tx:
        await websub.deny(tx, one.id, error, now + DENIED_FOR)
        await poll_again(tx, [one.feed_id], now)


async def _note_forged(runtime: Runtime, one: HubSubscription, ip: str | None) -> None:
    log.warning("forged push", feed=one.feed_id, hub=one.hub_url, ip=ip)
    async with runtime.db.write() as tx:
        await websub.note_forged(tx, one.id)


def _unasked(one: HubSubscription, mode: str | None) -> NotFound:
    log.warning("hub verifies what nobody asked for", feed=one.feed_id, hub=one.hub_url, mode=mode)
    return NotFound(NOT_ASKED)
