"""Notify users who want it when a feed stops, and once a week list the feeds that need their attention."""

from collections.abc import Sequence

import structlog

from reedbed.domain.email import Email, NotSent
from reedbed.domain.failures import Failure
from reedbed.domain.push import stopped_note
from reedbed.domain.subscriptions import SubscribedFeedRow, broken_feeds_email, feed_problem, stopped_feed_email
from reedbed.domain.times import HOUR, Instant
from reedbed.services.email import texts_for
from reedbed.services.jobs import Done, Later, enqueue_shared_note, try_again
from reedbed.services.push import enqueue_push_notes
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import jobs, sidebar, users
from reedbed.store.engine.database import Tx
from reedbed.store.jobs import Job

log = structlog.get_logger()

STOPPED_JOB = "feed_stopped"
BROKEN_JOB = "broken_feeds"
GIVE_UP_AFTER = 12 * HOUR


async def enqueue_stopped(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """Enqueue a job for each feed that has just stopped; it finds out whom to notify."""
    for feed_id in feed_ids:
        await jobs.add(tx, STOPPED_JOB, {"feed_id": feed_id}, now=now)


async def report_stopped(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler. Without a user: enqueue a job for each subscriber who wants a message."""
    from reedbed.store import sharing  # feeds seldom stop

    feed_id = job.payload["feed_id"]
    if job.user_id is not None:
        return await _tell_stopped(runtime, job, job.user_id, feed_id)
    async with runtime.db.write() as tx:
        followers = await users.subscribers_of(tx, feed_id)
        wanting = {user.id for user in followers if preferences_of(user).stopped_feeds != "off"}
        wanting |= set(await sharing.subscribers_telling(tx, feed_id))
        for user_id in sorted(wanting):
            await jobs.add(tx, STOPPED_JOB, {"feed_id": feed_id}, now=runtime.now(), user_id=user_id)
    return Done({"notified": len(wanting)})


async def enqueue_broken_lists(runtime: Runtime) -> int:
    """Chore: enqueue the weekly list for all users who want it; return how many."""
    async with runtime.db.write() as tx:
        wanting = [user for user in await users.active(tx) if preferences_of(user).broken_feeds_weekly]
        for user in wanting:
            await jobs.add(tx, BROKEN_JOB, {}, now=runtime.now(), user_id=user.id)
    return len(wanting)


async def mail_broken_feeds(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler. Nothing is sent if every feed works."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
        feeds = await sidebar.sidebar_feeds(tx, job.user_id)
    broken = [(feed, problem.reason) for feed in feeds if (problem := feed_problem(feed)) and problem.needs_reader]
    if user is None or not broken:
        return Done()
    lines = [(feed.subscription_id, feed.title, reason) for feed, reason in broken]
    email = broken_feeds_email(user.email, lines, runtime.accounts.base_url, texts_for(runtime, user))
    return await _send(runtime, job, email)


async def _tell_stopped(runtime: Runtime, job: Job, user_id: int, feed_id: int) -> Done | Later:
    """Nothing is sent if the feed was left, paused or started again meanwhile."""
    from reedbed.store import sharing

    async with runtime.db.read() as tx:
        user = await users.get(tx, user_id)
        feeds = await sidebar.list_by_ids(tx, user_id, [feed_id])
    reason = _stop_reason(feeds)
    if user is None or reason is None:
        return Done()
    feed, channel, texts = feeds[0], preferences_of(user).stopped_feeds, texts_for(runtime, user)
    if channel in ("mail", "both"):
        base_url = runtime.accounts.base_url
        email = stopped_feed_email(user.email, feed.subscription_id, feed.title, reason, base_url, texts)
        sent = await _send(runtime, job, email)
        if isinstance(sent, Later):
            return sent
    note = stopped_note(feed.subscription_id, feed.title, reason, texts)
    async with runtime.db.write() as tx:
        if channel in ("push", "both"):
            await enqueue_push_notes(tx, user_id, note, runtime.now())
        targets = await sharing.targets_for_stopped_feeds(tx, user_id)
        await enqueue_shared_note(tx, user_id, targets, note, runtime.now())
    return Done({"notified": channel})


def _stop_reason(feeds: Sequence[SubscribedFeedRow]) -> Failure | None:
    return feeds[0].stop_reason if feeds and not feeds[0].paused else None


async def _send(runtime: Runtime, job: Job, email: Email) -> Done | Later:
    if runtime.mailer is None:
        return Done({"error": "There is no mail server."})
    result = await runtime.mailer.send(email, runtime.now())
    if not isinstance(result, NotSent):
        return Done({"sent": "mail"})
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER) if result.try_again else None
    if later is None:
        log.warning("a mail about broken feeds was not sent", job=job.id, reason=result.reason)
    return later or Done({"error": result.reason})
