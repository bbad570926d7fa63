"""A folder of a mailbox: how to get into it, and what was found there."""

from dataclasses import dataclass, field
from typing import Literal

ABOVE_ALL = 2**32
"""No mail has a UID beyond this: a look from here on only tries the log-in."""

Security = Literal["tls", "starttls", "none"]


@dataclass(frozen=True, slots=True)
class MailboxLogin:
    host: str
    port: int
    security: Security
    username: str
    password: str = field(repr=False)
    folder: str = "INBOX"


@dataclass(frozen=True, slots=True)
class FoundMail:
    uid: int
    raw: bytes | None = field(repr=False)
    """None: larger than what is taken."""


@dataclass(frozen=True, slots=True)
class Looked:
    uid_validity: int
    mails: tuple[FoundMail, ...]
    """Oldest first."""
    more: bool


@dataclass(frozen=True, slots=True)
class NoLook:
    reason: str
