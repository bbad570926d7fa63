"""Read mails that Mailgun, Postmark and Amazon SES (through SNS) deliver by webhook, and check their
signatures.
"""

import hmac
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from reedbed.domain.newsletters import AuthResults, InvalidMail, Mail
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import HOUR, SECOND, Instant
from reedbed.ingest.mail.message import (
    MAX_TEXT,
    ImageSet,
    decode_address_list,
    is_spam,
    mailbox,
    message_id,
    moment_of,
    readable,
)

_MAX_RECIPIENTS = 100

# --- Mailgun

MAILGUN_RAW_FIELD = "body-mime"
OLDEST = 12 * HOUR
"""Mailgun retries for eight hours."""
_MAX_CLOCK_SKEW = HOUR // 4


def is_mailgun_signed(fields: Mapping[str, str], key: str, now: Instant) -> bool:
    """Whether the signature matches the key and is recent."""
    timestamp, token = fields.get("timestamp", ""), fields.get("token", "")
    expected = hmac.new(key.encode(), f"{timestamp}{token}".encode(), sha256).hexdigest()
    signature = fields.get("signature", "").lower()
    if not token or not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
        return False
    age = (
        now - int(timestamp) * SECOND
        if timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12
        else OLDEST + 1
    )
    return -_MAX_CLOCK_SKEW <= age <= OLDEST


def mailgun_recipients(fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(recipient.strip() for recipient in fields.get("recipient", "").split(",")[:_MAX_RECIPIENTS])


def read_mailgun(fields: Mapping[str, str], files: Mapping[str, bytes]) -> Mail | InvalidMail:
    headers = list(_mailgun_headers(fields.get("message-headers", "")))
    by_name = {name.lower(): value for name, value in reversed(headers)}
    name, address = mailbox(fields.get("from", "") or fields.get("sender", ""))
    if not address:
        return InvalidMail("The mail does not say who sent it.")
    images = ImageSet()
    for cid, field in _parse_json(fields.get("content-id-map", ""), dict).items():
        images.add(str(cid), files.get(str(field), b""))
    return Mail(
        sender=address,
        sender_name=name,
        subject=readable(fields.get("subject", "")),
        message_id=message_id(fields.get("Message-Id", "") or by_name.get("message-id", "")),
        sent_at=moment_of(fields.get("Date", "") or by_name.get("date", "")),
        html=_body_text(fields.get("body-html", "")),
        text=_body_text(fields.get("body-plain", "")),
        pictures=images.pictures(),
        list_unsubscribe=decode_address_list(by_name.get("list-unsubscribe", "")),
        list_unsubscribe_post=readable(by_name.get("list-unsubscribe-post", "")),
        spam=is_spam(headers) or is_spam(fields.items()),
    )


def mailgun_auth_results(fields: Mapping[str, str]) -> AuthResults:
    spf, dkim = fields.get("X-Mailgun-Spf", ""), fields.get("X-Mailgun-Dkim-Check-Result", "")
    return AuthResults("mailgun", spf=spf.lower()[:12], dkim=dkim.lower()[:12])


def _mailgun_headers(text: str) -> Iterable[tuple[str, str]]:
    for pair in _parse_json(text, list):
        if isinstance(pair, list):
            values = [str(value) for value in cast(list[Any], pair)[:2]]
            if len(values) == 2:
                yield values[0], values[1]


def _parse_json(text: str | bytes, kind: type[Any]) -> Any:
    """An empty `kind` if the text is not JSON of this type."""
    try:
        value = orjson.loads(text) if text else kind()
    except orjson.JSONDecodeError:
        return kind()
    return value if isinstance(value, kind) else kind()


def _body_text(text: str) -> str:
    return storable(text[:MAX_TEXT]).replace("\r\n", "\n")


# --- Postmark

_MAX_HEADERS = 1_000


def postmark_recipients(payload: dict[str, Any]) -> tuple[str, ...]:
    """The address the mail was delivered to; To may list others."""
    original = _text(payload, "OriginalRecipient")
    if original:
        return (original,)
    full = [*_list(payload, "ToFull"), *_list(payload, "CcFull"), *_list(payload, "BccFull")]
    return tuple(_text(person, "Email") for person in full[:_MAX_RECIPIENTS])


def raw_mail(payload: dict[str, Any]) -> bytes | None:
    raw = _text(payload, "RawEmail")
    return raw.encode("utf-8", "surrogateescape") if raw else None


def read_postmark(payload: dict[str, Any]) -> Mail | InvalidMail:
    headers = [(_text(header, "Name"), _text(header, "Value")) for header in _list(payload, "Headers")[:_MAX_HEADERS]]
    by_name = {name.lower(): value for name, value in reversed(headers)}
    full = payload.get("FromFull")
    sender = cast(dict[str, Any], full) if isinstance(full, dict) else {}
    name, address = mailbox(_text(payload, "From"))
    address = _text(sender, "Email") or address
    if not address:
        return InvalidMail("The mail does not say who sent it.")
    images = ImageSet()
    for attachment in _list(payload, "Attachments"):
        cid = _text(attachment, "ContentID").removeprefix("cid:")
        images.add(cid, _decode_base64(_text(attachment, "Content")))
    return Mail(
        sender=address,
        sender_name=readable(_text(sender, "Name")) or name,
        subject=readable(_text(payload, "Subject")),
        message_id=message_id(by_name.get("message-id", "")),
        sent_at=moment_of(_text(payload, "Date")),
        html=_body_text(_text(payload, "HtmlBody")),
        text=_body_text(_text(payload, "TextBody")),
        pictures=images.pictures(),
        list_unsubscribe=decode_address_list(by_name.get("list-unsubscribe", "")),
        list_unsubscribe_post=readable(by_name.get("list-unsubscribe-post", "")),
        auth_results=tuple(readable(value) for key, value in headers if key.lower() == "authentication-results"),
        spam=is_spam(headers),
    )


def postmark_auth_results(payload: dict[str, Any]) -> AuthResults:
    """Postmark writes its own SPF result into the topmost Received-SPF header."""
    received_spf = next(
        (
            _text(header, "Value")
            for header in _list(payload, "Headers")
            if _text(header, "Name").lower() == "received-spf"
        ),
        "",
    )
    return AuthResults("postmark", spf=(received_spf.split() or [""])[0].lower()[:12])


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _list(fields: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = fields.get(name)
    if not isinstance(value, list):
        return []
    return [cast(dict[str, Any], item) for item in cast(list[Any], value) if isinstance(item, dict)]


def _decode_base64(text: str) -> bytes:
    try:
        return b64decode(text)
    except (BadBase64, ValueError):
        return b""


# --- Amazon SES and SNS

_SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    "UnsubscribeConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")
MAX_CERTIFICATE = 64 * 1024


@record
class Notification:
    kind: str
    id: str
    topic: str
    message: str
    subscribe_url: str
    certificate_url: str
    fields: dict[str, str]


@record
class SesMail:
    recipients: tuple[str, ...]
    raw: bytes
    verdicts: AuthResults
    spam: bool


def read_notification(body: bytes) -> Notification | None:
    """None if it is not a notification, or its certificate URL is not Amazon's."""
    document: dict[Any, Any] = _parse_json(body, dict)
    fields = {str(name): value for name, value in document.items() if isinstance(value, str)}
    kind, certificate = fields.get("Type", ""), fields.get("SigningCertURL", "")
    if kind not in _SIGNED or not is_amazon(certificate) or not fields.get("MessageId"):
        return None
    return Notification(
        kind,
        fields["MessageId"],
        fields.get("TopicArn", ""),
        fields.get("Message", ""),
        fields.get("SubscribeURL", ""),
        certificate,
        fields,
    )


def is_amazon(url: str) -> bool:
    """Whether this is an https URL of SNS itself."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    plain = parts.scheme == "https" and port in (None, 443) and "@" not in parts.netloc
    return plain and host.startswith("sns.") and host.endswith(_AMAZON)


def is_sns_signed(notification: Notification, certificate: bytes) -> bool:
    # Imported here because these libraries take seven megabytes.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256
    from cryptography.x509 import load_pem_x509_certificate

    # Signature version 1 uses SHA-1; a topic can be configured for version 2.
    method = SHA256() if notification.fields.get("SignatureVersion") == "2" else SHA1()  # noqa: S303  see above
    try:
        key = load_pem_x509_certificate(certificate).public_key()
        signature = b64decode(notification.fields.get("Signature", ""))
        if not isinstance(key, RSAPublicKey):
            return False
        key.verify(signature, _signed_text(notification), PKCS1v15(), method)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_ses(message: str) -> SesMail | None:
    """None if the notification contains no mail."""
    payload: dict[str, Any] = _parse_json(message, dict)
    receipt = _object(payload.get("receipt"))
    content = payload.get("content")
    if payload.get("notificationType") != "Received" or not isinstance(content, str):
        return None
    encoding = str(_object(receipt.get("action")).get("encoding", "UTF8"))
    try:
        raw = b64decode(content) if encoding.upper() == "BASE64" else content.encode("utf-8", "surrogatepass")
    except ValueError:
        return None
    value = receipt.get("recipients")
    recipients = cast(list[Any], value)[:_MAX_RECIPIENTS] if isinstance(value, list) else []
    return SesMail(
        tuple(recipient for recipient in recipients if isinstance(recipient, str)),
        raw,
        AuthResults("amazonses.com", *(_verdict(receipt, name) for name in ("spf", "dkim", "dmarc"))),
        any(_verdict(receipt, name) == "fail" for name in ("spam", "virus")),
    )


def _signed_text(notification: Notification) -> bytes:
    fields = notification.fields
    lines = [f"{name}\n{fields[name]}\n" for name in _SIGNED[notification.kind] if name in fields]
    return "".join(lines).encode("utf-8", "replace")


def _verdict(receipt: dict[str, Any], name: str) -> str:
    return str(_object(receipt.get(f"{name}Verdict")).get("status", "")).lower()[:12]


def _object(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
