"""Naps that a hint ends, or the end of the work."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from reedbed.domain.live import ChangeEvent
from reedbed.services.runtime import Runtime


@asynccontextmanager
async def waking(
    runtime: Runtime, stop: asyncio.Event, *topics: str, work: str | None = None
) -> AsyncGenerator[asyncio.Event]:
    """An event that is set by every hint of these topics, unless it is for other work, and by `stop`."""
    wake = asyncio.Event()

    def concerns(hint: ChangeEvent) -> bool:
        return hint.topic in topics and hint.data.get("for", work) == work

    async def hear() -> None:
        async for _ in listener:
            wake.set()

    async def end() -> None:
        await stop.wait()
        wake.set()

    # Listens before anything is looked for: a hint that came in between would go unheard.
    with runtime.bus.listen(concerns) as listener:
        ears = [asyncio.create_task(hear()), asyncio.create_task(end())]
        try:
            yield wake
        finally:
            for ear in ears:
                ear.cancel()
            await asyncio.gather(*ears, return_exceptions=True)


async def sleep_until(wake: asyncio.Event, seconds: float | None) -> None:
    """Sleep until `wake` is set; at the longest so many seconds, None: without end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
