"""Notices of rules: a worker sends a mail or pushes a note, has webhooks called and tells the open pages."""

import structlog

from reedbed.domain.email import NotSent
from reedbed.domain.live import ChangeEvent
from reedbed.domain.push import rule_note
from reedbed.domain.rules import Channel, NoticedEntry, RuleNotice, notice_email, notice_json
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.domain.webhooks import WebhookEvent
from reedbed.services.jobs import Done, Later, pace, try_again
from reedbed.services.push import leave_note
from reedbed.services.runtime import Runtime
from reedbed.services.webhooks import leave, leave_event, webhook_at
from reedbed.store import rules, users
from reedbed.store.entries import read as entry_texts
from reedbed.store.jobs import Job

log = structlog.get_logger()

PER_USER = Allowance(30, 1 / 60)
"""Notices that leave the house: bursts are fine, streams are not."""
GIVE_UP_AFTER = 6 * HOUR


async def send_notice(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job. A rule or entries deleted meanwhile are told of no more."""
    assert job.user_id is not None
    notice = await _read(runtime, job.user_id, job)
    if notice is None:
        return Done()
    channel = Channel(job.payload["channel"])
    if channel is Channel.MAIL and runtime.mailer is not None:
        paced = await pace(runtime, f"notices:{job.user_id}", PER_USER)
        sent = paced or await _mail(runtime, job, notice)
    elif channel is Channel.WEBHOOK:
        sent = Done({"named": job.payload["url"]})
    elif channel is Channel.PUSH:
        sent = await _push(runtime, job.user_id, notice)
    else:
        sent = Done({"shown": "page"})
    if isinstance(sent, Done):
        await _leave_calls(runtime, job)
        await runtime.bus.publish(ChangeEvent("notice", user_id=job.user_id, data=notice_json(notice)))
    return sent


async def _read(runtime: Runtime, user_id: int, job: Job) -> RuleNotice | None:
    async with runtime.db.read() as tx:
        row = await rules.get(tx, user_id, job.payload["rule_id"])
        entries = await entry_texts.seen_by(tx, user_id, job.payload["entry_ids"])
    if row is None or not entries:
        return None
    noticed = [
        NoticedEntry(each.id, each.title, each.url, each.feed_title, each.published_at) for each in entries
    ]
    return RuleNotice(row.rule.id, row.rule.name, max(job.payload["count"], len(noticed)), noticed)


async def _mail(runtime: Runtime, job: Job, notice: RuleNotice) -> Done | Later:
    assert job.user_id is not None and runtime.mailer is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
    if user is None or user.disabled_at is not None:
        return Done()
    letter = notice_email(user.email, notice, runtime.accounts.base_url)
    posted = await runtime.mailer.send(letter, runtime.now())
    if not isinstance(posted, NotSent):
        return Done({"sent": "mail"})
    return _again(runtime, job, posted.reason) if posted.try_again else _given_up(job, posted.reason)


async def _push(runtime: Runtime, user_id: int, notice: RuleNotice) -> Done:
    async with runtime.db.write() as tx:
        return Done({"devices": await leave_note(tx, user_id, rule_note(notice), runtime.now())})


async def _leave_calls(runtime: Runtime, job: Job) -> None:
    """For the webhook that the rule names, and for those that want to hear of every match."""
    assert job.user_id is not None
    subject = {name: job.payload[name] for name in ("rule_id", "entry_ids", "count")}
    async with runtime.db.write() as tx:
        url = job.payload["url"] if job.payload["channel"] == Channel.WEBHOOK else ""
        named = await webhook_at(runtime, tx, job.user_id, url) if url else None
        if job.payload.get("first", True):
            await leave_event(tx, job.user_id, WebhookEvent.RULE_MATCH, subject, runtime.now(), also=named)
        elif named is not None and named.enabled and WebhookEvent.RULE_MATCH not in named.events:
            await leave(tx, job.user_id, named.id, WebhookEvent.RULE_MATCH, subject, runtime.now())


def _again(runtime: Runtime, job: Job, reason: str) -> Done | Later:
    return try_again(runtime, job, give_up_after=GIVE_UP_AFTER) or _given_up(job, reason)


def _given_up(job: Job, reason: str) -> Done:
    log.warning("a notice was not sent", job=job.id, channel=job.payload["channel"], reason=reason)
    return Done({"error": reason})
