"""Webhooks: made, changed, tried and taken away by their user."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.records import record
from reedbed.domain.same import SAME, Same
from reedbed.domain.webhooks import (
    Delivery,
    Event,
    Webhook,
    check_name,
    check_url,
    secret_of,
)
from reedbed.services.jobs import wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.webhook_calls import leave
from reedbed.store import events as event_log
from reedbed.store import webhook_deliveries, webhooks
from reedbed.store.database import Tx

MOST_WEBHOOKS = 20
NO_SUCH = "There is no such webhook."
_SECRET_BYTES = 32


@record
class Changes:
    name: str | Same = SAME
    url: str | Same = SAME
    events: frozenset[Event] | Same = SAME
    enabled: bool | Same = SAME


async def create_webhook(
    runtime: Runtime, user_id: int, url: str, events: frozenset[Event], name: str = ""
) -> Webhook:
    """With its secret."""
    address = check_url(url)
    shown = check_name(name, address)
    async with runtime.db.write() as tx:
        made = await _add(runtime, tx, user_id, shown, address, events)
        if made is None:
            raise Conflict("You have a webhook with this address already.", field="url")
        await event_log.note(tx, runtime.now(), "webhook_created", user_id, {"webhook_id": made.id})
    return made


async def webhook_at(runtime: Runtime, tx: Tx, user_id: int, url: str) -> Webhook:
    """The one with this address; made where a rule was the first to name it."""
    known = await webhooks.by_url(tx, user_id, url)
    if known is None:
        await _add(runtime, tx, user_id, check_name("", url), url, frozenset())
        known = await webhooks.by_url(tx, user_id, url)
    assert known is not None
    return known


async def get_webhook(runtime: Runtime, user_id: int, webhook_id: int) -> Webhook:
    async with runtime.db.read() as tx:
        return await _found(tx, user_id, webhook_id)


async def list_webhooks(runtime: Runtime, user_id: int) -> Sequence[Webhook]:
    async with runtime.db.read() as tx:
        return await webhooks.of_user(tx, user_id)


async def change_webhook(runtime: Runtime, user_id: int, webhook_id: int, wanted: Changes) -> Webhook:
    """Switching it on, or giving it another address, forgets its failures."""
    async with runtime.db.write() as tx:
        known = await _found(tx, user_id, webhook_id)
        url = known.url if isinstance(wanted.url, Same) else check_url(wanted.url)
        taken = await webhooks.by_url(tx, user_id, url)
        if taken is not None and taken.id != webhook_id:
            raise Conflict("You have a webhook with this address already.", field="url")
        enabled = known.enabled if isinstance(wanted.enabled, Same) else wanted.enabled
        fresh = url != known.url or (enabled and not known.enabled)
        changed = replace(
            known,
            name=known.name if isinstance(wanted.name, Same) else check_name(wanted.name, url),
            url=url,
            events=known.events if isinstance(wanted.events, Same) else wanted.events,
            enabled=enabled,
            failing_since=None if fresh else known.failing_since,
            disabled_at=None if fresh else known.disabled_at,
        )
        await webhooks.change(tx, changed)
    return changed


async def renew_secret(runtime: Runtime, user_id: int, webhook_id: int) -> Webhook:
    """The old one signs nothing more."""
    async with runtime.db.write() as tx:
        changed = replace(await _found(tx, user_id, webhook_id), secret=_new_secret())
        await webhooks.change(tx, changed)
    return changed


async def delete_webhook(runtime: Runtime, user_id: int, webhook_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await webhooks.remove(tx, user_id, webhook_id):
            raise NotFound(NO_SUCH)
        await event_log.note(tx, runtime.now(), "webhook_deleted", user_id, {"webhook_id": webhook_id})


async def try_webhook(runtime: Runtime, user_id: int, webhook_id: int) -> Delivery:
    """Have it called with nothing but a greeting; what comes of it is in its log."""
    async with runtime.db.write() as tx:
        known = await _found(tx, user_id, webhook_id)
        if not known.enabled:
            raise Conflict("This webhook is switched off. Switch it on first.")
        delivery_id = await leave(tx, user_id, known.id, Event.TEST, {}, runtime.now())
        made = await webhook_deliveries.get(tx, user_id, delivery_id)
    assert made is not None
    await wake_jobs(runtime)
    return made


async def list_deliveries(
    runtime: Runtime, user_id: int, webhook_id: int, *, limit: int, before: int | None = None
) -> Sequence[Delivery]:
    """The newest first."""
    async with runtime.db.read() as tx:
        await _found(tx, user_id, webhook_id)
        return await webhook_deliveries.newest(tx, user_id, webhook_id, limit=limit, before=before)


async def _found(tx: Tx, user_id: int, webhook_id: int) -> Webhook:
    found = await webhooks.get(tx, user_id, webhook_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def _add(
    runtime: Runtime, tx: Tx, user_id: int, name: str, url: str, events: frozenset[Event]
) -> Webhook | None:
    if await webhooks.count(tx, user_id) >= MOST_WEBHOOKS:
        raise Conflict(f"There can be at most {MOST_WEBHOOKS} webhooks. Delete one first.")
    return await webhooks.add(
        tx, user_id, name=name, url=url, secret=_new_secret(), events=events, now=runtime.now()
    )


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(_SECRET_BYTES))
