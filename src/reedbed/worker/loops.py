"""Start all loops of the worker role and stop them together; receive newsletters, if a mail port is configured."""

import asyncio
import sys

import structlog

from reedbed.services.runtime import Runtime
from reedbed.worker.jobs import run_ai_queue, run_jobs
from reedbed.worker.refresh import fetch_due_feeds
from reedbed.worker.scheduler import (
    check_mailboxes,
    decide_story_pairs,
    enqueue_new_summaries,
    fetch_icons,
    group_stories,
    maintain_hub_subscriptions,
    process_pushes,
    run_due_digests,
    run_nightly_cleanup,
    sweep,
)
from reedbed.worker.sleep import sleep_until

log = structlog.get_logger()

SWITCH_SECONDS = 0.0005
BIND_AGAIN_SECONDS = 15.0
CHORES = (
    sweep,
    run_nightly_cleanup,
    fetch_icons,
    run_due_digests,
    enqueue_new_summaries,
    maintain_hub_subscriptions,
    process_pushes,
    check_mailboxes,
    group_stories,
    decide_story_pairs,
)


async def work(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Run every loop until `stop`; then give running work `grace` seconds to finish."""
    # Requests wait for the thread that sanitizes entries at each switch: make that 0.5 ms instead of 5.
    sys.setswitchinterval(SWITCH_SECONDS)
    chores = [asyncio.create_task(chore(runtime, stop)) for chore in CHORES]
    try:
        async with asyncio.TaskGroup() as loops:
            loops.create_task(fetch_due_feeds(runtime, stop, grace=grace))
            loops.create_task(run_jobs(runtime, stop, grace=grace))
            loops.create_task(receive_mail(runtime, stop))
            loops.create_task(run_ai_queue(runtime, stop, grace=grace))
    finally:
        # Chores can be cancelled anywhere; the next run continues their work.
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)


async def receive_mail(runtime: Runtime, stop: asyncio.Event) -> None:
    """Listen until `stop`. While another process has the port, wait and try again."""
    endpoint = runtime.mail.intake
    if endpoint is None:
        return
    from reedbed.services.newsletters.channels import open_mail_intake  # imported late: few receive mail

    while not stop.is_set():
        try:
            server = await open_mail_intake(runtime, endpoint)
        except OSError as error:
            log.error("mail server could not start", host=endpoint.host, port=endpoint.port, error=str(error))
            await sleep_until(stop, BIND_AGAIN_SECONDS)
            continue
        log.info("mail server started", protocol=endpoint.protocol, host=endpoint.host, port=endpoint.port)
        try:
            await stop.wait()
        finally:
            server.close()
