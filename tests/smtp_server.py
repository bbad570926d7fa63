"""A mail server on loopback that keeps what it is sent, and the worker that sends it."""

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

from reedbed.ingest.smtp import Mailer, MailServer
from reedbed.services import jobs
from reedbed.services.runtime import Runtime
from reedbed.worker.jobs import HANDLERS
from tests.servers import free_port


class SmtpServer:
    """Answers as it is told."""

    def __init__(self) -> None:
        self.answer = "250 OK"
        self.letters: list[EmailMessage] = []
        self.raw: list[bytes] = []
        self.port = free_port()

    def mailer(self) -> Mailer:
        return Mailer(MailServer("127.0.0.1", self.port, "Reedbed <reedbed@reader.example>", "none"))

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  aiosmtpd asks for it
        if self.answer.startswith("250"):
            letter = message_from_bytes(envelope.content, policy=default)
            assert isinstance(letter, EmailMessage)
            self.letters.append(letter)
            self.raw.append(envelope.content)
        return self.answer


@contextmanager
def open_smtp_server() -> Iterator[SmtpServer]:
    smtp_server = SmtpServer()
    controller = Controller(smtp_server, hostname="127.0.0.1", port=smtp_server.port, enable_SMTPUTF8=True)
    controller.start()
    try:
        yield smtp_server
    finally:
        controller.stop()


def words_of(letter: EmailMessage) -> str:
    body = letter.get_body(("plain",))
    assert body is not None
    return body.get_content()


async def work_off(runtime: Runtime) -> None:
    """Let the worker do what is due."""
    while job := await jobs.claim(runtime, list(HANDLERS)):
        await jobs.run(runtime, job, HANDLERS[job.kind])
