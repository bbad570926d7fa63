"""Mails that a provider posts: checked for who sent them, then received like any other."""

import hmac
from collections.abc import Mapping
from typing import Any, NoReturn

import structlog

from reedbed.domain.errors import Forbidden, NotFound, Unavailable
from reedbed.domain.fetching import Fetched, FetchRequest
from reedbed.domain.limits import Allowance
from reedbed.domain.newsletters import NotAMail
from reedbed.ingest.mail import mailgun, postmark, sns
from reedbed.services.limits import network_of, spend
from reedbed.services.newsletters import Delivery, Received, Refused, receive
from reedbed.services.runtime import Runtime

log = structlog.get_logger()

FORGED = "The request is not signed by whom it should be."
CLOSED = "This door is closed: its operator has not set it up."
FORGERIES = Allowance(20, 1 / 10)
"""From one address, before it has to wait."""
_CERTIFICATES: dict[str, bytes] = {}
_MOST_CERTIFICATES = 8


async def check_token(runtime: Runtime, given: str, ip: str | None) -> None:
    """Before the body is read."""
    wanted = runtime.mail.webhook_token
    if not wanted:
        raise NotFound(CLOSED)
    if not hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace")):
        await _refuse(runtime, "token", ip)


async def from_raw(runtime: Runtime, recipients: tuple[str, ...], raw: bytes) -> Received | Refused:
    return await receive(runtime, Delivery("raw", recipients, believed=runtime.mail.authserv_id), raw)


async def from_postmark(runtime: Runtime, told: dict[str, Any]) -> Received | Refused:
    key = told.get("MessageID")
    delivery = Delivery(
        "postmark",
        postmark.recipients(told),
        key=key if isinstance(key, str) and key else None,
        verdicts=postmark.verdicts(told),
    )
    raw = postmark.raw_mail(told)
    mail = postmark.read_postmark(told) if raw is None else raw
    return (
        Refused("unreadable", mail.reason)
        if isinstance(mail, NotAMail)
        else await receive(runtime, delivery, mail)
    )


async def from_mailgun(
    runtime: Runtime, fields: Mapping[str, str], files: Mapping[str, bytes], ip: str | None
) -> Received | Refused:
    key = runtime.mail.mailgun_key
    if not key:
        raise NotFound(CLOSED)
    if not mailgun.is_signed(fields, key, runtime.now()):
        await _refuse(runtime, "mailgun", ip)
    delivery = Delivery(
        "mailgun", mailgun.recipients(fields), key=fields["token"], verdicts=mailgun.verdicts(fields)
    )
    whole = files.get(mailgun.WHOLE_MAIL)
    if whole:
        return await receive(runtime, delivery, whole)
    mail = mailgun.read_mailgun(fields, files)
    return (
        Refused("unreadable", mail.reason)
        if isinstance(mail, NotAMail)
        else await receive(runtime, delivery, mail)
    )


async def from_ses(runtime: Runtime, body: bytes, ip: str | None) -> Received | Refused:
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
        return Refused("spam", "Amazon found spam or a virus in the mail.")
    delivery = Delivery("ses", found.recipients, key=told.id, verdicts=found.verdicts)
    return await receive(runtime, delivery, found.raw)


async def _is_amazons(runtime: Runtime, told: sns.Notification) -> bool:
    certificate = _CERTIFICATES.get(told.certificate_url)
    if certificate is None:
        certificate = await _fetch_certificate(runtime, told.certificate_url)
    return sns.is_signed(told, certificate)


async def _fetch_certificate(runtime: Runtime, url: str) -> bytes:
    got = await runtime.fetcher.fetch(FetchRequest(url, max_bytes=sns.MAX_CERTIFICATE))
    if not isinstance(got, Fetched) or not sns.is_amazon(got.url):
        raise Unavailable("Amazon's certificate could not be read. Send it again later.")
    while len(_CERTIFICATES) >= _MOST_CERTIFICATES:
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
