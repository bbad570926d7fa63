"""Periodic chores, which one process at a time runs for all; and WebSub, which is read as it arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.services.images import fetch_missing_icons
from reedbed.services.instance import back_up_when_due
from reedbed.services.jobs import run_exclusively
from reedbed.services.maintenance import run_chores
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.retention import LEASE, clean_up_when_due
from reedbed.services.runtime import Runtime
from reedbed.services.stories import StoryGrouper, decide_pairs
from reedbed.services.summaries import SummaryRequester
from reedbed.services.websub import read_pushes, renew_hub_subscriptions
from reedbed.store import books, digests
from reedbed.store.newsletters import mailboxes
from reedbed.worker.sleep import sleep_until, wake_events

if TYPE_CHECKING:
    from reedbed.services.translations.manage import TranslationRequester

log = structlog.get_logger()

CHORE_SECONDS = 60.0
ICON_SECONDS = 20.0
ICONS_AT_A_TIME = 20
DIGEST_SECONDS = 20.0
CLEANUP_SECONDS = 120.0
SUMMARY_SECONDS = 10.0
MAILBOX_SECONDS = 10.0
STORY_SECONDS = 10.0
PAIR_SECONDS = 60.0
"""Longer than it takes to group, so that one request has many pairs."""
HUB_SECONDS = 30.0
PUSH_SECONDS, AFTER_PUSH_SECONDS, AFTER_FAILURE_SECONDS = 5.0, 0.1, 2.0


async def sweep(runtime: Runtime, stop: asyncio.Event) -> None:
    await _every(CHORE_SECONDS, runtime, stop, "sweeping", lambda: run_chores(runtime))


async def fetch_icons(runtime: Runtime, stop: asyncio.Event) -> None:
    await _every(ICON_SECONDS, runtime, stop, "icons", lambda: _fetch_icons(runtime, stop))


async def run_due_digests(runtime: Runtime, stop: asyncio.Event) -> None:
    await _every(DIGEST_SECONDS, runtime, stop, "digests", lambda: _enqueue_digests(runtime))


async def enqueue_new_summaries(runtime: Runtime, stop: asyncio.Event) -> None:
    requester = SummaryRequester()
    if runtime.ai.translator is None:
        work = partial(_enqueue_summaries, runtime, requester)
    else:
        from reedbed.services.translations.manage import TranslationRequester  # few servers translate

        work = partial(_enqueue_summaries, runtime, requester, TranslationRequester())
    await _every(SUMMARY_SECONDS, runtime, stop, "new summaries", work)


async def run_nightly_cleanup(runtime: Runtime, stop: asyncio.Event) -> None:
    await _every(CLEANUP_SECONDS, runtime, stop, LEASE, lambda: _run_nightly(runtime))


async def check_mailboxes(runtime: Runtime, stop: asyncio.Event) -> None:
    await _every(MAILBOX_SECONDS, runtime, stop, "mailboxes", lambda: _check_mailboxes(runtime))


async def group_stories(runtime: Runtime, stop: asyncio.Event) -> None:
    grouper = StoryGrouper()
    await _every(STORY_SECONDS, runtime, stop, "stories", lambda: _group_stories(runtime, grouper))


async def decide_story_pairs(runtime: Runtime, stop: asyncio.Event) -> None:
    if runtime.ai.model is not None:
        await _every(PAIR_SECONDS, runtime, stop, "story pairs", lambda: _decide_pairs(runtime))


async def _every(
    seconds: float, runtime: Runtime, stop: asyncio.Event, name: str, work: Callable[[], Awaitable[None]]
) -> None:
    while True:
        await sleep_until(stop, seconds)
        if stop.is_set():
            return
        try:
            await run_exclusively(runtime, name, work)
        except Unavailable as error:
            log.warning("a chore waits for the database", chore=name, error=error.message)
        except Exception:
            log.exception("a chore failed", chore=name)


async def _run_nightly(runtime: Runtime) -> None:
    await back_up_when_due(runtime)
    await clean_up_when_due(runtime)


async def _fetch_icons(runtime: Runtime, stop: asyncio.Event) -> None:
    while not stop.is_set() and await fetch_missing_icons(runtime, limit=ICONS_AT_A_TIME):
        pass


async def _enqueue_digests(runtime: Runtime) -> None:
    """What few people use is imported when it is due for the first time, here and for mailboxes."""
    now = runtime.now()
    async with runtime.db.read() as tx:
        is_digest_due, is_book_due = bool(await digests.due(tx, now, limit=1)), bool(await books.due(tx, now, limit=1))
    if is_digest_due:
        from reedbed.services.digests import enqueue_due_digests

        await enqueue_due_digests(runtime)
    if is_book_due:
        from reedbed.services.books.manage import enqueue_due_books

        await enqueue_due_books(runtime)


async def _enqueue_summaries(runtime: Runtime, *requesters: "SummaryRequester | TranslationRequester") -> None:
    for requester in requesters:
        await requester.request_new(runtime)


async def _check_mailboxes(runtime: Runtime) -> None:
    async with runtime.db.read() as tx:
        is_due = await mailboxes.is_mailbox_due(tx, runtime.now())
    if is_due:
        from reedbed.services.newsletters.channels import check_due_mailboxes

        await check_due_mailboxes(runtime)


async def _group_stories(runtime: Runtime, grouper: StoryGrouper) -> None:
    if grouped := await grouper.group_new(runtime):
        log.info("stories updated", entries=grouped)


async def _decide_pairs(runtime: Runtime) -> None:
    while decided := await decide_pairs(runtime):
        log.info("doubtful story pairs decided", pairs=decided)


# --- WebSub


async def process_pushes(runtime: Runtime, stop: asyncio.Event) -> None:
    """Cancelling it loses nothing: pushed content stays in the database until it is stored."""
    if runtime.hubs.off is not None:
        return
    async with OutcomeWriter(runtime) as writer, wake_events(runtime, stop, "hub_news", "resync") as wake:
        while not stop.is_set():
            wake.clear()
            await sleep_until(wake, await _read_batch(runtime, writer))


async def maintain_hub_subscriptions(runtime: Runtime, stop: asyncio.Event) -> None:
    """One process does this for all; it starts immediately when a check found a new hub."""
    async with wake_events(runtime, stop, "hub_found") as wake:
        while not stop.is_set():
            wake.clear()
            await _maintain_subscriptions(runtime)
            if runtime.hubs.off is not None:
                return
            await sleep_until(wake, HUB_SECONDS)


async def _read_batch(runtime: Runtime, writer: OutcomeWriter) -> float:
    """Return how many seconds to sleep after it."""
    try:
        return AFTER_PUSH_SECONDS if await read_pushes(runtime, writer) else PUSH_SECONDS
    except Unavailable as error:
        log.warning("pushes wait for the database", error=error.message)
    except Exception:
        log.exception("pushes could not be read")
    return AFTER_FAILURE_SECONDS


async def _maintain_subscriptions(runtime: Runtime) -> None:
    async def work() -> None:
        await renew_hub_subscriptions(runtime)

    try:
        await run_exclusively(runtime, "hubs", work)
    except Unavailable as error:
        log.warning("hubs wait for the database", error=error.message)
    except Exception:
        log.exception("hub subscriptions could not be renewed")
