"""Naps that a hint ends."""

import asyncio
from collections.abc import AsyncGenerator, Container
from contextlib import asynccontextmanager, suppress

from reedbed.services.runtime import Runtime


@asynccontextmanager
async def waking(runtime: Runtime, wake: asyncio.Event, topics: Container[str]) -> AsyncGenerator[None]:
    """Within, every hint of these topics sets `wake`."""

    async def hear() -> None:
        with runtime.bus.listen() as listener:
            async for hint in listener:
                if hint.topic in topics:
                    wake.set()

    hearing = asyncio.create_task(hear())
    try:
        yield
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)


async def nap(wake: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
