"""Newsletters: a mail as it was read, and what a channel says about its delivery."""

from dataclasses import field
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.texts import storable
from reedbed.domain.times import Instant

MOST_ADDRESSES = 50
MOST_SENDERS = 2_000
MOST_MAILBOXES = 10
MAX_NAME = 100

Channel = Literal["smtp", "imap", "postmark", "mailgun", "ses", "raw"]


@record
class Picture:
    """An image that travels inside the mail."""

    cid: str
    data: bytes = field(repr=False)


@record
class Mail:
    """One mail as far as it is of use here; its markup is still hostile."""

    sender: str
    """The address in From, as written."""
    sender_name: str = ""
    subject: str = ""
    message_id: str = ""
    sent_at: Instant | None = None
    html: str = ""
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    list_unsubscribe: str = ""
    list_unsubscribe_post: str = ""
    auth_results: tuple[str, ...] = ()
    """`Authentication-Results` headers, the topmost first."""
    spam: bool = False
    """A filter on the way marked it."""


@record
class NotAMail:
    reason: str


@record
class Verdicts:
    """What a receiving server found out about the sender: pass, fail, none ... or empty."""

    by: str = ""
    spf: str = ""
    dkim: str = ""
    dmarc: str = ""

    def __bool__(self) -> bool:
        return bool(self.spf or self.dkim or self.dmarc)


@record
class WaysOut:
    """What a List-Unsubscribe header offers."""

    post: str = ""
    """One click, as RFC 8058 has it: a POST that asks nothing more."""
    mailto: str = ""
    page: str = ""
    """For a person to open."""


@record
class Confirmation:
    """A mail that waits for one click, and where its button leads. Nobody but the reader follows it."""

    url: str
    label: str


@record
class IngestAddress:
    id: int
    user_id: int
    name: str
    local: str
    received: int
    created_at: Instant
    last_used_at: Instant | None
    revoked_at: Instant | None


@record
class Sender:
    id: int
    user_id: int
    feed_id: int | None
    address: str
    name: str
    ways_out: WaysOut
    verdicts: Verdicts
    leaving: str
    """What became of unsubscribing, in a sentence; empty while followed."""
    received: int
    refused: int
    last_mail_at: Instant | None
    blocked_at: Instant | None
    left_at: Instant | None

    @property
    def title(self) -> str:
        return self.name or self.address


@record
class WaitingConfirmation:
    entry_id: int
    title: str
    sender: str
    """By name, or by address where it gives none."""
    url: str
    label: str
    created_at: Instant


def check_name(name: str) -> str:
    tidy = " ".join(storable(name).split())
    if not tidy:
        raise Invalid("A name is required", field="name")
    if len(tidy) > MAX_NAME:
        raise Invalid(f"The name must have at most {MAX_NAME} characters", field="name")
    return tidy


def local_part(recipient: str, domain: str) -> str | None:
    """Which of our addresses a recipient names: `<random>`, in lower case; None when it is not ours.

    What follows a plus sign is the user's own note and names no other address.
    """
    local, at, host = recipient.strip().strip("<>").rpartition("@")
    if not at or host.rstrip(".").lower() != domain.lower():
        return None
    return local.partition("+")[0].lower() or None
