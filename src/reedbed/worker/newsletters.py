"""The mail server that receives newsletters, if a port is configured."""

import asyncio

import structlog

from reedbed.services.runtime import Runtime
from reedbed.worker.sleep import sleep_until

log = structlog.get_logger()

BIND_AGAIN_SECONDS = 15.0


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
            log.error("mail cannot be taken here", host=endpoint.host, port=endpoint.port, error=str(error))
            await sleep_until(stop, BIND_AGAIN_SECONDS)
            continue
        log.info("taking mail", protocol=endpoint.protocol, host=endpoint.host, port=endpoint.port)
        try:
            await stop.wait()
        finally:
            server.close()
