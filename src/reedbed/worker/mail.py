"""The mail server of newsletters, for as long as a port is set."""

import asyncio
from contextlib import suppress

import structlog

from reedbed.services.mail_desk import open_door
from reedbed.services.runtime import Runtime

log = structlog.get_logger()

BIND_AGAIN_SECONDS = 15.0


async def take_mail(runtime: Runtime, stop: asyncio.Event) -> None:
    """Listen until told to stop. While another process has the port, wait for it to go."""
    door = runtime.mail.door
    while door is not None and not stop.is_set():
        try:
            server = await open_door(runtime, door)
        except OSError as error:
            log.error("mail cannot be taken here", host=door.host, port=door.port, error=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(BIND_AGAIN_SECONDS):
                    await stop.wait()
            continue
        log.info("taking mail", protocol=door.protocol, host=door.host, port=door.port)
        try:
            await stop.wait()
        finally:
            server.close()
