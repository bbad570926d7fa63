"""The desk behind the mail server: what it answers to each question of the protocol."""

import asyncio
from collections.abc import Sequence

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.limits import per_minute
from reedbed.domain.mail_policy import MailDoor
from reedbed.services.newsletters import Delivery, Refused, accepts, receive
from reedbed.services.runtime import Runtime

log = structlog.get_logger()

_REPLIES = {
    "unknown": "550 5.1.1 {}",
    "large": "552 5.3.4 {}",
    "unreadable": "554 5.6.0 {}",
    "spam": "550 5.7.1 {}",
    "blocked": "550 5.7.1 {}",
    "full": "452 4.2.2 {}",
    "busy": "450 4.7.1 {}",
}


async def open_door(runtime: Runtime, door: MailDoor) -> asyncio.AbstractServer:
    """Raises OSError where the port cannot be had, or the certificate not be read."""
    # The server's library is only loaded where mail is taken.
    from reedbed.ingest.mail.listener import MailDesk, listen

    desk = MailDesk(
        admits=lambda peer: _admits(runtime, door, peer),
        knows=lambda recipient: accepts(runtime, recipient),
        takes=lambda recipients, raw: _take(runtime, recipients, raw),
    )
    return await listen(door, desk, hostname=runtime.mail.domain, max_bytes=runtime.mail.max_bytes)


async def _admits(runtime: Runtime, door: MailDoor, peer: str) -> bool:
    return await runtime.limiter.wait_for(f"mail-from:{peer}", per_minute(door.per_minute)) == 0


async def _take(runtime: Runtime, recipients: Sequence[str], raw: bytes) -> str:
    delivery = Delivery("smtp", tuple(recipients), believed=runtime.mail.authserv_id)
    try:
        outcome = await receive(runtime, delivery, raw)
    except Unavailable as error:
        log.warning("a mail waits for the database", error=error.message)
        return "451 4.3.0 Try again later."
    if isinstance(outcome, Refused):
        return _REPLIES[outcome.why].format(outcome.reason)
    return "250 2.0.0 Stored."
