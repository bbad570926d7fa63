"""Outgoing mail: one letter at a time to the server the operator named."""

import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from functools import cache
from typing import Literal

from reedbed.domain.letters import Letter, NotSent, Posted, Sent
from reedbed.domain.times import Instant, to_datetime

TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class MailServer:
    host: str
    port: int
    sender: str
    tls: Literal["starttls", "tls", "none"] = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)


class Mailer:
    def __init__(self, server: MailServer) -> None:
        self._server = server

    async def send(self, letter: Letter, now: Instant) -> Posted:
        import aiosmtplib

        server = self._server
        try:
            await aiosmtplib.send(
                self._message(letter, now),
                hostname=server.host,
                port=server.port,
                username=server.username or None,
                password=server.password or None,
                use_tls=server.tls == "tls",
                start_tls=server.tls == "starttls",
                tls_context=_tls_context() if server.tls != "none" else None,
                timeout=TIMEOUT_SECONDS,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            return NotSent(
                _shortened(error), try_again=any(refusal.code < 500 for refusal in error.recipients)
            )
        except aiosmtplib.SMTPResponseException as error:
            return NotSent(_shortened(error), try_again=error.code < 500)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            return NotSent(_shortened(error), try_again=not isinstance(error, ValueError))
        return Sent()

    def _message(self, letter: Letter, now: Instant) -> EmailMessage:
        message = EmailMessage(policy=SMTP)
        message["From"] = self._server.sender
        message["To"] = letter.to
        message["Subject"] = letter.subject
        message["Date"] = format_datetime(to_datetime(now))
        message["Message-ID"] = make_msgid(domain=self._server.sender.rpartition("@")[2].rstrip("> "))
        # Nobody wants a holiday notice in return.
        message["Auto-Submitted"] = "auto-generated"
        if letter.unsubscribe_url:
            message["List-Unsubscribe"] = f"<{letter.unsubscribe_url}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(letter.text)
        if letter.html:
            message.add_alternative(letter.html, subtype="html")
        return message


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _shortened(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
