"""Outgoing mail: one letter at a time to the server the operator named."""

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

ONE_LINE = frozenset({"list-unsubscribe", "list-unsubscribe-post", "message-id", "date", "auto-submitted"})
"""Headers that programs read: written as they are, however long."""
SHORT_LINE = 60


class _Policy(EmailPolicy):
    """Writes no address and no URL as encoded words, as Python's own policies do with what is too long for a
    line. Mail programs do not decode them there (RFC 2047, section 5)."""

    def fold(self, name: str, value: Any) -> str:
        if name.lower() in ONE_LINE:
            return f"{name}: {value}{self.linesep}"
        if isinstance(value, AddressHeader):
            written = f",{self.linesep} ".join(self._address(one) for one in value.addresses)
            return f"{name}: {written}{self.linesep}"
        return super().fold(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode("utf-8" if self.utf8 else "ascii", "surrogateescape")

    def _address(self, address: Address) -> str:
        name = address.display_name
        if not name:
            return address.addr_spec
        shown = f'"{quote(name)}"' if name.isascii() else Header(name, "utf-8").encode(linesep=self.linesep)
        gap = " " if len(shown) + len(address.addr_spec) < SHORT_LINE else f"{self.linesep} "
        return f"{shown}{gap}<{address.addr_spec}>"


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

    async def send(self, letter: Email, now: Instant) -> Posted:
        import aiosmtplib

        server = self._server
        try:
            message = self._message(letter, now)
            await aiosmtplib.send(
                message.as_bytes(),
                sender=message["From"].addresses[0].addr_spec,
                recipients=[one.addr_spec for one in message["To"].addresses],
                mail_options=["SMTPUTF8"] if _needs_utf8(message) else [],
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

    def _message(self, letter: Email, now: Instant) -> EmailMessage:
        name, sender = parseaddr(self._server.sender)
        local, _, domain = sender.rpartition("@")
        domain = _ascii_host(domain)
        utf8 = not f"{local}{letter.to}".isascii()
        message = EmailMessage(policy=_Policy(linesep="\r\n", cte_type="7bit", utf8=utf8))
        message["From"] = Address(name, addr_spec=f"{local}@{domain}")
        message["To"] = letter.to
        message["Subject"] = letter.subject
        message["Date"] = format_datetime(to_datetime(now))
        message["Message-ID"] = make_msgid(domain=domain)
        # Nobody wants a holiday notice in return.
        message["Auto-Submitted"] = "auto-generated"
        if letter.unsubscribe_url:
            message["List-Unsubscribe"] = f"<{_ascii_url(letter.unsubscribe_url)}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(letter.text)
        if letter.html:
            message.add_alternative(letter.html, subtype="html")
        return message


def _needs_utf8(message: EmailMessage) -> bool:
    """Only a mailbox whose own name is not ASCII needs a server that takes UTF-8 in headers."""
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
