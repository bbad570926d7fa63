"""How an operator lets newsletters in."""

from dataclasses import field
from typing import Literal

from reedbed.domain.records import record

MEGABYTE = 1024 * 1024


@record
class MailDoor:
    """Where the program itself listens for mail."""

    host: str
    port: int
    protocol: Literal["smtp", "lmtp"] = "smtp"
    certificate: str = ""
    """Path of the certificate chain; with it, STARTTLS is offered."""
    key: str = ""
    per_minute: int = 60
    """Mails from one connecting address."""


@record
class MailPolicy:
    domain: str = ""
    """Of the addresses people subscribe with; empty: there are none."""
    door: MailDoor | None = None
    max_bytes: int = 15 * MEGABYTE
    authserv_id: str = ""
    """The server in front of us whose `Authentication-Results` are believed."""
    webhook_token: str = field(default="", repr=False)
    mailgun_key: str = field(default="", repr=False)
    ses_topics: tuple[str, ...] = ()
