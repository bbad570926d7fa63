"""Loops that run queued jobs and model calls, a few at a time. Events wake them early."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.times import SECOND
from reedbed.services import jobs
from reedbed.services.ai_worker import NothingDue, Skipped, Task, give_back, next_task, write_task
from reedbed.services.jobs import Handler
from reedbed.services.runtime import Runtime
from reedbed.store.jobs import Job
from reedbed.worker.sleep import sleep_until, wake_events

_HANDLER_NAMES = {
    "mail": "email:send_email_job",
    "import": "transfer.jobs:run_import",
    "newsletter_leaving": "newsletters.senders:run_list_unsubscribe",
    "refresh": "refresh.write:report_progress",
    "feed_stopped": "refresh.notify:report_stopped",
    "broken_feeds": "refresh.notify:mail_broken_feeds",
    "articles": "articles:fetch_articles",
    "rules": "rules.manage:run_rules",
    "book": "books.work:make_book",
    "book_mail": "books.mail:send_book",
    "cleanup": "retention:run_cleanup",
    "notify": "rules.manage:send_notice",
    "digest": "digests:write_digest",
    "digest_mail": "digests:mail_digest",
    "listening": "listening.work:read_aloud",
    "framing": "framing.manage:read_feed",
    "push_news": "push:report_new_entries",
    "push": "push:send_note",
    "question": "questions:answer_question",
    "saved_page": "articles:read_saved_page",
    "share": "sharing:send_link",
    "webhook": "webhooks:call_webhook",
}
"""By the kind that is stored with a job: module and function below `reedbed.services`."""


class _Handlers(Mapping[str, Handler]):
    def __getitem__(self, kind: str) -> Handler:
        module, _, name = _HANDLER_NAMES[kind].partition(":")
        return getattr(import_module(f"reedbed.services.{module}"), name)

    def __iter__(self) -> Iterator[str]:
        return iter(_HANDLER_NAMES)

    def __len__(self) -> int:
        return len(_HANDLER_NAMES)


HANDLERS: Mapping[str, Handler] = _Handlers()
"""The handler of every kind of job, imported when the first job of its kind runs."""

log = structlog.get_logger()

MAX_CONCURRENT = 4
POLL_SECONDS = 1.0


async def run_jobs(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Run until `stop`; then wait `grace` seconds for running jobs and cancel the rest."""
    running: set[asyncio.Task[None]] = set()
    async with wake_events(runtime, stop, "wake", "resync", work="jobs") as wake:

        def done(task: asyncio.Task[None]) -> None:
            running.discard(task)
            wake.set()

        while not stop.is_set():
            wake.clear()
            job = await _claim_job(runtime) if len(running) < MAX_CONCURRENT else None
            if job is None:
                await sleep_until(wake, POLL_SECONDS)
                continue
            task = asyncio.create_task(_run_job(runtime, job))
            running.add(task)
            task.add_done_callback(done)
    if running:
        await asyncio.wait(running, timeout=grace)
    for task in list(running):
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def _claim_job(runtime: Runtime) -> Job | None:
    try:
        return await jobs.claim(runtime, list(HANDLERS))
    except Unavailable as error:
        log.warning("jobs wait for the database", error=error.message)
        return None


async def _run_job(runtime: Runtime, job: Job) -> None:
    try:
        # In a thread, as the first job of a kind imports its module.
        handler = await asyncio.to_thread(HANDLERS.__getitem__, job.kind)
        await jobs.run(runtime, job, handler)
    except Unavailable as error:
        log.warning("a job waits for the database", job=job.id, error=error.message)
    except Exception:
        log.exception("result of a job could not be saved", job=job.id, kind=job.kind)


# --- AI queue

MAX_CONCURRENT_MODEL_CALLS = 4
MAX_SLEEP = 5.0
MIN_SLEEP = 0.05
AFTER_FAILURE = 2.0


async def run_ai_queue(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Run until `stop`; then wait `grace` seconds for running calls and release the rest."""
    running: dict[asyncio.Task[None], Task] = {}
    try:
        async with wake_events(runtime, stop, "wake", "resync", work="ai") as wake:
            while not stop.is_set():
                wake.clear()
                is_full = len(running) >= MAX_CONCURRENT_MODEL_CALLS
                await sleep_until(wake, MAX_SLEEP if is_full else await _start_next(runtime, running, wake))
    finally:
        await _shut_down(runtime, running, grace)


async def _start_next(runtime: Runtime, running: dict[asyncio.Task[None], Task], wake: asyncio.Event) -> float:
    """Start the next task; return how many seconds to sleep after it."""
    try:
        item = await next_task(runtime)
    except Unavailable as error:
        log.warning("the queue waits for the database", error=error.message)
        return AFTER_FAILURE
    match item:
        case NothingDue():
            return min(max((item.until - runtime.now()) / SECOND, MIN_SLEEP), MAX_SLEEP)
        case Skipped():
            return 0.0
        case Task():
            task = asyncio.create_task(_run_task(runtime, item))
            running[task] = item
            task.add_done_callback(lambda done: (running.pop(done, None), wake.set()))
            return 0.0


async def _run_task(runtime: Runtime, task: Task) -> None:
    try:
        await write_task(runtime, task)
    except Unavailable as error:
        log.warning("result of an AI task could not be saved", key=task.row.key, error=error.message)
    except Exception:
        log.exception("result of an AI task could not be saved", key=task.row.key)


async def _shut_down(runtime: Runtime, running: dict[asyncio.Task[None], Task], grace: float) -> None:
    if running:
        await asyncio.wait(list(running), timeout=grace)
    unfinished = dict(running)
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*unfinished, return_exceptions=True)
    for queued in unfinished.values():
        with suppress(Unavailable):
            await give_back(runtime, queued)
