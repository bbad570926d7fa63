"""Mailboxes: a folder of the user's own mail account, looked into for newsletters every few minutes."""

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NoReturn

import structlog

from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from reedbed.domain.newsletters import ANY_SERVER, MAX_MAILBOXES, MailIntake, NotAMail
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest
from reedbed.domain.text import ENTER_AGAIN, storable
from reedbed.domain.times import HOUR, MINUTE, Millis
from reedbed.domain.users import Allowance, per_minute
from reedbed.ingest.mail import webhooks as mailgun
from reedbed.ingest.mail import webhooks as postmark
from reedbed.ingest.mail import webhooks as sns
from reedbed.ingest.mail.mailbox import (
    ABOVE_ALL,
    MailboxFailure,
    MailboxLogin,
    MailboxMail,
    MailboxResult,
    Security,
)
from reedbed.services.newsletters.receive import MailDelivery, MailRejected, Received, accepts, receive
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, spend
from reedbed.store import newsletters
from reedbed.store.newsletters import Mailbox

log = structlog.get_logger()

_REPLIES = {
    "unknown": "550 5.1.1 {}",
    "large": "552 5.3.4 {}",
    "unreadable": "554 5.6.0 {}",
    "spam": "550 5.7.1 {}",
    "blocked": "550 5.7.1 {}",
    "full": "452 4.2.2 {}",
    "busy": "450 4.7.1 {}",
}


async def open_mail_intake(runtime: Runtime, door: MailIntake) -> asyncio.AbstractServer:
    """Raises OSError where the port cannot be had, or the certificate not be read."""
    # The server's library is only loaded where mail is taken.
    from reedbed.ingest.mail.smtp import MailReceiver, listen

    desk = MailReceiver(
        admits=lambda peer: _admits(runtime, door, peer),
        knows=lambda recipient: accepts(runtime, recipient),
        takes=lambda recipients, raw: _take(runtime, recipients, raw),
    )
    return await listen(door, desk, hostname=runtime.mail.domain, max_bytes=runtime.mail.max_bytes)


async def _admits(runtime: Runtime, door: MailIntake, peer: str) -> bool:
    return await runtime.limiter.wait_for(f"mail-from:{peer}", per_minute(door.per_minute)) == 0


async def _take(runtime: Runtime, recipients: Sequence[str], raw: bytes) -> str:
    delivery = MailDelivery("smtp", tuple(recipients), believed=runtime.mail.authserv_id)
    try:
        outcome = await receive(runtime, delivery, raw)
    except Unavailable as error:
        log.warning("a mail waits for the database", error=error.message)
        return "451 4.3.0 Try again later."
    if isinstance(outcome, MailRejected):
        return _REPLIES[outcome.why].format(outcome.reason)
    return "250 2.0.0 Stored."


FORGED = "The request is not signed by whom it should be."
CLOSED = "This door is closed: its operator has not set it up."
FORGERIES = Allowance(20, 1 / 10)
"""From one address, before it has to wait."""
_CERTIFICATES: dict[str, bytes] = {}
_MAX_CERTIFICATES = 8


async def check_token(runtime: Runtime, given: str, ip: str | None) -> None:
    """Before the body is read."""
    wanted = runtime.mail.webhook_token
    if not wanted:
        raise NotFound(CLOSED)
    if not hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace")):
        await _refuse(runtime, "token", ip)


async def from_raw(runtime: Runtime, recipients: tuple[str, ...], raw: bytes) -> Received | MailRejected:
    return await receive(runtime, MailDelivery("raw", recipients, believed=runtime.mail.authserv_id), raw)


async def from_postmark(runtime: Runtime, told: dict[str, Any]) -> Received | MailRejected:
    key = told.get("MessageID")
    delivery = MailDelivery(
        "postmark",
        postmark.postmark_recipients(told),
        key=key if isinstance(key, str) and key else None,
        verdicts=postmark.postmark_verdicts(told),
    )
    raw = postmark.raw_mail(told)
    mail = postmark.read_postmark(told) if raw is None else raw
    return (
        MailRejected("unreadable", mail.reason)
        if isinstance(mail, NotAMail)
        else await receive(runtime, delivery, mail)
    )


async def from_mailgun(
    runtime: Runtime, fields: Mapping[str, str], files: Mapping[str, bytes], ip: str | None
) -> Received | MailRejected:
    key = runtime.mail.mailgun_key
    if not key:
        raise NotFound(CLOSED)
    if not mailgun.is_mailgun_signed(fields, key, runtime.now()):
        await _refuse(runtime, "mailgun", ip)
    delivery = MailDelivery(
        "mailgun",
        mailgun.mailgun_recipients(fields),
        key=fields["token"],
        verdicts=mailgun.mailgun_verdicts(fields),
    )
    whole = files.get(mailgun.WHOLE_MAIL)
    if whole:
        return await receive(runtime, delivery, whole)
    mail = mailgun.read_mailgun(fields, files)
    return (
        MailRejected("unreadable", mail.reason)
        if isinstance(mail, NotAMail)
        else await receive(runtime, delivery, mail)
    )


async def from_ses(runtime: Runtime, body: bytes, ip: str | None) -> Received | MailRejected:
    if not runtime.mail.ses_topics:
        raise NotFound(CLOSED)
    told = sns.read_notification(body)
    if told is None or told.topic not in runtime.mail.ses_topics or not await _is_amazons(runtime, told):
        await _refuse(runtime, "ses", ip)
    if told.kind == "SubscriptionConfirmation":
        await _confirm(runtime, told)
        return Received()
    found = sns.read_ses(told.message) if told.kind == "Notification" else None
    if found is None:
        return Received()
    if found.spam:
        return MailRejected("spam", "Amazon found spam or a virus in the mail.")
    delivery = MailDelivery("ses", found.recipients, key=told.id, verdicts=found.verdicts)
    return await receive(runtime, delivery, found.raw)


async def _is_amazons(runtime: Runtime, told: sns.Notification) -> bool:
    certificate = _CERTIFICATES.get(told.certificate_url)
    if certificate is None:
        certificate = await _fetch_certificate(runtime, told.certificate_url)
    return sns.is_sns_signed(told, certificate)


async def _fetch_certificate(runtime: Runtime, url: str) -> bytes:
    got = await runtime.fetcher.fetch(FetchRequest(url, max_bytes=sns.MAX_CERTIFICATE))
    if not isinstance(got, Fetched) or not sns.is_amazon(got.url):
        raise Unavailable("Amazon's certificate could not be read. Send it again later.")
    while len(_CERTIFICATES) >= _MAX_CERTIFICATES:
        _CERTIFICATES.pop(next(iter(_CERTIFICATES)))
    _CERTIFICATES[url] = got.body
    return got.body


async def _confirm(runtime: Runtime, told: sns.Notification) -> None:
    """The operator named this topic, and Amazon signed the request: the answer is its own address."""
    if not sns.is_amazon(told.subscribe_url):
        raise Forbidden(FORGED)
    got = await runtime.fetcher.fetch(FetchRequest(told.subscribe_url, max_bytes=sns.MAX_CERTIFICATE))
    if not isinstance(got, Fetched):
        raise Unavailable("The subscription could not be confirmed. Send it again later.")
    log.info("a topic was confirmed", topic=told.topic)


async def _refuse(runtime: Runtime, door: str, ip: str | None) -> NoReturn:
    log.warning("a forged mail was refused", door=door, ip=ip)
    await spend(runtime, f"forged-mail:{network_of(ip)}", FORGERIES, "Too many forged requests.")
    raise Forbidden(FORGED)


EVERY: Millis = 5 * MINUTE
MAX_WAIT: Millis = 6 * HOUR
LEASE: Millis = 10 * MINUTE
AT_ONCE = 4
_MAX_FIELD = 200
"""Three of them in one index: PostgreSQL takes no more than a third of a page."""
NO_SUCH = "There is no such mailbox."


@record
class MailboxOptions:
    host: str
    username: str
    password: str = field(repr=False)
    port: int = 993
    security: str = "tls"
    folder: str = "INBOX"


async def add_mailbox(runtime: Runtime, user_id: int, wish: MailboxOptions) -> Mailbox:
    """Tried before it is kept, so that a typing error is seen by who made it."""
    login = _checked(wish)
    async with runtime.db.read() as tx:
        if await newsletters.count_mailboxes(tx, user_id) >= MAX_MAILBOXES:
            raise Conflict(f"There can be at most {MAX_MAILBOXES} mailboxes.")
    looked = await _look(runtime, login, None, ABOVE_ALL)
    if isinstance(looked, MailboxFailure):
        raise Invalid(looked.reason, field="host")
    async with runtime.db.write() as tx:
        made = await newsletters.add_mailbox(
            tx,
            user_id,
            host=login.host,
            port=login.port,
            security=login.security,
            username=login.username,
            password=login.password,
            folder=login.folder,
            now=runtime.now(),
        )
    if made is None:
        raise Conflict("This folder is being looked into already.", field="folder")
    return made


async def remove_mailbox(runtime: Runtime, user_id: int, mailbox_id: int) -> None:
    """Nothing in the mailbox changes, and what came from it stays."""
    async with runtime.db.write() as tx:
        if not await newsletters.delete_mailbox(tx, user_id, mailbox_id):
            raise NotFound(NO_SUCH)


async def ask_for_look(runtime: Runtime, user_id: int, mailbox_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await newsletters.request_mailbox_check(tx, user_id, mailbox_id, runtime.now()):
            raise NotFound(NO_SUCH)


async def check_due_mailboxes(runtime: Runtime) -> int:
    """A chore: how many were looked into, a few side by side."""
    return sum(await asyncio.gather(*(_check_some(runtime) for _ in range(AT_ONCE))))


async def _check_some(runtime: Runtime) -> int:
    looked = 0
    while True:
        now = runtime.now()
        async with runtime.db.write() as tx:
            due = await newsletters.claim_due_mailbox(tx, now, now + LEASE)
        if due is None:
            return looked
        await _check(runtime, due)
        looked += 1


async def _check(runtime: Runtime, box: Mailbox) -> None:
    """A mailbox with which something is wrong must not stand in the way of the others."""
    try:
        await check_mailbox(runtime, box)
    except Unavailable:
        raise
    except Exception:
        log.exception("looking into a mailbox broke down", mailbox=box.id)
        await _note_trouble(runtime, box, "A mail in it could not be read.")


async def check_mailbox(runtime: Runtime, box: Mailbox) -> None:
    """Each mail is stored before it is counted as had: whatever breaks off is taken up again."""
    if not box.password:
        return await _note_trouble(runtime, box, ENTER_AGAIN)
    validity, last_uid = box.uid_validity, box.last_uid
    while True:
        found = await _look(runtime, _login(box), validity, last_uid)
        if isinstance(found, MailboxFailure):
            return await _note_trouble(runtime, box, found.reason)
        for mail in found.mails:
            await _claim_mailboxes(runtime, box, found.uid_validity, mail)
            last_uid = mail.uid
        validity = found.uid_validity
        if not found.more or not found.mails:
            break
    now = runtime.now()
    async with runtime.db.write() as tx:
        await newsletters.record_mailbox_check(tx, box.id, validity, now, now + EVERY)
    return None


async def _claim_mailboxes(runtime: Runtime, box: Mailbox, validity: int, mail: MailboxMail) -> None:
    outcome = None
    if mail.raw is not None:
        delivery = MailDelivery("imap", user_id=box.user_id, believed=ANY_SERVER)
        outcome = await receive(runtime, delivery, mail.raw)
    new = outcome.new if isinstance(outcome, Received) else 0
    async with runtime.db.write() as tx:
        await newsletters.record_received(tx, box.id, validity, mail.uid, new)


async def _note_trouble(runtime: Runtime, box: Mailbox, reason: str) -> None:
    log.info("a mailbox could not be looked into", mailbox=box.id, reason=reason)
    now = runtime.now()
    wait = min(EVERY * 2 ** min(box.failures, 10), MAX_WAIT)
    async with runtime.db.write() as tx:
        await newsletters.record_mailbox_failure(tx, box.id, reason, now, now + wait)


async def _look(
    runtime: Runtime, login: MailboxLogin, validity: int | None, last_uid: int
) -> MailboxResult | MailboxFailure:
    # The client takes a thirtieth of a second to load, which only those pay who have a mailbox.
    from reedbed.ingest.mail.imap import look_into_mailbox

    try:
        address = await runtime.fetcher.look_up(login.host, login.port)
    except OSError as error:
        return MailboxFailure(f"The mail server could not be reached: {error.strerror or error}")
    return await asyncio.to_thread(
        look_into_mailbox,
        login,
        address,
        uid_validity=validity,
        last_uid=last_uid,
        max_bytes=runtime.mail.max_bytes,
    )


def _login(box: Mailbox) -> MailboxLogin:
    return MailboxLogin(box.host, box.port, _security(box.security), box.username, box.password, box.folder)


def _checked(wish: MailboxOptions) -> MailboxLogin:
    host, username, folder = (_line(value) for value in (wish.host, wish.username, wish.folder))
    if not host or "/" in host:
        raise Invalid("Write the name of the mail server, like imap.example.org.", field="host")
    if not username:
        raise Invalid("A user name is required.", field="username")
    if not wish.password or _line(wish.password) != wish.password.strip():
        raise Invalid("A password is required.", field="password")
    if not 1 <= wish.port <= 65_535:
        raise Invalid("The port must be between 1 and 65535.", field="port")
    return MailboxLogin(host, wish.port, _security(wish.security), username, wish.password, folder or "INBOX")


def _security(text: str) -> Security:
    if text == "tls" or text == "starttls" or text == "none":
        return text
    raise Invalid("security must be one of tls, starttls, none", field="security")


def _line(text: str) -> str:
    return " ".join(storable(text).split())[:_MAX_FIELD]
