"""kill -9 between a mail and its acknowledgement: whoever sends it again loses and doubles nothing."""

import os
import random
import smtplib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from reedbed.domain.newsletters import MailPolicy
from reedbed.services.newsletters.senders import add_address, written
from tests.effort import REPEAT_FACTOR
from tests.harness import open_harness
from tests.newsletters import samples
from tests.processes import Reedbed, reedbed
from tests.servers import free_port

DOMAIN = "in.example.net"
KILLS = 2 * REPEAT_FACTOR  # on each engine
CHANCE = random.Random(os.environ.get("TEST_SEED", "reedbed"))
RAW = samples()[4].raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
START_SECONDS = 60


async def test_mails_whose_receiver_is_killed_are_there_once(database_url: str, tmp_path: Path) -> None:
    sent, port = 0, free_port()
    async with open_harness(database_url) as harness:
        harness.runtime = replace(harness.runtime, mail=MailPolicy(domain=DOMAIN))
        to = written(harness.runtime, await add_address(harness.runtime, await harness.person(), "Letters"))
        for _ in range(KILLS):
            with _worker(database_url, port, tmp_path) as worker:
                for _ in range(3):
                    sent += 1
                    assert _send(port, to, sent) == 250
                sent += 1
                _send_and_kill(worker, port, to, sent)
        with _worker(database_url, port, tmp_path):
            for number in range(1, sent + 1):
                assert _send(port, to, number) == 250
        guids = await harness.column("SELECT guid FROM entries")
        assert sorted(guids) == sorted(f"mail-{number}@letters.example.org" for number in range(1, sent + 1))
        for table in ("entry_bodies", "unread", "mail_images"):
            assert await harness.column(f"SELECT count(*) FROM {table}") == [sent]
        assert await harness.column("SELECT unread FROM subscriptions") == [sent]


def _send(port: int, to: str, number: int) -> int:
    with smtplib.SMTP("127.0.0.1", port, timeout=20) as smtp:
        smtp.ehlo("sender.example")
        smtp.mail("a@example.org")
        smtp.rcpt(to)
        return smtp.data(_mail(number))[0]


def _send_and_kill(worker: Reedbed, port: int, to: str, number: int) -> None:
    """The whole mail goes out, and nobody hears the answer."""
    with suppress(smtplib.SMTPException, OSError), smtplib.SMTP("127.0.0.1", port, timeout=5) as smtp:
        smtp.ehlo("sender.example")
        smtp.mail("a@example.org")
        smtp.rcpt(to)
        smtp.docmd("data")
        smtp.send(_mail(number) + b"\r\n.\r\n")
        time.sleep(CHANCE.uniform(0, 0.05))
        worker.kill()


def _mail(number: int) -> bytes:
    return RAW.replace(b"<inline-picture@", f"<mail-{number}@".encode())


@contextmanager
def _worker(database_url: str, port: int, cwd: Path) -> Iterator[Reedbed]:
    settings = {"mail_domain": DOMAIN, "mail_port": str(port), "mail_host": "127.0.0.1", "log_level": "error"}
    with reedbed("worker", cwd=cwd, database_url=database_url, **settings) as worker:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            assert worker.process.poll() is None and time.monotonic() < deadline, "the worker takes no mail"
            time.sleep(0.05)
        yield worker


def _answers(port: int) -> bool:
    with suppress(OSError, smtplib.SMTPException), smtplib.SMTP("127.0.0.1", port, timeout=5):
        return True
    return False
