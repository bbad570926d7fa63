"""Sleep that ends early when an event arrives or the process stops."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from reedbed.domain.live import ChangeEvent
from reedbed.services.runtime import Runtime


@asynccontextmanager
async def wake_events(
    runtime: Runtime, stop: asyncio.Event, *topics: str, work: str | None = None
) -> AsyncGenerator[asyncio.Event]:
    """Yield an `asyncio.Event` set by `stop` and by bus events of these topics, unless for other work."""
    wake = asyncio.Event()

    def is_relevant(event: ChangeEvent) -> bool:
        return event.topic in topics and event.data.get("for", work) == work

    async def wake_on_event() -> None:
        async for _ in listener:
            wake.set()

    async def wake_on_stop() -> None:
        await stop.wait()
        wake.set()

    # Listen before the caller checks for work: otherwise an event in between would be missed.
    with runtime.bus.listen(is_relevant) as listener:
        tasks = [asyncio.create_task(wake_on_event()), asyncio.create_task(wake_on_stop())]
        try:
            yield wake
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def sleep_until(wake: asyncio.Event, seconds: float | None) -> None:
    """Sleep until `wake` is set, at most `seconds`; None: no limit."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
