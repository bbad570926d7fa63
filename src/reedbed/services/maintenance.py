"""Periodic chores that delete expired rows and repair counts and indexes. One process runs them for all."""

from collections.abc import Awaitable, Callable, Mapping

from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import DAY
from reedbed.services.read_state import delete_expired_undo, recount_each_day
from reedbed.services.runtime import Runtime
from reedbed.services.search import merge_search_index, repair_search_each_hour
from reedbed.services.sign_in import delete_expired_sign_ins
from reedbed.services.stories import delete_old_stories
from reedbed.services.webhooks import delete_old_webhook_calls
from reedbed.store import ai, auth, instance, jobs, newsletters, summaries, users
from reedbed.store.feeds import feeds as feed_history
from reedbed.store.framing import analyses

HISTORY_KEPT = 90 * DAY
JOBS_KEPT = 30 * DAY
EVENTS_KEPT = 365 * DAY
SUMMARIES_KEPT = 30 * DAY
DELIVERIES_KEPT = 7 * DAY
PIECES, PIECES_AT_ONCE = 1_000, 5
LONG_UNSEEN = 2 * DAY
_LAST_RUN = "swept_at"


async def may_delete_by_age(runtime: Runtime) -> bool:
    """Whether the clock can be trusted. It may have been changed if the last run was days ago."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        last = await instance.get_setting(tx, _LAST_RUN)
        await instance.set_setting(tx, _LAST_RUN, str(now), now)
    if last is not None and now - int(last) > LONG_UNSEEN:
        runtime.clock_guard.doubt()
    return runtime.clock_guard.trusts(now)


async def fix_future_timestamps(runtime: Runtime) -> int:
    """Repair due times so far in the future that only a wrong clock can have written them."""
    async with runtime.db.write() as tx:
        return await instance.repair_future_timestamps(
            tx, runtime.now(), longest_rest=runtime.fetching.max_backoff
        )


async def delete_expired_sessions(runtime: Runtime) -> int:
    now = runtime.now()
    async with runtime.db.write() as tx:
        return await auth.delete_inactive_sessions(
            tx, now=now, idle_since=now - runtime.accounts.session_idle
        )


async def delete_old_history(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await feed_history.delete_old_stats(tx, runtime.now() - HISTORY_KEPT)


async def delete_old_jobs(runtime: Runtime) -> int:
    """Delete jobs that ended long ago, and the input of all that ended."""
    for _ in range(PIECES):
        async with runtime.db.write() as tx:
            if not await jobs.delete_old_batches(tx, most=PIECES_AT_ONCE):
                break
    async with runtime.db.write() as tx:
        return await jobs.delete_finished(tx, runtime.now() - JOBS_KEPT)


async def delete_expired_links(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await auth.delete_expired(tx, runtime.now())


async def delete_old_audit_events(runtime: Runtime) -> int:
    async with runtime.db.write() as tx:
        return await users.delete_old_events(tx, runtime.now() - EVENTS_KEPT)


async def delete_expired_summaries(runtime: Runtime) -> int:
    """Delete summaries of deleted entries, and requests to models that are no longer used."""
    model = runtime.ai.model
    async with runtime.db.write() as tx:
        waiting = await ai.remove_other_models(tx, [EXTRACT, *([model.name] if model else [])])
        before = runtime.now() - SUMMARIES_KEPT
        return waiting + await summaries.delete_expired(tx, before) + await analyses.sweep(tx, before)


async def delete_old_mail(runtime: Runtime) -> int:
    """Delete images of deleted newsletters, and deliveries too old to be replayed."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        deleted = await newsletters.delete_old_deliveries(tx, now - DELIVERIES_KEPT)
        return deleted + await newsletters.delete_old_images(tx, now - DAY)


CHORES: Mapping[str, Callable[[Runtime], Awaitable[int]]] = {
    "sessions": delete_expired_sessions,
    "history": delete_old_history,
    "jobs": delete_old_jobs,
    "mail links": delete_expired_links,
    "sign-ins": delete_expired_sign_ins,
    "events": delete_old_audit_events,
    "webhook calls": delete_old_webhook_calls,
    "mail": delete_old_mail,
    "summaries": delete_expired_summaries,
    "unread rows": delete_expired_undo,
    "stories": delete_old_stories,
}
"""Each returns a count, and a failure does not stop the others. These delete by age."""

UPKEEP: Mapping[str, Callable[[Runtime], Awaitable[int]]] = {
    "counts": recount_each_day,
    "search index": merge_search_index,
    "search gaps": repair_search_each_hour,
}
"""Like `CHORES`, but they run even if the clock is not trusted."""
