"""All loops of the worker role, side by side, until told to stop."""

import asyncio
import sys

from reedbed.services.runtime import Runtime
from reedbed.worker.jobs import run_jobs, write_what_is_queued
from reedbed.worker.newsletters import take_mail
from reedbed.worker.refresh import fetch_due_feeds
from reedbed.worker.scheduler import (
    ask_digests,
    ask_summaries,
    check_mailboxes,
    find_icons,
    group_stories,
    sweep,
    tidy_up,
)
from reedbed.worker.websub import ask_hubs, read_hub_news

SWITCH_SECONDS = 0.0005
CHORES = (
    sweep,
    tidy_up,
    find_icons,
    ask_digests,
    ask_summaries,
    ask_hubs,
    read_hub_news,
    check_mailboxes,
    group_stories,
)


async def work(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Run every loop; after `stop`, give what is in hand `grace` seconds to finish."""
    # A page waits for the thread that cleans entries at each of its steps: half a millisecond, not five.
    sys.setswitchinterval(SWITCH_SECONDS)
    chores = [asyncio.create_task(chore(runtime, stop)) for chore in CHORES]
    try:
        async with asyncio.TaskGroup() as loops:
            loops.create_task(fetch_due_feeds(runtime, stop, grace=grace))
            loops.create_task(run_jobs(runtime, stop, grace=grace))
            loops.create_task(take_mail(runtime, stop))
            loops.create_task(write_what_is_queued(runtime, stop, grace=grace))
    finally:
        # What they do can be broken off anywhere and is taken up again.
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
