"""Mail that comes to a reader, and what the reader then follows."""

from typing import Any

from reedbed.services.newsletters.receive import MailDelivery, MailRejected, Received, receive
from reedbed.services.newsletters.senders import add_address, written
from reedbed.services.runtime import Runtime
from reedbed.store import subscriptions
from reedbed.store.newsletters import inbound
from tests.newsletters import samples
from tests.sample_mail import Sample

DOMAIN = "in.example.net"
SAMPLES = {sample.name: sample for sample in samples()}
PLAIN, LEAVING = SAMPLES["plain"], SAMPLES["leaving"]


async def address_of(runtime: Runtime, user_id: int) -> str:
    return written(runtime, await add_address(runtime, user_id, "Letters"))


async def sent(runtime: Runtime, user_id: int, sample: Sample | bytes) -> Received | MailRejected:
    raw = sample if isinstance(sample, bytes) else sample.raw
    return await receive(runtime, MailDelivery("imap", user_id=user_id), raw)


async def the_sender(runtime: Runtime, user_id: int) -> Any:
    async with runtime.db.read() as tx:
        (found,) = await inbound.list_senders(tx, user_id)
    return found


async def following(runtime: Runtime, user_id: int) -> list[Any]:
    async with runtime.db.read() as tx:
        return await subscriptions.every(tx, user_id)
