"""Channels that newsletters arrive through: the SMTP server, webhooks of mail services, IMAP mailboxes."""

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NoReturn

import structlog

from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.newsletters import (
    ANY_SERVER,
    LOGIN_TEST_UID,
    MAX_MAILBOXES,
    InvalidMail,
    Mail,
    MailboxFailure,
    MailboxLogin,
    MailboxMail,
    MailboxResult,
    MailboxSecurity,
    MailIntake,
)
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest
from reedbed.domain.text import storable
from reedbed.domain.times import HOUR, MINUTE, Millis
from reedbed.domain.users import Allowance, per_minute
from reedbed.ingest.mail import webhooks
from reedbed.services.newsletters.receive import MailDelivery, MailRejected, Received, accepts, receive
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, spend
from reedbed.store.newsletters import mailboxes
from reedbed.store.newsletters.mailboxes import Mailbox

log = structlog.get_logger()

# --- SMTP

_REPLIES = {
    "unknown": "550 5.1.1 {}",
    "large": "552 5.3.4 {}",
    "unreadable": "554 5.6.0 {}",
    "spam": "550 5.7.1 {}",
    "blocked": "550 5.7.1 {}",
    "full": "452 4.2.2 {}",
    "busy": "450 4.7.1 {}",
}


async def open_mail_intake(runtime: Runtime, intake: MailIntake) -> asyncio.AbstractServer:
    """Start the SMTP server. Raises OSError if the port is taken or the certificate is unreadable."""
    # Imported here so that the library is only loaded if SMTP is enabled.
    from reedbed.ingest.mail.smtp import MailReceiver, listen

    receiver = MailReceiver(
        admits=lambda peer: _admits(runtime, intake, peer),
        knows=lambda recipient: accepts(runtime, recipient),
        takes=lambda recipients, raw: _receive_smtp(runtime, recipients, raw),
    )
    return await listen(intake, receiver, hostname=runtime.mail.domain, max_bytes=runtime.mail.max_bytes)


async def _admits(runtime: Runtime, intake: MailIntake, peer: str) -> bool:
    return await runtime.limiter.wait_for(f"mail-from:{peer}", per_minute(intake.per_minute)) == 0


async def _receive_smtp(runtime: Runtime, recipients: Sequence[str], raw: bytes) -> str:
    delivery = MailDelivery("smtp", tuple(recipients), believed=runtime.mail.authserv_id)
    try:
        outcome = await receive(runtime, delivery, raw)
    except Unavailable as error:
        log.warning("a mail waits for the database", error=error.message)
        return "451 4.3.0 Try again later."
    if isinstance(outcome, MailRejected):
        return _REPLIES[outcome.why].format(outcome.reason)
    return "250 2.0.0 Stored."


# --- Webhooks of mail services

FORGED = "The signature of the request is not valid."
NOT_SET_UP = "Mail is not accepted here: the operator has not set it up."
FORGERIES = Allowance(20, 1 / 10)
"""Forged requests from one network before it is rate limited."""
_CERTIFICATES: dict[str, bytes] = {}
_MAX_CERTIFICATES = 8


async def check_token(runtime: Runtime, token: str, ip: str | None) -> None:
    """Check the webhook token, before the body is read."""
    expected = runtime.mail.webhook_token
    if not expected:
        raise NotFound(NOT_SET_UP)
    if not hmac.compare_digest(expected.encode(), token.encode("utf-8", "replace")):
        await _reject_forged(runtime, "token", ip)


async def from_raw(runtime: Runtime, recipients: tuple[str, ...], raw: bytes) -> Received | MailRejected:
    return await receive(runtime, MailDelivery("raw", recipients, believed=runtime.mail.authserv_id), raw)


async def from_postmark(runtime: Runtime, message: dict[str, Any]) -> Received | MailRejected:
    key = message.get("MessageID")
    delivery = MailDelivery(
        "postmark",
        webhooks.postmark_recipients(message),
        key=key if isinstance(key, str) and key else None,
        verdicts=webhooks.postmark_auth_results(message),
    )
    raw = webhooks.raw_mail(message)
    mail = webhooks.read_postmark(message) if raw is None else raw
    return await _receive_parsed(runtime, delivery, mail)


async def from_mailgun(
    runtime: Runtime, fields: Mapping[str, str], files: Mapping[str, bytes], ip: str | None
) -> Received | MailRejected:
    key = runtime.mail.mailgun_key
    if not key:
        raise NotFound(NOT_SET_UP)
    if not webhooks.is_mailgun_signed(fields, key, runtime.now()):
        await _reject_forged(runtime, "mailgun", ip)
    recipients, verdicts = webhooks.mailgun_recipients(fields), webhooks.mailgun_auth_results(fields)
    delivery = MailDelivery("mailgun", recipients, key=fields["token"], verdicts=verdicts)
    raw = files.get(webhooks.MAILGUN_RAW_FIELD)
    if raw:
        return await receive(runtime, delivery, raw)
    mail = webhooks.read_mailgun(fields, files)
    return await _receive_parsed(runtime, delivery, mail)


async def _receive_parsed(
    runtime: Runtime, delivery: MailDelivery, mail: bytes | Mail | InvalidMail
) -> Received | MailRejected:
    if isinstance(mail, InvalidMail):
        return MailRejected("unreadable", mail.reason)
    return await receive(runtime, delivery, mail)


async def from_ses(runtime: Runtime, body: bytes, ip: str | None) -> Received | MailRejected:
    if not runtime.mail.ses_topics:
        raise NotFound(NOT_SET_UP)
    notification = webhooks.read_notification(body)
    if (
        notification is None
        or notification.topic not in runtime.mail.ses_topics
        or not await _is_signed_by_amazon(runtime, notification)
    ):
        await _reject_forged(runtime, "ses", ip)
    if notification.kind == "SubscriptionConfirmation":
        await _confirm(runtime, notification)
        return Received()
    received = webhooks.read_ses(notification.message) if notification.kind == "Notification" else None
    if received is None:
        return Received()
    if received.spam:
        return MailRejected("spam", "Amazon found spam or a virus in the mail.")
    delivery = MailDelivery("ses", received.recipients, key=notification.id, verdicts=received.verdicts)
    return await receive(runtime, delivery, received.raw)


async def _is_signed_by_amazon(runtime: Runtime, notification: webhooks.Notification) -> bool:
    certificate = _CERTIFICATES.get(notification.certificate_url)
    if certificate is None:
        certificate = await _fetch_certificate(runtime, notification.certificate_url)
    return webhooks.is_sns_signed(notification, certificate)


async def _fetch_certificate(runtime: Runtime, url: str) -> bytes:
    fetched = await runtime.fetcher.fetch(FetchRequest(url, max_bytes=webhooks.MAX_CERTIFICATE))
    if not isinstance(fetched, Fetched) or not webhooks.is_amazon(fetched.url):
        raise Unavailable("Amazon's certificate could not be read. Send it again later.")
    while len(_CERTIFICATES) >= _MAX_CERTIFICATES:
        _CERTIFICATES.pop(next(iter(_CERTIFICATES)))
    _CERTIFICATES[url] = fetched.body
    return fetched.body


async def _confirm(runtime: Runtime, notification: webhooks.Notification) -> None:
    """Confirm the subscription by fetching its URL. The topic is configured and Amazon signed the request."""
    if not webhooks.is_amazon(notification.subscribe_url):
        raise Forbidden(FORGED)
    fetched = await runtime.fetcher.fetch(FetchRequest(notification.subscribe_url, max_bytes=webhooks.MAX_CERTIFICATE))
    if not isinstance(fetched, Fetched):
        raise Unavailable("The subscription could not be confirmed. Send it again later.")
    log.info("a topic was confirmed", topic=notification.topic)


async def _reject_forged(runtime: Runtime, channel: str, ip: str | None) -> NoReturn:
    log.warning("a forged mail was refused", door=channel, ip=ip)
    await spend(runtime, f"forged-mail:{network_of(ip)}", FORGERIES, "Too many forged requests.")
    raise Forbidden(FORGED)


# --- Mailboxes (IMAP)

EVERY: Millis = 5 * MINUTE
MAX_WAIT: Millis = 6 * HOUR
LEASE: Millis = 10 * MINUTE
MAX_CONCURRENT = 4
_MAX_FIELD = 200
"""Three fields share one index, and PostgreSQL limits an index row to a third of a page."""
NO_SUCH = "There is no such mailbox."


@record
class MailboxOptions:
    host: str
    username: str
    password: str = field(repr=False)
    port: int = 993
    security: str = "tls"
    folder: str = "INBOX"


async def add_mailbox(runtime: Runtime, user_id: int, options: MailboxOptions) -> Mailbox:
    """Add a mailbox. It is checked first, so that the user sees typing errors at once."""
    login = _check_options(options)
    async with runtime.db.read() as tx:
        if await mailboxes.count_mailboxes(tx, user_id) >= MAX_MAILBOXES:
            raise Conflict("There can be at most %(limit)s mailboxes.", limit=MAX_MAILBOXES)
    result = await _read_mailbox(runtime, login, None, LOGIN_TEST_UID)
    if isinstance(result, MailboxFailure):
        raise Invalid(result.reason, field="host")
    async with runtime.db.write() as tx:
        mailbox = await mailboxes.add_mailbox(
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
    if mailbox is None:
        raise Conflict("This folder is being checked already.", field="folder")
    return mailbox


async def remove_mailbox(runtime: Runtime, user_id: int, mailbox_id: int) -> None:
    """The mailbox itself is not changed, and the entries from it stay."""
    async with runtime.db.write() as tx:
        if not await mailboxes.delete_mailbox(tx, user_id, mailbox_id):
            raise NotFound(NO_SUCH)


async def request_mailbox_check_now(runtime: Runtime, user_id: int, mailbox_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await mailboxes.request_mailbox_check(tx, user_id, mailbox_id, runtime.now()):
            raise NotFound(NO_SUCH)


async def check_due_mailboxes(runtime: Runtime) -> int:
    """Periodic task: check the due mailboxes, a few concurrently; return how many."""
    return sum(await asyncio.gather(*(_check_until_none_due(runtime) for _ in range(MAX_CONCURRENT))))


async def _check_until_none_due(runtime: Runtime) -> int:
    count = 0
    while True:
        now = runtime.now()
        async with runtime.db.write() as tx:
            mailbox = await mailboxes.claim_due_mailbox(tx, now, now + LEASE)
        if mailbox is None:
            return count
        await _check_safely(runtime, mailbox)
        count += 1


async def _check_safely(runtime: Runtime, box: Mailbox) -> None:
    """Check one mailbox. An unexpected error is recorded and must not block the other mailboxes."""
    try:
        await check_mailbox(runtime, box)
    except Unavailable:
        raise
    except Exception:
        log.exception("mailbox check failed unexpectedly", mailbox=box.id)
        await _record_failure(runtime, box, Failure(FailureCode.MAIL_UNREADABLE))


async def check_mailbox(runtime: Runtime, box: Mailbox) -> None:
    """Each mail is stored before its UID is recorded, so an interrupted check continues where it stopped."""
    if not box.password:
        return await _record_failure(runtime, box, Failure(FailureCode.SECRETS_LOST))
    validity, last_uid = box.uid_validity, box.last_uid
    while True:
        result = await _read_mailbox(runtime, _login(box), validity, last_uid)
        if isinstance(result, MailboxFailure):
            return await _record_failure(runtime, box, result.reason)
        for mail in result.mails:
            await _store_mail(runtime, box, result.uid_validity, mail)
            last_uid = mail.uid
        validity = result.uid_validity
        if not result.more or not result.mails:
            break
    now = runtime.now()
    async with runtime.db.write() as tx:
        await mailboxes.record_mailbox_check(tx, box.id, validity, now, now + EVERY)
    return None


async def _store_mail(runtime: Runtime, box: Mailbox, validity: int, mail: MailboxMail) -> None:
    outcome = None
    if mail.raw is not None:
        delivery = MailDelivery("imap", user_id=box.user_id, believed=ANY_SERVER)
        outcome = await receive(runtime, delivery, mail.raw)
    new = outcome.new if isinstance(outcome, Received) else 0
    async with runtime.db.write() as tx:
        await mailboxes.record_received(tx, box.id, validity, mail.uid, new)


async def _record_failure(runtime: Runtime, box: Mailbox, failure: Failure) -> None:
    log.info("a mailbox could not be checked", mailbox=box.id, reason=failure.message)
    now = runtime.now()
    wait = min(EVERY * 2 ** min(box.failures, 10), MAX_WAIT)
    async with runtime.db.write() as tx:
        await mailboxes.record_mailbox_failure(tx, box.id, failure, now, now + wait)


async def _read_mailbox(
    runtime: Runtime, login: MailboxLogin, validity: int | None, last_uid: int
) -> MailboxResult | MailboxFailure:
    # Imported here because it takes 30 ms, which only installations with mailboxes should pay.
    from reedbed.ingest.mail.imap import read_mailbox

    try:
        ip = await runtime.fetcher.look_up(login.host, login.port)
    except OSError as error:
        params = {"reason": error.strerror or str(error)}
        return MailboxFailure(Failure(FailureCode.MAILBOX_UNREACHABLE, params))
    return await asyncio.to_thread(
        read_mailbox, login, ip, uid_validity=validity, last_uid=last_uid, max_bytes=runtime.mail.max_bytes
    )


def _login(box: Mailbox) -> MailboxLogin:
    return MailboxLogin(box.host, box.port, _security(box.security), box.username, box.password, box.folder)


def _check_options(options: MailboxOptions) -> MailboxLogin:
    host, username, folder = (_single_line(value) for value in (options.host, options.username, options.folder))
    if not host or "/" in host:
        raise Invalid("Write the name of the mail server, like imap.example.org.", field="host")
    if not username:
        raise Invalid("A user name is required.", field="username")
    if not options.password or _single_line(options.password) != options.password.strip():
        raise Invalid("A password is required.", field="password")
    if not 1 <= options.port <= 65_535:
        raise Invalid("The port must be between 1 and 65535.", field="port")
    return MailboxLogin(host, options.port, _security(options.security), username, options.password, folder or "INBOX")


def _security(text: str) -> MailboxSecurity:
    if text == "tls" or text == "starttls" or text == "none":
        return text
    raise Invalid("security must be one of tls, starttls, none", field="security")


def _single_line(text: str) -> str:
    return " ".join(storable(text).split())[:_MAX_FIELD]
