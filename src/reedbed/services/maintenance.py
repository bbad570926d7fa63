"""Periodic chores that delete expired rows and repair counts and indexes. One process runs them for all."""

from collections.abc import Awaitable, Callable

import structlog

from reedbed.domain.books import RETENTION as BOOKS_RETENTION
from reedbed.domain.errors import Unavailable
from reedbed.domain.listening import MAX_KEPT as SPEECH_KEPT
from reedbed.domain.listening import RETENTION as SPEECH_RETENTION
from reedbed.domain.questions import ASKED_AGAIN_AFTER
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import DAY, HOUR, MINUTE, Millis
from reedbed.domain.translations import BLOCKS_RETENTION
from reedbed.services.images import retry_failed_icons
from reedbed.services.jobs import run_every
from reedbed.services.live import publish_subscriptions
from reedbed.services.read_state import delete_expired_undo, recount_everyone
from reedbed.services.refresh.notify import enqueue_broken_lists
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import learn_older_entries
from reedbed.services.search.upkeep import index_older_categories, merge_search_index, repair_search
from reedbed.services.stories import delete_old_stories
from reedbed.services.webhooks import delete_old_webhook_calls
from reedbed.store import (
    ai,
    auth,
    books,
    codes,
    instance,
    jobs,
    listening,
    questions,
    sign_in,
    subscriptions,
    summaries,
    translations,
    users,
)
from reedbed.store.feeds import feeds
from reedbed.store.feeds import feeds as feed_history
from reedbed.store.framing import analyses
from reedbed.store.newsletters import inbound

log = structlog.get_logger()

HISTORY_RETENTION = 90 * DAY
JOBS_RETENTION = 30 * DAY
EVENTS_RETENTION = 365 * DAY
SUMMARIES_RETENTION = 30 * DAY
DELIVERIES_RETENTION = 7 * DAY
BATCHES, BATCHES_PER_DELETE = 1_000, 5
LONG_UNSEEN = 2 * DAY
_LAST_RUN = "swept_at"


async def may_delete_by_age(runtime: Runtime) -> bool:
    """Whether the clock can be trusted. It may have been changed if the last run was days ago."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        last = await instance.get_setting(tx, _LAST_RUN)
        await instance.set_setting(tx, _LAST_RUN, str(now), now)
    if last is not None and now - int(last) > LONG_UNSEEN:
        runtime.clock_guard.distrust()
    return runtime.clock_guard.is_trusted(now)


async def fix_future_timestamps(runtime: Runtime) -> int:
    """Repair due times so far in the future that only a wrong clock can have written them."""
    async with runtime.db.write() as tx:
        return await instance.repair_future_timestamps(tx, runtime.now(), longest_rest=runtime.fetching.max_backoff)


async def delete_expired_sessions(runtime: Runtime) -> int:
    now = runtime.now()
    async with runtime.db.write() as tx:
        return await auth.delete_inactive_sessions(tx, now=now, idle_since=now - runtime.accounts.session_idle)


async def delete_old_history(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await feed_history.delete_old_stats(tx, runtime.now() - HISTORY_RETENTION)


async def delete_old_jobs(runtime: Runtime) -> int:
    """Delete jobs that ended long ago, and the input of all that ended."""
    for _ in range(BATCHES):
        async with runtime.db.write() as tx:
            if not await jobs.delete_old_batches(tx, limit=BATCHES_PER_DELETE):
                break
    async with runtime.db.write() as tx:
        return await jobs.delete_finished(tx, runtime.now() - JOBS_RETENTION)


async def delete_expired_links(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await auth.delete_expired(tx, runtime.now())


async def delete_expired_sign_ins(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await sign_in.delete_expired(tx, runtime.now())


async def delete_expired_challenges(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await codes.delete_expired_challenges(tx, runtime.now())


async def answer_watched_questions(runtime: Runtime) -> int:
    async with runtime.db.read() as tx:
        if not await questions.longest_watched(tx, runtime.now() - ASKED_AGAIN_AFTER, 1):
            return 0
    from reedbed.services.questions import answer_watched  # imported late: few people watch questions

    return await answer_watched(runtime)


async def delete_old_audit_events(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await users.delete_old_events(tx, runtime.now() - EVENTS_RETENTION)


async def delete_expired_summaries(runtime: Runtime) -> int:
    """Delete summaries of deleted entries, and requests to models that are no longer used."""
    used = [model.name for model in (runtime.ai.model, runtime.ai.translator) if model is not None]
    async with runtime.db.write() as tx:
        waiting = await ai.remove_other_models(tx, [EXTRACT, *used])
        before = runtime.now() - SUMMARIES_RETENTION
        waiting += await translations.delete_old_blocks(tx, runtime.now() - BLOCKS_RETENTION)
        return waiting + await summaries.delete_expired(tx, before) + await analyses.sweep(tx, before)


async def delete_old_speech(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await listening.delete_expired(tx, runtime.now() - SPEECH_RETENTION, SPEECH_KEPT)


async def delete_old_books(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await books.delete_old(tx, runtime.now() - BOOKS_RETENTION)


async def delete_old_mail(runtime: Runtime) -> int:
    """Delete images of deleted newsletters, and deliveries too old to be replayed."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        deleted = await inbound.delete_old_deliveries(tx, now - DELIVERIES_RETENTION)
        return deleted + await inbound.delete_old_images(tx, now - DAY)


async def delete_old_host_turns(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await feeds.delete_old_turns(tx, DAY)


async def unmute_due(runtime: Runtime) -> int:
    """Chore: end the mutes whose time has come; return how many users had one."""
    async with runtime.db.write() as tx:
        users = await subscriptions.unmute_due(tx, runtime.now())
    for user_id in users:
        await publish_subscriptions(runtime, user_id)
    return len(users)


@record
class Chore:
    name: str
    run: Callable[[Runtime], Awaitable[int]]
    """Returns how much it did."""
    every: Millis = MINUTE
    deletes_by_age: bool = True
    """Skipped while the clock is not trusted."""


CHORES = (
    Chore("delete expired sessions", delete_expired_sessions),
    Chore("delete expired mail links", delete_expired_links),
    Chore("delete expired sign-ins", delete_expired_sign_ins),
    Chore("delete expired challenges", delete_expired_challenges),
    Chore("delete expired undo", delete_expired_undo),
    Chore("delete old jobs", delete_old_jobs),
    Chore("delete old mail", delete_old_mail, HOUR),
    Chore("delete old summaries", delete_expired_summaries, HOUR),
    Chore("delete old speech", delete_old_speech, HOUR),
    Chore("delete old books", delete_old_books, HOUR),
    Chore("delete old webhook calls", delete_old_webhook_calls, HOUR),
    Chore("delete old stories", delete_old_stories, HOUR),
    Chore("delete old feed history", delete_old_history, HOUR),
    Chore("delete old audit events", delete_old_audit_events, HOUR),
    Chore("delete old host turns", delete_old_host_turns, HOUR, deletes_by_age=False),
    Chore("answer watched questions", answer_watched_questions, deletes_by_age=False),
    Chore("unmute feeds", unmute_due, deletes_by_age=False),
    Chore("merge search index", merge_search_index, deletes_by_age=False),
    Chore("repair search index", repair_search, HOUR, deletes_by_age=False),
    Chore("learn word forms", learn_older_entries, deletes_by_age=False),
    Chore("index older categories", index_older_categories, deletes_by_age=False),
    Chore("list broken feeds", enqueue_broken_lists, 7 * DAY, deletes_by_age=False),
    Chore("retry icons", retry_failed_icons, DAY, deletes_by_age=False),
    Chore("recount", recount_everyone, DAY, deletes_by_age=False),
)
"""Run by the scheduler, which tries every minute. The times of rarer ones are stored under these names."""


async def run_chores(runtime: Runtime) -> None:
    """Run the chores that are due. A failed one does not stop the others."""
    await fix_future_timestamps(runtime)
    may_delete = await may_delete_by_age(runtime)
    for chore in CHORES:
        if chore.deletes_by_age and not may_delete:
            continue
        try:
            done = await run_every(runtime, chore.name, chore.every, chore.run)
        except Unavailable:
            raise
        except Exception:
            log.exception("a chore failed", chore=chore.name)
        else:
            if done:
                log.info("chore done", chore=chore.name, count=done)
