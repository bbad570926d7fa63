"""What a stranger meets at the mail port."""

import asyncio
import smtplib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reedbed.domain.newsletters import MailIntake
from reedbed.services.newsletters.channels import open_mail_intake
from tests.harness import RuntimeHarness
from tests.mailserver import make_certificate
from tests.servers import free_port
from tests.services.newsletters.letters import PLAIN, address_of


@pytest.fixture
async def intake(harness: RuntimeHarness) -> AsyncIterator[MailIntake]:
    intake = MailIntake("127.0.0.1", free_port(), per_minute=30)
    server = await open_mail_intake(harness.runtime, intake)
    yield intake
    server.close()


async def test_unknown_recipients_and_other_domains_are_refused_at_once(
    harness: RuntimeHarness, intake: MailIntake
) -> None:
    mine = await address_of(harness.runtime, await harness.person())
    local = mine.partition("@")[0]

    def ask() -> list[int]:
        with smtplib.SMTP("127.0.0.1", intake.port) as smtp:
            smtp.ehlo("client.example")
            assert not smtp.has_extn("auth")
            smtp.mail("a@example.org")
            strangers = ["nobody@in.example.net", f"{local}@elsewhere.example", "reader@example.com", "x"]
            return [smtp.rcpt(each)[0] for each in (*strangers, mine)]

    assert await asyncio.to_thread(ask) == [550, 550, 550, 550, 250]


async def test_too_large_a_mail_is_refused_by_its_announcement_and_by_its_size(
    harness: RuntimeHarness, intake: MailIntake
) -> None:
    mine = await address_of(harness.runtime, await harness.person())

    def send() -> list[int]:
        with smtplib.SMTP("127.0.0.1", intake.port) as smtp:
            smtp.ehlo("client.example")
            announced = smtp.mail("a@example.org", ["SIZE=900000"])[0]
            smtp.rset()
            smtp.mail("a@example.org")
            smtp.rcpt(mine)
            return [announced, smtp.data(b"From: a@example.org\r\n\r\n" + b"x" * 70 + b"\r\ny" * 300_000)[0]]

    assert await asyncio.to_thread(send) == [552, 552]


async def test_whoever_sends_too_many_is_asked_to_come_later(harness: RuntimeHarness, intake: MailIntake) -> None:
    def knock() -> list[int]:
        with smtplib.SMTP("127.0.0.1", intake.port) as smtp:
            smtp.ehlo("client.example")
            codes: list[int] = []
            for _ in range(40):
                codes.append(smtp.mail("a@example.org")[0])
                smtp.rset()
            return codes

    codes = await asyncio.to_thread(knock)
    assert codes[:30] == [250] * 30 and codes[-1] == 450


async def test_a_crowd_from_one_address_is_turned_away(intake: MailIntake) -> None:
    def crowd() -> bytes:
        guests = [socket.create_connection(("127.0.0.1", intake.port), 5) for _ in range(21)]
        try:
            return guests[-1].recv(3)
        finally:
            for guest in guests:
                guest.close()

    assert await asyncio.to_thread(crowd) == b"421"


async def test_mail_comes_encrypted_where_there_is_a_certificate(harness: RuntimeHarness, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_certificate(tmp_path)
    intake = MailIntake("127.0.0.1", free_port(), certificate=str(certificate), key=str(key))
    server = await open_mail_intake(harness.runtime, intake)
    mine = await address_of(harness.runtime, await harness.person())

    def send() -> None:
        with smtplib.SMTP("localhost", intake.port) as smtp:
            smtp.starttls(context=ssl.create_default_context(cafile=str(certificate)))
            smtp.ehlo("client.example")
            assert not smtp.has_extn("auth")
            smtp.sendmail("a@example.org", [mine], PLAIN.raw)

    await asyncio.to_thread(send)
    server.close()
    assert await harness.column("SELECT count(*) FROM entries") == [1]


async def test_a_mail_that_cannot_be_stored_is_not_acknowledged(harness: RuntimeHarness, intake: MailIntake) -> None:
    mine = await address_of(harness.runtime, await harness.person())
    await harness.change("ALTER TABLE mail_senders RENAME TO elsewhere")

    def send() -> int:
        with smtplib.SMTP("127.0.0.1", intake.port) as smtp:
            smtp.ehlo("client.example")
            smtp.mail("a@example.org")
            smtp.rcpt(mine)
            return smtp.data(PLAIN.raw)[0]

    assert await asyncio.to_thread(send) == 451
