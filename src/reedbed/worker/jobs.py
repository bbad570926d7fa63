"""The job loop: a few jobs side by side, looked for often and at once when a hint says so."""

import asyncio

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.services import jobs
from reedbed.services.job_kinds import HANDLERS
from reedbed.services.runtime import Runtime
from reedbed.store.jobs import Job
from reedbed.worker.waking import nap, waking

log = structlog.get_logger()

AT_ONCE = 4
LOOK_SECONDS = 1.0


async def run_jobs(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    running: set[asyncio.Task[None]] = set()
    async with waking(runtime, stop, "wake", "resync", work="jobs") as wake:

        def done(task: asyncio.Task[None]) -> None:
            running.discard(task)
            wake.set()

        while not stop.is_set():
            wake.clear()
            job = await _claim(runtime) if len(running) < AT_ONCE else None
            if job is None:
                await nap(wake, LOOK_SECONDS)
                continue
            task = asyncio.create_task(_run(runtime, job))
            running.add(task)
            task.add_done_callback(done)
    if running:
        await asyncio.wait(running, timeout=grace)
    for task in list(running):
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def _claim(runtime: Runtime) -> Job | None:
    try:
        return await jobs.claim(runtime, list(HANDLERS))
    except Unavailable as error:
        log.warning("jobs wait for the database", error=error.message)
        return None


async def _run(runtime: Runtime, job: Job) -> None:
    try:
        await jobs.run(runtime, job, HANDLERS[job.kind])
    except Unavailable as error:
        log.warning("a job waits for the database", job=job.id, error=error.message)
    except Exception:
        log.exception("a job could not be noted", job=job.id, kind=job.kind)
