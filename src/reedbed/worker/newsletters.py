"""The mail server of newsletters, for as long as a port is set."""

import asyncio

import structlog

from reedbed.services.newsletters.channels import open_mail_intake
from reedbed.services.runtime import Runtime
from reedbed.worker.sleep import sleep_until

log = structlog.get_logger()

BIND_AGAIN_SECONDS = 15.0


async def take_mail(runtime: Runtime, stop: asyncio.Event) -> None:
    """Listen until told to stop. While another process has the port, wait for it to go."""
    door = runtime.mail.door
    while door is not None and not stop.is_set():
        try:
            server = await open_mail_intake(runtime, door)
        except OSError as error:
            log.error("mail cannot be taken here", host=door.host, port=door.port, error=str(error))
            await sleep_until(stop, BIND_AGAIN_SECONDS)
            continue
        log.info("taking mail", protocol=door.protocol, host=door.host, port=door.port)
        try:
            await stop.wait()
        finally:
            server.close()
