"""Hubs: read what they send as soon as it is here, and ask them in time."""

import asyncio

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.services.jobs import run_exclusively
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.services.websub import read_pushes, tend_hubs
from reedbed.worker.sleep import sleep_until, waking

log = structlog.get_logger()

LOOK_SECONDS = 5.0
AGAIN_SECONDS = 0.1
AFTER_TROUBLE = 2.0
TEND_SECONDS = 30.0


async def read_hub_news(runtime: Runtime, stop: asyncio.Event) -> None:
    """Broken off anywhere it loses nothing: what was sent waits in the database until it is written."""
    if runtime.hubs.off is not None:
        return
    async with OutcomeWriter(runtime) as writer, waking(runtime, stop, "hub_news", "resync") as wake:
        while not stop.is_set():
            wake.clear()
            await sleep_until(wake, await _read_some(runtime, writer))


async def ask_hubs(runtime: Runtime, stop: asyncio.Event) -> None:
    """One process for all; at once when a check has found a new hub."""
    async with waking(runtime, stop, "hub_found") as wake:
        while not stop.is_set():
            wake.clear()
            await _tend(runtime)
            if runtime.hubs.off is not None:
                return
            await sleep_until(wake, TEND_SECONDS)


async def _read_some(runtime: Runtime, writer: OutcomeWriter) -> float:
    """How long to sleep after it."""
    try:
        return AGAIN_SECONDS if await read_pushes(runtime, writer) else LOOK_SECONDS
    except Unavailable as error:
        log.warning("pushes wait for the database", error=error.message)
    except Exception:
        log.exception("pushes could not be read")
    return AFTER_TROUBLE


async def _tend(runtime: Runtime) -> None:
    async def work() -> None:
        await tend_hubs(runtime)

    try:
        await run_exclusively(runtime, "hubs", work)
    except Unavailable as error:
        log.warning("hubs wait for the database", error=error.message)
    except Exception:
        log.exception("hubs could not be asked")
