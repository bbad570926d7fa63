"""Newsletters: received mails, their senders and addresses, unsubscribe links, confirmation mails, IMAP mailboxes."""

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from reedbed.domain.email import known_as
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
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
    """An image that is embedded in the mail."""

    cid: str
    data: bytes = field(repr=False)


@record
class Mail:
    """The parts of a mail that are used here; its markup is not sanitized yet."""

    sender: str
    """The address of the From header, as written."""
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
    """A spam filter on the way marked it."""


@record
class InvalidMail:
    reason: str


@record
class AuthResults:
    """Sender authentication results of a receiving server: pass, fail, none ... or empty."""

    by: str = ""
    spf: str = ""
    dkim: str = ""
    dmarc: str = ""

    def __bool__(self) -> bool:
        return bool(self.spf or self.dkim or self.dmarc)


@record
class UnsubscribeOptions:
    """The options of a List-Unsubscribe header."""

    post: str = ""
    """One-click unsubscribe (RFC 8058): a POST without further questions."""
    mailto: str = ""
    page: str = ""
    """A page to open in the browser."""


@record
class Confirmation:
    """The link of a mail that asks to confirm a subscription. Only the user follows it, never the server."""

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
    ways_out: UnsubscribeOptions
    verdicts: AuthResults
    leaving: Failure | None
    """The result of unsubscribing; None while subscribed."""
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
    """The name, or the address if there is none."""
    url: str
    label: str
    created_at: Instant


def check_name(name: str) -> str:
    clean_name = " ".join(storable(name).split())
    if not clean_name:
        raise Invalid("A name is required", field="name")
    if len(clean_name) > MAX_NAME:
        raise Invalid("The name must have at most %(limit)s characters", field="name", limit=MAX_NAME)
    return clean_name


def local_part(recipient: str, domain: str) -> str | None:
    """The local part of one of our addresses: `<random>`, in lower case; None if it is not ours.

    A tag after a plus sign is the user's own note and is ignored.
    """
    local, at, host = recipient.strip().strip("<>").rpartition("@")
    if not at or host.rstrip(".").lower() != domain.lower():
        return None
    return local.partition("+")[0].lower() or None


# Many lists append an id for each mail or recipient after a plus or an equals sign.
_GENERATED_TAG = re.compile(r"(?=[^\d]*\d)[a-z0-9._=-]{8,}\Z")
_MAILTO = "mailto:"


def sender_key(email_address: str) -> str:
    """Lower case, the domain in punycode, without generated ids; empty for an invalid address.

    A tag chosen by a person stays: `author+sports@example.org` is another newsletter than
    `author@example.org`.
    """
    key = known_as(email_address)
    local, at, domain = key.rpartition("@")
    name, plus, tag = local.partition("+")
    if plus and name and ("=" in tag or _GENERATED_TAG.match(tag)):
        return f"{name}{at}{domain}"
    return key


def feed_url(key: str) -> str:
    """The URL of a sender's feed. It is a mailto URL, so it is never fetched."""
    return f"{_MAILTO}{key}"


# --- Receiving

MEGABYTE = 1024 * 1024


@record
class MailIntake:
    """The built-in SMTP or LMTP server."""

    host: str
    port: int
    protocol: Literal["smtp", "lmtp"] = "smtp"
    certificate: str = ""
    """Path of the certificate chain; enables STARTTLS."""
    key: str = ""
    per_minute: int = 60
    """Mails from one client IP."""


@record
class MailPolicy:
    domain: str = ""
    """The domain of the ingest addresses; empty if there are none."""
    intake: MailIntake | None = None
    max_bytes: int = 15 * MEGABYTE
    authserv_id: str = ""
    """The upstream server whose `Authentication-Results` are trusted."""
    webhook_token: str = field(default="", repr=False)
    mailgun_key: str = field(default="", repr=False)
    ses_topics: tuple[str, ...] = ()


# --- Headers

MAX_HEADER = 8_000
_IN_BRACKETS = re.compile(r"<\s*([^<>]{1,2000}?)\s*>")
_ONE_CLICK = re.compile(r"list-unsubscribe\s*=\s*one-click\s*\Z", re.IGNORECASE)
_COMMENT = re.compile(r"\([^()]*\)")
_RESULT = re.compile(r"\b(spf|dkim|dmarc)\s*=\s*([a-z]{2,12})\b", re.IGNORECASE)
_MAX_COMMENT_DEPTH = 5

ANY_SERVER = "*"


def ways_out(header: str, post: str) -> UnsubscribeOptions:
    targets = [re.sub(r"\s+", "", target) for target in _IN_BRACKETS.findall(header[:MAX_HEADER])]
    pages = [target for target in targets if _is_page(target)]
    secure = next((target for target in pages if target.startswith("https:")), "")
    one_click = bool(_ONE_CLICK.match(post.strip()))
    mailto_url = next((target for target in targets if parse_mailto(target) is not None), "")
    return UnsubscribeOptions(post=secure if one_click else "", mailto=mailto_url, page=secure or next(iter(pages), ""))


def parse_mailto(url: str) -> tuple[str, str, str] | None:
    """The recipient, subject and text of a mailto URL; None for other URLs."""
    if url[:7].lower() != "mailto:":
        return None
    path, _, query = url[7:].partition("?")
    to = known_as(unquote(path))
    query_fields = parse_qs(query, max_num_fields=20) if query.count("&") < 20 else {}
    fields = {name.lower(): values[0] for name, values in query_fields.items()}
    subject = " ".join(fields.get("subject", "").split())[:300] or "unsubscribe"
    return (to, subject, fields.get("body", "")[:1000] or "unsubscribe") if to else None


def verdicts(headers: Sequence[str], trusted: str) -> AuthResults:
    """The results of the trusted server. Anyone can add such a header, so those of other servers are ignored.

    `ANY_SERVER` trusts the topmost header. It is for mailboxes, whose own server adds its header last.
    """
    for header in headers:
        content = _without_comments(header[:MAX_HEADER])
        by, _, results = content.partition(";")
        name = (by.split() or [""])[0].lower()
        if trusted in (ANY_SERVER, name) and name:
            return _verdicts(name, results)
        if trusted == ANY_SERVER:
            break
    return AuthResults()


def _verdicts(by: str, results: str) -> AuthResults:
    results_by_method: dict[str, str] = {}
    for method, result in _RESULT.findall(results.lower()):
        if results_by_method.get(method) != "pass":  # one valid signature is enough
            results_by_method[method] = result
    return AuthResults(by[:200], **results_by_method)


def _without_comments(text: str) -> str:
    for _ in range(_MAX_COMMENT_DEPTH):
        shorter = _COMMENT.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text


def _is_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)


# --- Confirmation mails

MAX_WORDS = 500
"""Confirmation mails are short; a longer mail that mentions confirming is a regular issue."""
_SEARCHED_LENGTH = 4_000
_MAX_LABEL_LENGTH = 80

_CONFIRMATION_REQUEST = re.compile(
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
_CONFIRMATION_LABEL = re.compile(
    r"\b(?:confirm\w*|verify|activate|validate|subscribe me|yes,? .{0,20}subscribe|opt[- ]?in|"
    r"best(?:ä|ae)tig\w*|valider|conferm\w*|bevestig\w*|bekräfta|bekræft|potwierd\w*|"
    r"anmeldung abschließen)\b",
    re.IGNORECASE,
)
_CONFIRMATION_URL = re.compile(
    r"confirm|verif|activat|opt-?in|subscri(?:be|ption)|double-?opt|bestaetig", re.IGNORECASE
)
_UNSUBSCRIBE = re.compile(
    r"unsubscri|opt-?out|abmeld|abbestell|désabonn|desabonn|darse de baja|disiscri|afmeld", re.IGNORECASE
)


@record
class ConfirmationLink:
    url: str
    text: str


def find_confirmation(subject: str, text: str, links: Sequence[ConfirmationLink], words: int) -> Confirmation | None:
    """The confirmation link, if the mail asks for a confirmation and contains one."""
    if words > MAX_WORDS or not (
        _CONFIRMATION_REQUEST.search(subject) or _CONFIRMATION_REQUEST.search(text[:_SEARCHED_LENGTH])
    ):
        return None
    candidates = [link for link in links if not _UNSUBSCRIBE.search(link.text) and not _UNSUBSCRIBE.search(link.url)]
    best = next((link for link in candidates if _CONFIRMATION_LABEL.search(link.text[:200])), None) or next(
        (link for link in candidates if _CONFIRMATION_URL.search(link.url)), None
    )
    if best is None:
        return None
    label = " ".join(best.text.split())
    shown_label = label if label and "://" not in label else ""
    return Confirmation(best.url, shown_label[:_MAX_LABEL_LENGTH])


# --- IMAP mailboxes

LOGIN_TEST_UID = 2**32
"""No mail has a higher UID: a check from here on only tests the login."""

MailboxSecurity = Literal["tls", "starttls", "none"]


@record
class MailboxLogin:
    host: str
    port: int
    security: MailboxSecurity
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
    reason: Failure
