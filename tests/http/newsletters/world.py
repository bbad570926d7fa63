"""A reader with an address, and the channels by which a newsletter gets there."""

import asyncio
import smtplib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from reedbed.domain.newsletters import MailIntake
from reedbed.services.newsletters.channels import MailboxOptions, add_mailbox, check_due_mailboxes, open_mail_intake
from reedbed.services.runtime import Runtime
from tests.amazon import Amazon, ses_message
from tests.clients import Client
from tests.harness import RuntimeHarness
from tests.mailproviders import as_mailgun, as_postmark, signed_by_mailgun
from tests.mailserver import PASSWORD, ImapServer
from tests.newsletters import samples
from tests.sample_mail import Sample
from tests.servers import free_port

DOMAIN = "in.example.net"
TOKEN = "a-token-that-nobody-guesses"
MAILGUN_KEY = "mailgun-signing-key"
BOUNCES = "bounces@letters.example.org"
SAMPLES = samples()


@dataclass
class World:
    """A reader with an address, behind every endpoint."""

    harness: RuntimeHarness
    client: Client
    user_id: int
    address: str
    smtp_port: int
    imap: ImapServer
    amazon: Amazon

    @property
    def runtime(self) -> Runtime:
        return self.harness.runtime


async def by_smtp(world: World, sent: list[Sample]) -> None:
    def send() -> None:
        with smtplib.SMTP("127.0.0.1", world.smtp_port, timeout=20) as smtp:
            for sample in sent:
                smtp.sendmail(BOUNCES, [world.address], _on_the_wire(sample), ["BODY=8BITMIME"])

    await asyncio.to_thread(send)


async def by_lmtp(world: World, sent: list[Sample]) -> None:
    endpoint = MailIntake("127.0.0.1", free_port(), "lmtp", per_minute=1_000)
    server = await open_mail_intake(world.runtime, endpoint)

    def send() -> None:
        with smtplib.LMTP("127.0.0.1", endpoint.port) as lmtp:
            for sample in sent:
                lmtp.sendmail(BOUNCES, [world.address], _on_the_wire(sample), ["BODY=8BITMIME"])

    await asyncio.to_thread(send)
    server.close()


async def by_imap(world: World, sent: list[Sample]) -> None:
    user = world.imap.new_user()
    for sample in sent:
        world.imap.deliver(user, sample.raw, "Letters")
    wish = MailboxOptions("localhost", user, PASSWORD, port=world.imap.tls_port, folder="Letters")
    await add_mailbox(world.runtime, world.user_id, wish)
    assert await check_due_mailboxes(world.runtime) == 1


async def by_postmark(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        await posted(world, "/inbound/postmark", json=as_postmark(sample, world.address), auth=("hook", TOKEN))


async def by_mailgun(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        fields, files = as_mailgun(sample, world.address, MAILGUN_KEY)
        await posted(world, "/inbound/mailgun", data=fields, files=files or None)


async def by_mailgun_mime(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        fields = {**signed_by_mailgun(MAILGUN_KEY, sample.name), "recipient": world.address}
        parts = {name: (None, value.encode()) for name, value in fields.items()}
        await posted(world, "/inbound/mailgun/mime", files={**parts, "body-mime": (None, sample.raw)})


async def by_ses(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        body = world.amazon.notification(sample.name, ses_message(sample.raw, world.address))
        await posted(world, "/inbound/ses", content=body)


async def by_raw(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "message/rfc822"}
        await posted(world, "/inbound/raw", params={"to": world.address}, content=sample.raw, headers=headers)


Channel = Callable[[World, list[Sample]], Awaitable[None]]
CHANNELS: list[Channel] = [
    by_smtp, by_lmtp, by_imap, by_postmark, by_mailgun, by_mailgun_mime, by_ses, by_raw,
]  # fmt: skip


async def posted(world: World, path: str, **options: Any) -> None:
    answer = await world.client.post(path, **options)
    assert answer.status_code == 200, answer.text


def _on_the_wire(sample: Sample) -> bytes:
    return sample.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


async def stored(world: World) -> list[tuple[Any, ...]]:
    rows = await world.harness.rows(
        "SELECT feeds.url, entries.guid, entries.title, entries.author, coalesce(entries.url, ''),"
        " coalesce(entries.published_at, 0), entry_bodies.content FROM entries"
        " JOIN feeds ON feeds.id = entries.feed_id JOIN entry_bodies ON entry_bodies.entry_id = entries.id"
        " WHERE feeds.owner_id = :user AND feeds.kind = 'mail'",
        user=world.user_id,
    )
    return sorted(tuple(row) for row in rows)
