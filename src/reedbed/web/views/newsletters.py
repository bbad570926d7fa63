"""Newsletters: their settings, the button of a confirmation, and what an article tells of its mail."""

from dataclasses import field

from reedbed.domain.records import record
from reedbed.web.views.layout import SelectOption


@record
class AddressView:
    id: int
    name: str
    address: str
    used: str


@record
class SenderView:
    id: int
    name: str
    address: str
    facts: str
    url: str = ""
    """Where its mails are read; empty: there are none."""
    blocked: bool = False
    left: bool = False
    leaving: str = ""
    leave_page: str = ""


@record
class MailboxView:
    id: int
    name: str
    facts: str
    error: str = ""


@record
class Confirm:
    """A mail that waits for a click; `url` leads out of the page."""

    entry_id: int
    title: str
    sender: str
    url: str
    label: str


@record
class MailboxForm:
    host: str = ""
    port: str = "993"
    username: str = ""
    folder: str = "INBOX"
    securities: tuple[SelectOption, ...] = ()
    error: str = ""


@record
class NewslettersSettings:
    domain: str
    """Empty: there are no addresses here."""
    addresses: tuple[AddressView, ...]
    senders: tuple[SenderView, ...]
    mailboxes: tuple[MailboxView, ...]
    confirmations: tuple[Confirm, ...]
    name: str = ""
    name_error: str = ""
    blocked: str = ""
    blocked_error: str = ""
    mailbox: MailboxForm = field(default_factory=MailboxForm)


@record
class MailFacts:
    """Above an article that came by mail."""

    address: str
    verdict: str
    """What the receiving server found out about the sender; empty: nothing is known."""
    confirm: Confirm | None = None
