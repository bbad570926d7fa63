"""Login and results of an IMAP mailbox. Separate from `imap`, which needs imaplib."""

from dataclasses import field
from typing import Literal

from reedbed.domain.records import record

LOGIN_TEST_UID = 2**32
"""No mail has a higher UID: a check from here on only tests the login."""

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
    """None if the mail is larger than the limit."""


@record
class MailboxResult:
    uid_validity: int
    mails: tuple[MailboxMail, ...]
    """Oldest first."""
    more: bool


@record
class MailboxFailure:
    reason: str
