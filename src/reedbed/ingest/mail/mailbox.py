"""A mailbox to read newsletters from, and what was found there. Apart from `imap`, which needs imaplib."""

from dataclasses import field
from typing import Literal

from reedbed.domain.records import record

ABOVE_ALL = 2**32
"""No mail has a UID beyond this: a look from here on only tries the log-in."""

Security = Literal["tls", "starttls", "none"]


@record
class MailboxLogin:
    host: str
    port: int
    security: Security
    username: str
    password: str = field(repr=False)
    folder: str = "INBOX"


@record
class MailboxMail:
    uid: int
    raw: bytes | None = field(repr=False)
    """None: larger than what is taken."""


@record
class MailboxResult:
    uid_validity: int
    mails: tuple[MailboxMail, ...]
    """Oldest first."""
    more: bool


@record
class MailboxFailure:
    reason: str
