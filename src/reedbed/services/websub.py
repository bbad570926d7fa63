"""How a feed and its hub get along, in words for its readers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from urllib.parse import urlencode

import structlog

from reedbed.domain.errors import NotFound, TooMany, Unavailable
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
    LEASE_WISHED,
    MAX_GOODBYES,
    PATIENCE,
    HubStatus,
    HubSubscription,
    Mode,
    State,
    is_signed,
    lease_of,
    renew_at,
    retry_at,
)
from reedbed.services.refresh.check import check_of, request_refresh
from reedbed.services.refresh.diff import body_hash, read_document
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, new_token, spend
from reedbed.store import refresh, websub
from reedbed.store.engine.database import Tx
from reedbed.store.refresh import CheckResult
from reedbed.store.websub import HubDelivery, WaitingDeliveries

log = structlog.get_logger()

AT_A_TIME = 200
AT_ONCE = 8
MAX_MOVES = 4
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "*/*"}
UNVERIFIED = "The hub took the request and never confirmed it."


def callback_url(runtime: Runtime, token: str) -> str:
    return f"{runtime.accounts.base_url}/websub/{token}"


async def tend_hubs(runtime: Runtime) -> int:
    """One round: notice new hubs and those nobody needs, then ask whoever is due; how many were asked."""
    if runtime.hubs.off is not None:
        await _forget_all(runtime)
        return 0
    await _notice(runtime)
    async with runtime.db.read() as tx:
        due = await websub.due(tx, runtime.now(), limit=AT_A_TIME)
    gate = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(_tend(runtime, each, gate) for each in due))
    return len(due)


async def _forget_all(runtime: Runtime) -> None:
    """Hubs cannot call us any more: their leases run out by themselves, and feeds are polled as before."""
    async with runtime.db.write() as tx:
        await poll_again(tx, await websub.remove_all(tx), runtime.now())


async def _notice(runtime: Runtime) -> None:
    now = runtime.now()
    async with runtime.db.read() as tx:
        found = await websub.feeds_without(tx, limit=AT_A_TIME)
        unwanted = await websub.unwanted(tx, limit=AT_A_TIME)
    if not found and not unwanted:
        return
    async with runtime.db.write() as tx:
        for wish in found:
            await websub.add(tx, wish, new_token(), new_token(), now)
        await poll_again(tx, await websub.request_unsubscribe(tx, unwanted, now), now)


async def _tend(runtime: Runtime, one: HubSubscription, gate: asyncio.Semaphore) -> None:
    async with gate:
        try:
            await _ask(runtime, one)
        except Unavailable:
            raise
        except Exception:
            log.exception("a hub could not be asked", feed=one.feed_id, hub=one.hub_url)


async def _ask(runtime: Runtime, one: HubSubscription) -> None:
    if await _is_over(runtime, one):
        return
    mode: Mode = "unsubscribe" if one.state == "leaving" else "subscribe"
    await _wait_for_turn(runtime, one.hub_url)
    now = runtime.now()
    async with runtime.db.write() as tx:
        await websub.record_request(tx, one.id, mode, now, PATIENCE)
        if not one.is_live(now):
            await poll_again(tx, [one.feed_id], now)
    error = await _send(runtime, one.hub_url, _form(runtime, one, mode))
    if error is None:
        log.info("hub asked", feed=one.feed_id, hub=one.hub_url, mode=mode)
    else:
        await _note_failure(runtime, one, error, attempts=one.attempts + 1)


async def _send(runtime: Runtime, hub_url: str, form: bytes) -> str | None:
    """What went wrong, or None. A hub that has moved is asked where it says it is, though not in the open."""
    place = hub_url
    for _ in range(MAX_MOVES):
        answer = await runtime.fetcher.exchange(place, form, FORM, most=0)
        if isinstance(answer, Failed):
            return answer.message
        if 200 <= answer.status < 300:
            return None
        if answer.location is None or (place.startswith("https:") and answer.location.startswith("http:")):
            return f"The hub answered {answer.status}."
        place = answer.location
    return f"The hub redirects more than {MAX_MOVES - 1} times."


async def _is_over(runtime: Runtime, one: HubSubscription) -> bool:
    """Whether there is nothing to ask: a silence to be noted, or a goodbye that needs no more words."""
    if one.state == "leaving":
        lapsed = one.expires_at is None or one.expires_at <= runtime.now()
        if lapsed or one.attempts >= MAX_GOODBYES:
            async with runtime.db.write() as tx:
                await websub.remove(tx, one.id)
            return True
        return False
    if one.asked is None:
        return False
    await _note_failure(runtime, one, UNVERIFIED, attempts=one.attempts)
    return True


async def _note_failure(runtime: Runtime, one: HubSubscription, error: str, *, attempts: int) -> None:
    now = runtime.now()
    after: State = one.state if one.state == "leaving" or one.is_live(now) else "failed"
    expires_at = one.expires_at if after == "active" else None
    log.warning("hub failed", feed=one.feed_id, hub=one.hub_url, error=error, attempts=attempts)
    async with runtime.db.write() as tx:
        feed_id = await websub.fail(tx, one.id, after, error, retry_at(now, attempts, expires_at))
        if feed_id is not None and after == "failed":
            await poll_again(tx, [feed_id], now)


async def poll_again(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """These have no hub to rely on: what was put off because of it is due."""
    await refresh.check_soon(tx, feed_ids, now)


async def _wait_for_turn(runtime: Runtime, hub_url: str) -> None:
    if not runtime.fetching.host_delay:
        return
    wait = await runtime.pacer.reserve(host_of(hub_url) or "", runtime.fetching.host_delay)
    await asyncio.sleep(wait / SECOND)


def _form(runtime: Runtime, one: HubSubscription, mode: Mode) -> bytes:
    asked = {
        "hub.mode": mode,
        "hub.topic": one.topic_url,
        "hub.callback": callback_url(runtime, one.token),
    }
    if mode == "subscribe":
        asked |= {"hub.lease_seconds": str(LEASE_WISHED // SECOND), "hub.secret": one.secret}
    return urlencode(asked).encode()


STRANGERS = Allowance(60, 1)
"""Knocks at addresses that do not exist, from one network."""
FROM_HUB = Allowance(60, 2)
"""Calls at one subscription's address."""
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
    """Whose address this is, before a byte of what is sent is read."""
    async with runtime.db.read() as tx:
        one = await websub.get_by_token(tx, token)
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
    if mode != one.asked or not challenge or len(challenge) > MAX_CHALLENGE_LENGTH:
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
        if await websub.count_deliveries(tx, one.id) >= MAX_WAITING:
            raise TooMany("Too much is waiting to be read. Send it again a little later.", 60)
        await websub.record_push(tx, one.id, digest, now)
        if digest == one.body_hash:
            return
        kind = storable(push.content_type or "")[:200] or None
        await websub.add_delivery(tx, HubDelivery(one.id, kind, push.body, digest, now))
    await runtime.bus.publish(ChangeEvent("hub_news"))


async def _confirm(runtime: Runtime, one: HubSubscription, seconds: str | None) -> None:
    now, lease = runtime.now(), lease_of(seconds)
    async with runtime.db.write() as tx:
        await websub.confirm(tx, one.id, now, expires_at=now + lease, renew_at=renew_at(now, lease))
    log.info("hub confirmed", feed=one.feed_id, hub=one.hub_url, lease_ms=lease)


async def _note_denied(runtime: Runtime, one: HubSubscription, reason: str) -> None:
    if one.state == "leaving":
        return
    now = runtime.now()
    told = storable(reason).strip()[:MAX_REASON_LENGTH]
    error = f"The hub refused: {told}" if told else "The hub refused."
    log.warning("hub refused", feed=one.feed_id, hub=one.hub_url, reason=told)
    async with runtime.db.write() as tx:
        await websub.deny(tx, one.id, error, now + DENIED_FOR)
        await poll_again(tx, [one.feed_id], now)


async def _note_forged(runtime: Runtime, one: HubSubscription, ip: str | None) -> None:
    log.warning("forged push", feed=one.feed_id, hub=one.hub_url, ip=ip)
    async with runtime.db.write() as tx:
        await websub.record_forged(tx, one.id)


def _unasked(one: HubSubscription, mode: str | None) -> NotFound:
    log.warning("hub verifies what nobody asked for", feed=one.feed_id, hub=one.hub_url, mode=mode)
    return NotFound(NOT_ASKED)


MAX_CONCURRENT_PUSHES = 4
MAX_ATTEMPTS = 5


async def read_pushes(runtime: Runtime, writer: OutcomeWriter) -> bool:
    """Read what hubs have sent, one of each subscription; whether something is still waiting."""
    async with runtime.db.read() as tx:
        waiting = await websub.waiting_deliveries(tx, limit=MAX_CONCURRENT_PUSHES)
    await asyncio.gather(*(_read(runtime, writer, one) for one in waiting))
    return bool(waiting)


async def _read(runtime: Runtime, writer: OutcomeWriter, one: WaitingDeliveries) -> None:
    async with runtime.db.write() as tx:
        # The lease keeps a check of the same feed from writing the same entries at the same time.
        due = await refresh.claim(tx, one.feed_id, runtime.name, runtime.now(), runtime.fetching.lease)
        if due is None:
            return
        await websub.record_delivery_attempt(tx, one.id)
    try:
        await _store(runtime, writer, one, due)
    except Unavailable:
        raise
    except Exception:
        log.exception("a push could not be read", feed=one.feed_id)
        await _drop(runtime, one, only_after=MAX_ATTEMPTS)


async def _store(runtime: Runtime, writer: OutcomeWriter, one: WaitingDeliveries, due: DueFeed) -> None:
    async with runtime.db.read() as tx:
        body = await websub.delivery_body(tx, one.id)
    if body is None:  # another worker has just read it
        return await _drop(runtime, one)
    finding = await _finding(runtime, one, due, body)
    if isinstance(finding, Failed):
        log.warning("a push is no feed", feed=due.id, error=finding.message)
        await _drop(runtime, one)
        # A hub that only rings the bell still says that there is something new.
        await request_refresh(runtime, [due.id])
        return None
    stored = await writer.store(finding)
    async with runtime.db.write() as tx:
        await websub.record_new_entries(tx, one.subscription_id, len(stored.new))
        await websub.delete_delivery(tx, one.id)
    log.info("push read", feed=due.id, new=len(stored.new), changed=len(stored.changed))
    return None


async def _finding(
    runtime: Runtime, one: WaitingDeliveries, due: DueFeed, body: bytes
) -> CheckResult | Failed:
    check = check_of(runtime, due, runtime.now())
    fetched = Fetched(200, due.url, body, one.content_type)
    finding = await read_document(runtime, check, fetched, body_hash(body))
    if isinstance(finding, Failed):
        return finding
    # A push may hold the newest entries alone: what the feed says of itself is learnt by checks.
    tally = replace(finding.tally, checks=0)
    return replace(finding, pushed=True, about=None, listed=(), removed=None, tally=tally)


async def _drop(runtime: Runtime, one: WaitingDeliveries, *, only_after: int = 0) -> None:
    async with runtime.db.write() as tx:
        await refresh.release(tx, runtime.name, [one.feed_id])
        if one.attempts + 1 >= only_after:
            await websub.delete_delivery(tx, one.id)


NO_HUB = "The feed names no hub, so it is checked in its own rhythm."
NOT_YET = "The hub will be asked within a minute."


@record
class HubView:
    hub_url: str | None
    status: str
    """none, off, new, asked, active, failed or denied."""
    reason: str
    relied_on: bool = False
    standing: HubStatus | None = None


async def hub_status(runtime: Runtime, feed_id: int) -> HubView:
    async with runtime.db.read() as tx:
        hub_url = await websub.hub_of(tx, feed_id)
        standing = await websub.list_for_feed(tx, feed_id)
    if hub_url is None:
        return HubView(None, "none", NO_HUB)
    if runtime.hubs.off is not None:
        return HubView(hub_url, "off", runtime.hubs.off)
    if standing is None:
        return HubView(hub_url, "new", NOT_YET)
    relied_on = standing.is_relied_on(runtime.now())
    return HubView(hub_url, standing.state, _reason(standing, relied_on=relied_on), relied_on, standing)


def _reason(standing: HubStatus, *, relied_on: bool) -> str:
    if relied_on:
        return "The hub sends news as they happen; one check a day makes sure that none is lost."
    match standing.state:
        case "active":
            return "The hub missed news, so the feed is checked in its own rhythm until it sends some again."
        case "new":
            return NOT_YET
        case "asked":
            return "The hub was asked and has not confirmed yet."
        case _:
            return standing.last_error or "The hub does not answer."
