"""Mails that ask to confirm a subscription: found by their words and the link they want clicked."""

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from reedbed.domain.email import known_as
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant

MAX_ADDRESSES = 50
MAX_SENDERS = 2_000
MAX_MAILBOXES = 10
MAX_NAME = 100

Channel = Literal["smtp", "imap", "postmark", "mailgun", "ses", "raw"]


@record
class MailImage:
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
    pictures: tuple[MailImage, ...] = ()
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


# Many lists put a mark of their own for each mail or reader behind a plus or an equals sign.
_MACHINE_MADE = re.compile(r"(?=[^\d]*\d)[a-z0-9._=-]{8,}\Z")
_PREFIX = "mailto:"


def sender_key(address: str) -> str:
    """Lower case, the domain in punycode, without machine-made marks; empty for what is no address.

    A tag that a person chose stays: `author+sports@example.org` is another letter than `author@example.org`.
    """
    key = known_as(address)
    local, at, domain = key.rpartition("@")
    name, plus, tag = local.partition("+")
    if plus and name and ("=" in tag or _MACHINE_MADE.match(tag)):
        return f"{name}{at}{domain}"
    return key


def feed_url(key: str) -> str:
    """The address of a sender's feed; no crawler can follow it."""
    return f"{_PREFIX}{key}"


MEGABYTE = 1024 * 1024


@record
class MailIntake:
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
    door: MailIntake | None = None
    max_bytes: int = 15 * MEGABYTE
    authserv_id: str = ""
    """The server in front of us whose `Authentication-Results` are believed."""
    webhook_token: str = field(default="", repr=False)
    mailgun_key: str = field(default="", repr=False)
    ses_topics: tuple[str, ...] = ()


MAX_HEADER = 8_000
_IN_BRACKETS = re.compile(r"<\s*([^<>]{1,2000}?)\s*>")
_ONE_CLICK = re.compile(r"list-unsubscribe\s*=\s*one-click\s*\Z", re.IGNORECASE)
_COMMENT = re.compile(r"\([^()]*\)")
_RESULT = re.compile(r"\b(spf|dkim|dmarc)\s*=\s*([a-z]{2,12})\b", re.IGNORECASE)
_DEEPEST_COMMENT = 5

ANY_SERVER = "*"


def ways_out(header: str, post: str) -> WaysOut:
    found = [re.sub(r"\s+", "", each) for each in _IN_BRACKETS.findall(header[:MAX_HEADER])]
    pages = [each for each in found if _is_page(each)]
    secure = next((each for each in pages if each.startswith("https:")), "")
    one_click = bool(_ONE_CLICK.match(post.strip()))
    mailto = next((each for each in found if mail_wish(each) is not None), "")
    return WaysOut(post=secure if one_click else "", mailto=mailto, page=secure or next(iter(pages), ""))


def mail_wish(address: str) -> tuple[str, str, str] | None:
    """The recipient, subject and text of a mailto address; None when it is none."""
    if address[:7].lower() != "mailto:":
        return None
    path, _, query = address[7:].partition("?")
    to = known_as(unquote(path))
    asked = parse_qs(query, max_num_fields=20) if query.count("&") < 20 else {}
    given = {name.lower(): values[0] for name, values in asked.items()}
    subject = " ".join(given.get("subject", "").split())[:300] or "unsubscribe"
    return (to, subject, given.get("body", "")[:1000] or "unsubscribe") if to else None


def verdicts(headers: Sequence[str], believed: str) -> Verdicts:
    """What the server we believe says; anybody may write such a header, so one of another name says nothing.

    `ANY_SERVER` believes the topmost, for mailboxes, whose own server writes it last.
    """
    for header in headers:
        said = _without_comments(header[:MAX_HEADER])
        by, _, results = said.partition(";")
        name = (by.split() or [""])[0].lower()
        if believed in (ANY_SERVER, name) and name:
            return _verdicts(name, results)
        if believed == ANY_SERVER:
            break
    return Verdicts()


def _verdicts(by: str, results: str) -> Verdicts:
    found: dict[str, str] = {}
    for method, result in _RESULT.findall(results.lower()):
        if found.get(method) != "pass":  # one good signature of several is enough
            found[method] = result
    return Verdicts(by[:200], **found)


def _without_comments(text: str) -> str:
    for _ in range(_DEEPEST_COMMENT):
        shorter = _COMMENT.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text


def _is_page(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)


MAX_WORDS = 500
"""A confirmation is short; a long letter that speaks of confirming is a letter."""
_LOOKED_AT = 4_000
_MAX_LABEL = 80

_ASKS = re.compile(
    r"\bconfirm(?:ing|ed)?\b.{0,60}\b(?:subscri\w+|e-?mail|address|sign[- ]?up|registration|newsletter)|"
    r"\b(?:verify|activate|validate)\b.{0,40}\b(?:subscri\w+|e-?mail|address|account)|"
    r"\b(?:subscription|e-?mail|address)\b.{0,30}\bconfirm|\bopt[- ]?in\b|"
    r"\bbest(?:ä|ae)tig\w*.{0,60}\b(?:anmeldung|abo\w*|e-?mail\w*|adresse|newsletter\w*)|"
    r"\b(?:anmeldung|abo\w*|e-?mail\w*|adresse|newsletter\w*)\b.{0,60}\bbest(?:ä|ae)tig|"
    r"\bconfirme[rz]?\b.{0,60}\b(?:inscription|abonnement|adresse|e-?mail)|"
    r"\bconfirm(?:a|ar|e|ación)\b.{0,60}\b(?:suscripci\w+|inscri\w+|correo|assinatura)|"
    r"\bconferma\w*\b.{0,60}\b(?:iscrizione|indirizzo|e-?mail)|"
    r"\bbevestig\w*\b.{0,60}\b(?:inschrijving|aanmelding|abonnement|e-?mail\w*)|"
    r"\bbekräfta\b.{0,60}\b(?:prenumeration|e-?post\w*)|\bbekræft\b.{0,60}\b(?:tilmelding|e-?mail)|"
    r"\bpotwierd\w*\b.{0,60}\b(?:subskrypcj\w+|zapis\w*|adres\w*)",
    re.IGNORECASE | re.DOTALL,
)
_BUTTON = re.compile(
    r"\b(?:confirm\w*|verify|activate|validate|subscribe me|yes,? .{0,20}subscribe|opt[- ]?in|"
    r"best(?:ä|ae)tig\w*|valider|conferm\w*|bevestig\w*|bekräfta|bekræft|potwierd\w*|"
    r"anmeldung abschließen)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"confirm|verif|activat|opt-?in|subscri(?:be|ption)|double-?opt|bestaetig", re.IGNORECASE
)
_WAY_OUT = re.compile(
    r"unsubscri|opt-?out|abmeld|abbestell|désabonn|desabonn|darse de baja|disiscri|afmeld", re.IGNORECASE
)


@record
class MailLink:
    url: str
    text: str


def find_confirmation(subject: str, text: str, links: Sequence[MailLink], words: int) -> Confirmation | None:
    """What to click, when the mail asks for a click and offers one."""
    if words > MAX_WORDS or not (_ASKS.search(subject) or _ASKS.search(text[:_LOOKED_AT])):
        return None
    wanted = [link for link in links if not _WAY_OUT.search(link.text) and not _WAY_OUT.search(link.url)]
    best = next((link for link in wanted if _BUTTON.search(link.text[:200])), None) or next(
        (link for link in wanted if _ADDRESS.search(link.url)), None
    )
    if best is None:
        return None
    label = " ".join(best.text.split())
    named = label if label and "://" not in label else ""
    return Confirmation(best.url, named[:_MAX_LABEL])
