"""Send email through the operator's SMTP server, one message at a time."""

import asyncio
import ssl
from dataclasses import field
from email.header import Header
from email.headerregistry import Address, AddressHeader
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime, make_msgid, parseaddr, quote
from functools import cache
from typing import Any, Literal
from urllib.parse import quote as percent_encode
from urllib.parse import urlsplit

from reedbed.domain.email import Email, NotSent, Posted, Sent
from reedbed.domain.records import record
from reedbed.domain.times import Instant, to_datetime

TIMEOUT_SECONDS = 20.0
SLOWEST = 50_000
"""Bytes a second that an attachment may take."""

ONE_LINE = frozenset({"list-unsubscribe", "list-unsubscribe-post", "message-id", "date", "auto-submitted"})
"""Headers that programs parse: never folded, however long."""
SHORT_LINE = 60


class _Policy(EmailPolicy):
    """Never writes addresses and URLs as encoded words, which Python's own policies do if they are too long
    for a line. Mail programs do not decode them there (RFC 2047, section 5).
    """

    def fold(self, name: str, value: Any) -> str:
        if name.lower() in ONE_LINE:
            return f"{name}: {value}{self.linesep}"
        if isinstance(value, AddressHeader):
            folded = f",{self.linesep} ".join(self._address(address) for address in value.addresses)
            return f"{name}: {folded}{self.linesep}"
        return super().fold(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode("utf-8" if self.utf8 else "ascii", "surrogateescape")

    def _address(self, address: Address) -> str:
        name = address.display_name
        if not name:
            return address.addr_spec
        written_name = f'"{quote(name)}"' if name.isascii() else Header(name, "utf-8").encode(linesep=self.linesep)
        gap = " " if len(written_name) + len(address.addr_spec) < SHORT_LINE else f"{self.linesep} "
        return f"{written_name}{gap}<{address.addr_spec}>"


@record
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

    @property
    def sender(self) -> str:
        """The address that mails come from."""
        return parseaddr(self._server.sender)[1]

    async def send(self, email: Email, now: Instant) -> Posted:
        import aiosmtplib

        server = self._server
        size = len(email.attachment.data) if email.attachment is not None else 0
        try:
            # A large attachment takes a second to encode.
            message, content = await asyncio.to_thread(self._written, email, now) if size else self._written(email, now)
            await aiosmtplib.send(
                content,
                sender=message["From"].addresses[0].addr_spec,
                recipients=[address.addr_spec for address in message["To"].addresses],
                mail_options=["SMTPUTF8"] if _needs_utf8(message) else [],
                hostname=server.host,
                port=server.port,
                username=server.username or None,
                password=server.password or None,
                use_tls=server.tls == "tls",
                start_tls=server.tls == "starttls",
                tls_context=_tls_context() if server.tls != "none" else None,
                timeout=TIMEOUT_SECONDS + size / SLOWEST,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            return NotSent(_shortened(error), try_again=any(recipient.code < 500 for recipient in error.recipients))
        except aiosmtplib.SMTPResponseException as error:
            return NotSent(_shortened(error), try_again=error.code < 500)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            return NotSent(_shortened(error), try_again=not isinstance(error, ValueError))
        return Sent()

    def _written(self, email: Email, now: Instant) -> tuple[EmailMessage, bytes]:
        message = self._message(email, now)
        return message, message.as_bytes()

    def _message(self, email: Email, now: Instant) -> EmailMessage:
        name, sender = parseaddr(self._server.sender)
        local, _, domain = sender.rpartition("@")
        domain = _ascii_host(domain)
        utf8 = not f"{local}{email.to}".isascii()
        message = EmailMessage(policy=_Policy(linesep="\r\n", cte_type="7bit", utf8=utf8))
        message["From"] = Address(name, addr_spec=f"{local}@{domain}")
        message["To"] = email.to
        message["Subject"] = email.subject
        message["Date"] = format_datetime(to_datetime(now))
        message["Message-ID"] = make_msgid(domain=domain)
        # Prevents automatic replies such as out-of-office messages.
        message["Auto-Submitted"] = "auto-generated"
        if email.unsubscribe_url:
            message["List-Unsubscribe"] = f"<{_ascii_url(email.unsubscribe_url)}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(email.text)
        if email.html:
            message.add_alternative(email.html, subtype="html")
        if email.attachment is not None:
            main, _, sub = email.attachment.media_type.partition("/")
            message.add_attachment(email.attachment.data, main, sub, filename=email.attachment.name)
        return message


def _needs_utf8(message: EmailMessage) -> bool:
    """Only a mailbox with a non-ASCII local part needs a server with SMTPUTF8."""
    return isinstance(message.policy, EmailPolicy) and message.policy.utf8


def _ascii_url(url: str) -> str:
    if url.isascii():
        return url
    parts = urlsplit(url)
    authority = _ascii_host(parts.netloc)
    return parts._replace(netloc=authority, path=percent_encode(parts.path, safe="/%")).geturl()


def _ascii_host(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _shortened(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
