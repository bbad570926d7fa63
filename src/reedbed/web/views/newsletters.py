"""View models of newsletter settings, confirmation mails and the mail facts of an article."""

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
    """The page of the sender's feed; empty: the user is not subscribed."""
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
    """A mail that asks the user to confirm a subscription; `url` is an external link."""

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
    """Mail domain of this server; empty: it offers no addresses."""
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
    """Facts shown above an article that came by mail."""

    address: str
    verdict: str
    """SPF, DKIM and DMARC results of the receiving server; empty: unknown."""
    confirm: Confirm | None = None
