"""Send rule notices by mail or push, call webhooks, and publish them to open pages."""

import structlog

from reedbed.domain.email import NotSent
from reedbed.domain.live import ChangeEvent
from reedbed.domain.push import rule_note
from reedbed.domain.rules import Channel, NoticedEntry, RuleNotice, notice_email, notice_json
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.domain.webhooks import WebhookEvent
from reedbed.services.email import texts_for
from reedbed.services.jobs import Done, Later, pace, try_again
from reedbed.services.push import enqueue_push_notes
from reedbed.services.runtime import Runtime
from reedbed.services.webhooks import enqueue_webhook_event, leave, webhook_at
from reedbed.store import rules, users
from reedbed.store.entries import read as entry_texts
from reedbed.store.jobs import Job

log = structlog.get_logger()

PER_USER = Allowance(30, 1 / 60)
"""Mail notices per user: allows bursts, but no steady stream."""
GIVE_UP_AFTER = 6 * HOUR


async def send_notice(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler. Nothing is sent if the rule or all its entries were deleted meanwhile."""
    assert job.user_id is not None
    notice = await _load_notice(runtime, job.user_id, job)
    if notice is None:
        return Done()
    channel = Channel(job.payload["channel"])
    if channel is Channel.MAIL and runtime.mailer is not None:
        paced = await pace(runtime, f"notices:{job.user_id}", PER_USER)
        sent = paced or await _send_mail(runtime, job, notice)
    elif channel is Channel.WEBHOOK:
        sent = Done({"named": job.payload["url"]})
    elif channel is Channel.PUSH:
        sent = await _send_push(runtime, job.user_id, notice)
    else:
        sent = Done({"shown": "page"})
    if isinstance(sent, Done):
        await _enqueue_webhooks(runtime, job)
        await runtime.bus.publish(ChangeEvent("notice", user_id=job.user_id, data=notice_json(notice)))
    return sent


async def _load_notice(runtime: Runtime, user_id: int, job: Job) -> RuleNotice | None:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, user_id, job.payload["rule_id"])
        entries = await entry_texts.visible_texts(tx, user_id, job.payload["entry_ids"])
    if row is None or not entries:
        return None
    noticed = [
        NoticedEntry(entry.id, entry.title, entry.url, entry.feed_title, entry.published_at) for entry in entries
    ]
    return RuleNotice(row.rule.id, row.rule.name, max(job.payload["count"], len(noticed)), noticed)


async def _send_mail(runtime: Runtime, job: Job, notice: RuleNotice) -> Done | Later:
    assert job.user_id is not None and runtime.mailer is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
    if user is None or user.disabled_at is not None:
        return Done()
    email = notice_email(user.email, notice, runtime.accounts.base_url, texts_for(runtime, user))
    result = await runtime.mailer.send(email, runtime.now())
    if not isinstance(result, NotSent):
        return Done({"sent": "mail"})
    return _retry_or_give_up(runtime, job, result.reason) if result.try_again else _give_up(job, result.reason)


async def _send_push(runtime: Runtime, user_id: int, notice: RuleNotice) -> Done:
    async with runtime.db.write() as tx:
        return Done({"devices": await enqueue_push_notes(tx, user_id, rule_note(notice), runtime.now())})


async def _enqueue_webhooks(runtime: Runtime, job: Job) -> None:
    """Enqueue calls of the webhook named by the rule and of those subscribed to all matches."""
    assert job.user_id is not None
    subject = {name: job.payload[name] for name in ("rule_id", "entry_ids", "count")}
    async with runtime.db.write() as tx:
        url = job.payload["url"] if job.payload["channel"] == Channel.WEBHOOK else ""
        named = await webhook_at(runtime, tx, job.user_id, url) if url else None
        if job.payload.get("first", True):
            await enqueue_webhook_event(tx, job.user_id, WebhookEvent.RULE_MATCH, subject, runtime.now(), also=named)
        elif named is not None and named.enabled and WebhookEvent.RULE_MATCH not in named.events:
            await leave(tx, job.user_id, named.id, WebhookEvent.RULE_MATCH, subject, runtime.now())


def _retry_or_give_up(runtime: Runtime, job: Job, reason: str) -> Done | Later:
    return try_again(runtime, job, give_up_after=GIVE_UP_AFTER) or _give_up(job, reason)


def _give_up(job: Job, reason: str) -> Done:
    log.warning("a notice was not sent", job=job.id, channel=job.payload["channel"], reason=reason)
    return Done({"error": reason})
