"""All loops of the worker role, side by side, until told to stop."""

import asyncio

from reedbed.services.runtime import Runtime


async def work(runtime: Runtime, stop: asyncio.Event, *, grace: float) -> None:
    """Run every loop; after `stop`, give what is in hand `grace` seconds to finish."""
    await stop.wait()
