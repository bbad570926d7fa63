"""Webhooks: manage them, queue their calls when something happens, and make the calls from a job."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

import orjson
import structlog

from reedbed.domain.digests import digest_markdown
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.failures import Failure, FailureCode, dump_failure, failure_message
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, next_try
from reedbed.domain.rules import NoticedEntry, RuleNotice, entries_json, notice_json
from reedbed.domain.times import DAY, SECOND, Instant, rfc3339
from reedbed.domain.users import Allowance
from reedbed.domain.webhooks import (
    GIVE_UP_AFTER,
    MAX_WAIT,
    Delivery,
    Outcome,
    Webhook,
    WebhookEvent,
    check_name,
    check_url,
    delivery_outcome,
    headers_for,
    is_dead,
    secret_of,
    switched_off_email,
)
from reedbed.services.email import texts_for
from reedbed.services.jobs import Done, Later, pace, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.store import digests, jobs, rules, users, webhooks
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entry_texts
from reedbed.store.jobs import Job

log = structlog.get_logger()

CALL_JOB = "webhook"
MAX_ENTRIES = 50
RETENTION = 30 * DAY
PER_WEBHOOK = Allowance(60, 1)
"""Bursts are fine, but a runaway feed must not flood the receiver."""
_NOTHING_LEFT = Outcome(None, Failure(FailureCode.WEBHOOK_NOTHING_LEFT), again=False)
_NO_SECRET = Outcome(None, Failure(FailureCode.WEBHOOK_KEY_LOST), again=False)
_SWITCHED_OFF = Outcome(None, Failure(FailureCode.WEBHOOK_SWITCHED_OFF), again=False)


async def leave(
    tx: Tx, user_id: int, webhook_id: int, event: WebhookEvent, subject: Mapping[str, object], now: Instant
) -> int:
    delivery_id = await webhooks.add_delivery(tx, user_id, webhook_id, event, subject, now)
    await jobs.add(tx, CALL_JOB, {"delivery_id": delivery_id}, now=now, user_id=user_id)
    return delivery_id


async def enqueue_new_entries_webhooks(tx: Tx, new: Mapping[int, Sequence[int]], now: Instant) -> None:
    """Queue one call for each feed and webhook when entries arrive. `new` has their ids by feed."""
    if not new:
        return
    for feed_id, user_id, webhook_id in await webhooks.list_for_followers(tx, list(new)):
        ids = new[feed_id]
        subject = {"feed_id": feed_id, "entry_ids": list(ids[:MAX_ENTRIES]), "count": len(ids)}
        await leave(tx, user_id, webhook_id, WebhookEvent.NEW_ENTRIES, subject, now)


async def enqueue_webhook_event(
    tx: Tx,
    user_id: int,
    event: WebhookEvent,
    subject: Mapping[str, object],
    now: Instant,
    *,
    also: Webhook | None = None,
) -> int:
    """Queue a call for each webhook of the user with this event, and for `also`; return how many."""
    receivers = {
        webhook.id: webhook for webhook in await webhooks.list_for_user(tx, user_id) if event in webhook.events
    }
    if also is not None:
        receivers[also.id] = also
    enabled = [webhook for webhook in receivers.values() if webhook.enabled]
    for webhook in enabled:
        await leave(tx, user_id, webhook.id, event, subject, now)
    return len(enabled)


async def call_webhook(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job. A call may be made twice with the same id, but is never silently skipped."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        delivery = await webhooks.get_delivery(tx, job.user_id, job.payload["delivery_id"])
        webhook = await webhooks.get(tx, job.user_id, delivery.webhook_id) if delivery else None
    if delivery is None or webhook is None or delivery.state != "waiting":
        return Done()
    if not webhook.enabled:
        return await _finish_without_call(runtime, delivery, _SWITCHED_OFF)
    if (paced := await pace(runtime, f"webhooks:{webhook.id}", PER_WEBHOOK)) is not None:
        return paced
    payload = await _payload(runtime, delivery)
    if payload is None:
        return await _finish_without_call(runtime, delivery, _NOTHING_LEFT)
    return await _record_result(runtime, webhook, delivery, await _call(runtime, webhook, delivery, payload))


async def delete_old_webhook_calls(runtime: Runtime) -> int:
    """Chore: delete log entries older than a month."""
    async with runtime.db.write() as tx:
        return await webhooks.delete_old_deliveries(tx, runtime.now() - RETENTION)


async def _payload(runtime: Runtime, delivery: Delivery) -> dict[str, object] | None:
    """The body of the call; None if its subject no longer exists."""
    match delivery.event:
        case WebhookEvent.NEW_ENTRIES:
            return await _new_entries(runtime, delivery)
        case WebhookEvent.RULE_MATCH:
            return await _rule_match(runtime, delivery)
        case WebhookEvent.DIGEST:
            return await _digest(runtime, delivery)
        case WebhookEvent.TEST:
            return {"event": WebhookEvent.TEST, "message": "Reedbed can reach this webhook."}


async def _new_entries(runtime: Runtime, delivery: Delivery) -> dict[str, object] | None:
    entries = await _entries(runtime, delivery)
    if not entries:
        return None
    return {
        "event": WebhookEvent.NEW_ENTRIES,
        "feed": {"id": str(delivery.subject["feed_id"]), "title": entries[0].feed_title},
        # Entries muted by a rule do not count.
        "count": delivery.subject["count"] - len(delivery.subject["entry_ids"]) + len(entries),
        "entries": entries_json(entries),
    }


async def _rule_match(runtime: Runtime, delivery: Delivery) -> dict[str, object] | None:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, delivery.user_id, delivery.subject["rule_id"])
    entries = await _entries(runtime, delivery)
    if row is None or not entries:
        return None
    count = max(delivery.subject["count"], len(entries))
    return notice_json(RuleNotice(row.rule.id, row.rule.name, count, entries))


async def _digest(runtime: Runtime, delivery: Delivery) -> dict[str, object] | None:
    async with runtime.db.read() as tx:
        digest = await digests.get(tx, delivery.user_id, delivery.subject["digest_id"])
    if digest is None:
        return None
    base_url = runtime.accounts.base_url
    fields = {
        "id": str(digest.id),
        "url": f"{base_url}/digests/{digest.id}",
        "since": rfc3339(digest.since),
        "until": rfc3339(digest.until),
        "entries": digest.entries,
        "markdown": digest_markdown(digest, base_url),
    }
    return {"event": WebhookEvent.DIGEST, "digest": fields}


async def _entries(runtime: Runtime, delivery: Delivery) -> list[NoticedEntry]:
    async with runtime.db.read() as tx:
        entries = await entry_texts.visible_texts(tx, delivery.user_id, delivery.subject["entry_ids"])
    return [NoticedEntry(entry.id, entry.title, entry.url, entry.feed_title, entry.published_at) for entry in entries]


async def _call(runtime: Runtime, webhook: Webhook, delivery: Delivery, payload: Mapping[str, object]) -> Outcome:
    if not webhook.secret:
        return _NO_SECRET
    body = orjson.dumps(payload)
    headers = headers_for(webhook, delivery, body, runtime.now() // SECOND)
    response = await runtime.fetcher.post(webhook.url, body, headers)
    if isinstance(response, Failed):
        return Outcome(response.status, response.failure, again=response.kind == TEMPORARY)
    return delivery_outcome(response)


async def _record_result(runtime: Runtime, webhook: Webhook, delivery: Delivery, outcome: Outcome) -> Done | Later:
    now = runtime.now()
    next_at = (
        next_try(delivery.created_at, now, give_up_after=GIVE_UP_AFTER, max_wait=MAX_WAIT) if outcome.again else None
    )
    async with runtime.db.write() as tx:
        off = await _update_health(tx, webhook, outcome, now)
        if off:
            next_at = None
        await webhooks.record_attempt(tx, delivery, outcome, now=now, next_at=next_at)
    if off:
        await _notify_switched_off(runtime, webhook, outcome)
    if next_at is not None:
        return Later(next_at)
    return Done({"sent": "webhook"} if outcome.good else {"error": dump_failure(outcome.answer)})


async def _update_health(tx: Tx, webhook: Webhook, outcome: Outcome, now: Instant) -> bool:
    """Record the outcome; return whether the webhook was switched off because of it."""
    if outcome.good:
        if webhook.failing_since is not None:
            await webhooks.record_success(tx, webhook)
        return False
    since = await webhooks.record_failure(tx, webhook, now)
    if not is_dead(outcome, since, now) or not await webhooks.switch_off(tx, webhook, now):
        return False
    detail = {"webhook_id": webhook.id, "answer": failure_message(outcome.answer)}
    await users.record_event(tx, now, "webhook_switched_off", webhook.user_id, detail)
    return True


async def _notify_switched_off(runtime: Runtime, webhook: Webhook, outcome: Outcome) -> None:
    log.warning("a webhook was switched off", webhook=webhook.id, answer=failure_message(outcome.answer))
    data = {"event": "webhook_switched_off", "webhook": {"id": str(webhook.id), "name": webhook.name}}
    await runtime.bus.publish(ChangeEvent("notice", user_id=webhook.user_id, data=data))
    if runtime.mailer is None:
        return
    async with runtime.db.read() as tx:
        user = await users.get(tx, webhook.user_id)
    if user is not None and user.disabled_at is None:
        texts = texts_for(runtime, user)
        message = switched_off_email(user.email, webhook, outcome.answer, runtime.accounts.base_url, texts)
        await runtime.mailer.send(message, runtime.now())


async def _finish_without_call(runtime: Runtime, delivery: Delivery, outcome: Outcome) -> Done:
    async with runtime.db.write() as tx:
        await webhooks.record_attempt(tx, delivery, outcome, now=runtime.now(), next_at=None, called=False)
    return Done({"error": dump_failure(outcome.answer)})


# --- Managing webhooks

MAX_WEBHOOKS = 20
NO_SUCH = "There is no such webhook."
_SECRET_BYTES = 32


@record
class Changes:
    name: str | Unset = UNSET
    url: str | Unset = UNSET
    events: frozenset[WebhookEvent] | Unset = UNSET
    enabled: bool | Unset = UNSET


async def create_webhook(
    runtime: Runtime, user_id: int, url: str, events: frozenset[WebhookEvent], name: str = ""
) -> Webhook:
    """The returned webhook includes its secret."""
    checked_url = check_url(url)
    checked_name = check_name(name, checked_url)
    async with runtime.db.write() as tx:
        webhook = await _add(runtime, tx, user_id, checked_name, checked_url, events)
        if webhook is None:
            raise Conflict("You have a webhook with this address already.", field="url")
        await users.record_event(tx, runtime.now(), "webhook_created", user_id, {"webhook_id": webhook.id})
    return webhook


async def webhook_at(runtime: Runtime, tx: Tx, user_id: int, url: str) -> Webhook:
    """The webhook with this URL; created if a rule is the first to use the URL."""
    webhook = await webhooks.get_by_url(tx, user_id, url)
    if webhook is None:
        await _add(runtime, tx, user_id, check_name("", url), url, frozenset())
        webhook = await webhooks.get_by_url(tx, user_id, url)
    assert webhook is not None
    return webhook


async def get_webhook(runtime: Runtime, user_id: int, webhook_id: int) -> Webhook:
    async with runtime.db.read() as tx:
        return await _require_webhook(tx, user_id, webhook_id)


async def list_webhooks(runtime: Runtime, user_id: int) -> Sequence[Webhook]:
    async with runtime.db.read() as tx:
        return await webhooks.list_for_user(tx, user_id)


async def change_webhook(runtime: Runtime, user_id: int, webhook_id: int, changes: Changes) -> Webhook:
    """Enabling it or changing its URL clears its failures."""
    async with runtime.db.write() as tx:
        webhook = await _require_webhook(tx, user_id, webhook_id)
        url = webhook.url if isinstance(changes.url, Unset) else check_url(changes.url)
        taken = await webhooks.get_by_url(tx, user_id, url)
        if taken is not None and taken.id != webhook_id:
            raise Conflict("You have a webhook with this address already.", field="url")
        enabled = webhook.enabled if isinstance(changes.enabled, Unset) else changes.enabled
        is_reset = url != webhook.url or (enabled and not webhook.enabled)
        changed = replace(
            webhook,
            name=webhook.name if isinstance(changes.name, Unset) else check_name(changes.name, url),
            url=url,
            events=webhook.events if isinstance(changes.events, Unset) else changes.events,
            enabled=enabled,
            failing_since=None if is_reset else webhook.failing_since,
            disabled_at=None if is_reset else webhook.disabled_at,
        )
        await webhooks.update_webhook(tx, changed)
    return changed


async def renew_secret(runtime: Runtime, user_id: int, webhook_id: int) -> Webhook:
    """Replace the secret; the old one is not used any more."""
    async with runtime.db.write() as tx:
        changed = replace(await _require_webhook(tx, user_id, webhook_id), secret=_new_secret())
        await webhooks.update_webhook(tx, changed)
    return changed


async def delete_webhook(runtime: Runtime, user_id: int, webhook_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await webhooks.delete_webhook(tx, user_id, webhook_id):
            raise NotFound(NO_SUCH)
        await users.record_event(tx, runtime.now(), "webhook_deleted", user_id, {"webhook_id": webhook_id})


async def try_webhook(runtime: Runtime, user_id: int, webhook_id: int) -> Delivery:
    """Queue a test call; its result appears in the webhook's log."""
    async with runtime.db.write() as tx:
        webhook = await _require_webhook(tx, user_id, webhook_id)
        if not webhook.enabled:
            raise Conflict("This webhook is switched off. Switch it on first.")
        delivery_id = await leave(tx, user_id, webhook.id, WebhookEvent.TEST, {}, runtime.now())
        delivery = await webhooks.get_delivery(tx, user_id, delivery_id)
    assert delivery is not None
    await wake_jobs(runtime)
    return delivery


async def list_deliveries(
    runtime: Runtime, user_id: int, webhook_id: int, *, limit: int, before: int | None = None
) -> Sequence[Delivery]:
    """Newest first."""
    async with runtime.db.read() as tx:
        await _require_webhook(tx, user_id, webhook_id)
        return await webhooks.list_deliveries(tx, user_id, webhook_id, limit=limit, before=before)


async def _require_webhook(tx: Tx, user_id: int, webhook_id: int) -> Webhook:
    webhook = await webhooks.get(tx, user_id, webhook_id)
    if webhook is None:
        raise NotFound(NO_SUCH)
    return webhook


async def _add(
    runtime: Runtime, tx: Tx, user_id: int, name: str, url: str, events: frozenset[WebhookEvent]
) -> Webhook | None:
    if await webhooks.count(tx, user_id) >= MAX_WEBHOOKS:
        raise Conflict("There can be at most %(limit)s webhooks. Delete one first.", limit=MAX_WEBHOOKS)
    return await webhooks.add(tx, user_id, name=name, url=url, secret=_new_secret(), events=events, now=runtime.now())


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(_SECRET_BYTES))
