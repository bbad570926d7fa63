"""WebSub loops: read pushed content as it arrives, and subscribe and renew at hubs in time."""

import asyncio

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.services.jobs import run_exclusively
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.services.websub import read_pushes, renew_hub_subscriptions
from reedbed.worker.sleep import sleep_until, wake_events

log = structlog.get_logger()

POLL_SECONDS = 5.0
AGAIN_SECONDS = 0.1
AFTER_FAILURE = 2.0
TEND_SECONDS = 30.0


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
            await sleep_until(wake, TEND_SECONDS)


async def _read_batch(runtime: Runtime, writer: OutcomeWriter) -> float:
    """Return how many seconds to sleep after it."""
    try:
        return AGAIN_SECONDS if await read_pushes(runtime, writer) else POLL_SECONDS
    except Unavailable as error:
        log.warning("pushes wait for the database", error=error.message)
    except Exception:
        log.exception("pushes could not be read")
    return AFTER_FAILURE


async def _maintain_subscriptions(runtime: Runtime) -> None:
    async def work() -> None:
        await renew_hub_subscriptions(runtime)

    try:
        await run_exclusively(runtime, "hubs", work)
    except Unavailable as error:
        log.warning("hubs wait for the database", error=error.message)
    except Exception:
        log.exception("hubs could not be asked")
