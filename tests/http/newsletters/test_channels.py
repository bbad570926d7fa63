"""The same newsletters by every channel, ending in the same entries."""

import asyncio
import imaplib
import json
from dataclasses import replace
from typing import Any

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.newsletters import Mail, feed_url, sender_key
from reedbed.ingest.mail.message import read_mime
from reedbed.services.newsletters.channels import EVERY, MailboxOptions, add_mailbox, check_due_mailboxes
from reedbed.services.newsletters.receive import convert_mail
from tests.http.newsletters.world import CHANNELS, SAMPLES, Channel, World, by_ses, by_smtp, stored
from tests.mailserver import PASSWORD
from tests.sample_mail import Sample


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
async def test_every_channel_brings_the_same_entries(world: World, channel: Channel) -> None:
    assert len(SAMPLES) >= 20
    await channel(world, SAMPLES)

    assert await stored(world) == sorted(_expected(sample) for sample in SAMPLES)


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
async def test_what_is_delivered_twice_is_stored_once(world: World, channel: Channel) -> None:
    few = [sample for sample in SAMPLES if sample.name in ("plain", "nameless", "inline-picture")]
    await channel(world, few)
    await channel(world, few)

    assert len(await stored(world)) == len(few)


async def test_a_mailbox_is_read_on_where_it_was_left_and_never_changed(world: World) -> None:
    user = world.imap.new_user()
    world.imap.deliver(user, SAMPLES[0].raw)
    wish = MailboxOptions("localhost", user, PASSWORD, port=world.imap.plain_port, security="starttls")
    box = await add_mailbox(world.runtime, world.user_id, wish)
    await check_due_mailboxes(world.runtime)
    world.imap.deliver(user, SAMPLES[1].raw)
    assert await check_due_mailboxes(world.runtime) == 0
    world.harness.clock.ahead += EVERY
    await check_due_mailboxes(world.runtime)

    assert len(await stored(world)) == 2
    rows = await world.harness.rows("SELECT received, last_uid, last_error FROM mail_boxes WHERE id = :id", id=box.id)
    assert [tuple(row) for row in rows] == [(2, 2, None)]
    client = imaplib.IMAP4("127.0.0.1", world.imap.plain_port)
    client.login(user, PASSWORD)
    client.select("INBOX", readonly=True)
    assert client.search(None, "UNSEEN")[1] == [b"1 2"]
    client.logout()


@pytest.mark.parametrize(
    ("change", "said"),
    [({"password": "wrong"}, "Authentication failed"), ({"folder": "Nowhere"}, "folder could not be opened")],
    ids=["password", "folder"],
)
async def test_a_mailbox_that_does_not_open_says_why(world: World, change: dict[str, str], said: str) -> None:
    user = world.imap.new_user()
    wish = MailboxOptions("localhost", user, PASSWORD, port=world.imap.tls_port)
    with pytest.raises(Invalid, match=said):
        await add_mailbox(world.runtime, world.user_id, replace(wish, **change))


async def test_a_mail_server_that_hangs_up_is_told_in_plain_words(world: World) -> None:
    def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        wish = MailboxOptions("localhost", "ann", PASSWORD, port=port, security="starttls")
        with pytest.raises(Invalid, match="closed the connection"):
            await add_mailbox(world.runtime, world.user_id, wish)


async def test_a_mailbox_that_fails_is_tried_again_later_and_later(world: World) -> None:
    wish = MailboxOptions("localhost", world.imap.new_user(), PASSWORD, port=world.imap.tls_port)
    box = await add_mailbox(world.runtime, world.user_id, wish)
    await world.harness.change("UPDATE mail_boxes SET password = 'changed'")
    waits: list[int] = []
    for _ in range(2):
        await check_due_mailboxes(world.runtime)
        (row,) = await world.harness.rows("SELECT next_check_at, last_error FROM mail_boxes WHERE id = :id", id=box.id)
        assert "Authentication failed" in row[1]
        waits.append(row[0] - world.runtime.now())
        world.harness.clock.ahead += waits[-1] + 1_000
    assert waits[1] > 1.5 * waits[0]


async def test_the_samples_say_what_they_should() -> None:
    for sample in SAMPLES:
        mail = read_mime(sample.raw)
        assert isinstance(mail, Mail)
        letter = convert_mail(mail)
        assert (mail.subject, mail.sender.lower(), mail.sender_name) == (
            sample.subject, sample.sender.lower(), sample.sender_name,
        )  # fmt: skip
        assert sample.says in letter.text.content, sample.name
        assert not any(hidden in letter.text.content for hidden in sample.extra.get("hides", ()))
        wanted = sample.extra.get("confirm")
        assert (letter.confirmation.url if letter.confirmation else None) == wanted


async def test_a_channel_tells_what_the_receiving_server_found(world: World) -> None:
    await by_ses(world, SAMPLES[:1])
    (told,) = await world.harness.column("SELECT verdicts FROM mail_senders")
    assert json.loads(told) == {"by": "amazonses.com", "spf": "pass", "dkim": "pass", "dmarc": "none"}


async def test_findings_of_a_server_nobody_knows_are_not_believed(world: World) -> None:
    forged = b"Authentication-Results: mx.evil.example; spf=pass; dkim=pass\r\n"
    own = b"Authentication-Results: mx.example.net; spf=fail smtp.mailfrom=x; dkim=pass header.d=y\r\n"
    await by_smtp(world, [replace(SAMPLES[0], raw=forged + SAMPLES[0].raw)])
    await by_smtp(world, [replace(SAMPLES[1], raw=own + forged + SAMPLES[1].raw)])

    told = await world.harness.column("SELECT verdicts FROM mail_senders ORDER BY id")
    assert [json.loads(each) for each in told] == [{}, {"by": "mx.example.net", "spf": "fail", "dkim": "pass"}]


def _expected(sample: Sample) -> tuple[Any, ...]:
    mail = read_mime(sample.raw)
    assert isinstance(mail, Mail)
    letter = convert_mail(mail)
    return (
        feed_url(sender_key(mail.sender)),
        letter.guid,
        letter.text.title,
        letter.text.author,
        letter.url or "",
        mail.sent_at or 0,
        letter.text.content,
    )
