"""The job loop: a few jobs side by side, looked for often and at once when a hint says so."""

import asyncio
from contextlib import suppress

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.services import jobs
from reedbed.services.job_kinds import HANDLERS
from reedbed.services.runtime import Runtime
from reedbed.store.jobs import Job

log = structlog.get_logger()

AT_ONCE = 4
LOOK_SECONDS = 1.0


async def run_jobs(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    running: set[asyncio.Task[None]] = set()
    while not stop.is_set():
        try:
            job = await jobs.claim(runtime, list(HANDLERS)) if len(running) < AT_ONCE else None
        except Unavailable as error:
            log.warning("jobs wait for the database", error=error.message)
            job = None
        if job is None:
            await _nap(stop)
            continue
        task = asyncio.create_task(_run(runtime, job))
        running.add(task)
        task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running, timeout=grace)
    for task in list(running):
        task.cancel()


async def _run(runtime: Runtime, job: Job) -> None:
    try:
        await jobs.run(runtime, job, HANDLERS[job.kind])
    except Unavailable as error:
        log.warning("a job waits for the database", job=job.id, error=error.message)
    except Exception:
        log.exception("a job could not be noted", job=job.id, kind=job.kind)


async def _nap(stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            await stop.wait()
