"""Asking hubs: subscribe where a feed names one, renew in time, say goodbye when nobody follows any more."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlencode

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.fetching import Failed
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.urls import host_of
from reedbed.domain.websub import (
    LEASE_WISHED,
    MOST_GOODBYES,
    PATIENCE,
    HubSubscription,
    Mode,
    State,
    retry_at,
)
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import new_token
from reedbed.store import fetch_state, websub
from reedbed.store.database import Tx

log = structlog.get_logger()

AT_A_TIME = 200
AT_ONCE = 8
MOST_MOVES = 4
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
        await poll_again(tx, await websub.leave(tx, unwanted, now), now)


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
        await websub.ask(tx, one.id, mode, now, PATIENCE)
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
    for _ in range(MOST_MOVES):
        answer = await runtime.fetcher.exchange(place, form, FORM, most=0)
        if isinstance(answer, Failed):
            return answer.message
        if 200 <= answer.status < 300:
            return None
        if answer.location is None or (place.startswith("https:") and answer.location.startswith("http:")):
            return f"The hub answered {answer.status}."
        place = answer.location
    return f"The hub redirects more than {MOST_MOVES - 1} times."


async def _is_over(runtime: Runtime, one: HubSubscription) -> bool:
    """Whether there is nothing to ask: a silence to be noted, or a goodbye that needs no more words."""
    if one.state == "leaving":
        lapsed = one.expires_at is None or one.expires_at <= runtime.now()
        if lapsed or one.attempts >= MOST_GOODBYES:
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
    await fetch_state.hurry(tx, feed_ids, now)


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
