"""Mails from Amazon SES, as signed notifications of Amazon SNS."""

import hmac
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from reedbed.domain.newsletters import Mail, NotAMail, Verdicts
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import HOUR, SECOND, Instant
from reedbed.ingest.mail.message import (
    MAX_TEXT,
    ImageSet,
    is_spam,
    mailbox,
    message_id,
    moment_of,
    readable,
    readable_list,
)

WHOLE_MAIL = "body-mime"
OLDEST = 12 * HOUR
"""Mailgun tries for eight hours."""
_EARLY = HOUR // 4


def is_mailgun_signed(fields: Mapping[str, str], key: str, now: Instant) -> bool:
    """By whoever knows the key, and not long ago."""
    stamp, token = fields.get("timestamp", ""), fields.get("token", "")
    wanted = hmac.new(key.encode(), f"{stamp}{token}".encode(), sha256).hexdigest()
    given = fields.get("signature", "").lower()
    if not token or not hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace")):
        return False
    age = now - int(stamp) * SECOND if stamp.isascii() and stamp.isdigit() and len(stamp) < 12 else OLDEST + 1
    return -_EARLY <= age <= OLDEST


def mailgun_recipients(fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(each.strip() for each in fields.get("recipient", "").split(",")[:100])


def read_mailgun(fields: Mapping[str, str], files: Mapping[str, bytes]) -> Mail | NotAMail:
    headers = list(_headers(fields.get("message-headers", "")))
    by_name = {name.lower(): value for name, value in reversed(headers)}
    name, address = mailbox(fields.get("from", "") or fields.get("sender", ""))
    if not address:
        return NotAMail("The mail does not say who sent it.")
    album = ImageSet()
    for cid, field in _json_of(fields.get("content-id-map", ""), dict).items():
        album.add(str(cid), files.get(str(field), b""))
    return Mail(
        sender=address,
        sender_name=name,
        subject=readable(fields.get("subject", "")),
        message_id=message_id(fields.get("Message-Id", "") or by_name.get("message-id", "")),
        sent_at=moment_of(fields.get("Date", "") or by_name.get("date", "")),
        html=_body(fields, "body-html"),
        text=_body(fields, "body-plain"),
        pictures=album.pictures(),
        list_unsubscribe=readable_list(by_name.get("list-unsubscribe", "")),
        list_unsubscribe_post=readable(by_name.get("list-unsubscribe-post", "")),
        spam=is_spam(headers) or is_spam(fields.items()),
    )


def mailgun_verdicts(fields: Mapping[str, str]) -> Verdicts:
    spf, dkim = fields.get("X-Mailgun-Spf", ""), fields.get("X-Mailgun-Dkim-Check-Result", "")
    return Verdicts("mailgun", spf=spf.lower()[:12], dkim=dkim.lower()[:12])


def _headers(text: str) -> Iterable[tuple[str, str]]:
    for pair in _json_of(text, list):
        if isinstance(pair, list):
            values = [str(each) for each in cast(list[Any], pair)[:2]]
            if len(values) == 2:
                yield values[0], values[1]


def _json_of(text: str, kind: type[Any]) -> Any:
    try:
        found = orjson.loads(text) if text else kind()
    except orjson.JSONDecodeError:
        return kind()
    return found if isinstance(found, kind) else kind()


def _body(fields: Mapping[str, str], name: str) -> str:
    return storable(fields.get(name, "")[:MAX_TEXT]).replace("\r\n", "\n")


_MAX_HEADERS = 1_000
_MAX_RECIPIENTS = 100


def postmark_recipients(told: dict[str, Any]) -> tuple[str, ...]:
    """The address the mail was delivered to; To may name others."""
    original = _text(told, "OriginalRecipient")
    if original:
        return (original,)
    full = [*_list(told, "ToFull"), *_list(told, "CcFull"), *_list(told, "BccFull")]
    return tuple(_text(each, "Email") for each in full[:_MAX_RECIPIENTS])


def raw_mail(told: dict[str, Any]) -> bytes | None:
    raw = _text(told, "RawEmail")
    return raw.encode("utf-8", "surrogateescape") if raw else None


def read_postmark(told: dict[str, Any]) -> Mail | NotAMail:
    headers = [(_text(each, "Name"), _text(each, "Value")) for each in _list(told, "Headers")[:_MAX_HEADERS]]
    by_name = {name.lower(): value for name, value in reversed(headers)}
    full = told.get("FromFull")
    sender = cast(dict[str, Any], full) if isinstance(full, dict) else {}
    name, address = mailbox(_text(told, "From"))
    address = _text(sender, "Email") or address
    if not address:
        return NotAMail("The mail does not say who sent it.")
    album = ImageSet()
    for each in _list(told, "Attachments"):
        album.add(_text(each, "ContentID").removeprefix("cid:"), _unpacked(_text(each, "Content")))
    return Mail(
        sender=address,
        sender_name=readable(_text(sender, "Name")) or name,
        subject=readable(_text(told, "Subject")),
        message_id=message_id(by_name.get("message-id", "")),
        sent_at=moment_of(_text(told, "Date")),
        html=_postmark_body(told, "HtmlBody"),
        text=_postmark_body(told, "TextBody"),
        pictures=album.pictures(),
        list_unsubscribe=readable_list(by_name.get("list-unsubscribe", "")),
        list_unsubscribe_post=readable(by_name.get("list-unsubscribe-post", "")),
        auth_results=tuple(
            readable(value) for key, value in headers if key.lower() == "authentication-results"
        ),
        spam=is_spam(headers),
    )


def postmark_verdicts(told: dict[str, Any]) -> Verdicts:
    """Postmark writes its own SPF finding into Received-SPF, the topmost."""
    said = next(
        (
            _text(each, "Value")
            for each in _list(told, "Headers")
            if _text(each, "Name").lower() == "received-spf"
        ),
        "",
    )
    return Verdicts("postmark", spf=(said.split() or [""])[0].lower()[:12])


def _postmark_body(told: dict[str, Any], name: str) -> str:
    return storable(_text(told, name)[:MAX_TEXT]).replace("\r\n", "\n")


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


def _list(told: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = told.get(name)
    if not isinstance(value, list):
        return []
    return [cast(dict[str, Any], each) for each in cast(list[Any], value) if isinstance(each, dict)]


def _unpacked(text: str) -> bytes:
    try:
        return b64decode(text)
    except (BadBase64, ValueError):
        return b""


_SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        "Message",
        "MessageId",
        "SubscribeURL",
        "Timestamp",
        "Token",
        "TopicArn",
        "Type",
    ),
    "UnsubscribeConfirmation": (
        "Message",
        "MessageId",
        "SubscribeURL",
        "Timestamp",
        "Token",
        "TopicArn",
        "Type",
    ),
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
    verdicts: Verdicts
    spam: bool


def read_notification(body: bytes) -> Notification | None:
    """None for what is no notification, or names a place that is not Amazon's."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(told, dict):
        return None
    fields = {
        str(name): value for name, value in cast(dict[Any, Any], told).items() if isinstance(value, str)
    }
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
    """An https address of SNS itself."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    plain = parts.scheme == "https" and port in (None, 443) and "@" not in parts.netloc
    return plain and host.startswith("sns.") and host.endswith(_AMAZON)


def is_sns_signed(notification: Notification, certificate: bytes) -> bool:
    # Seven megabytes of libraries, for those who use them.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256
    from cryptography.x509 import load_pem_x509_certificate

    # Amazon's first signatures are SHA-1; a topic can be set to the second kind.
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
    """None for a notification that holds no mail."""
    told = _object(_loaded(message))
    receipt = _object(told.get("receipt"))
    content = told.get("content")
    if told.get("notificationType") != "Received" or not isinstance(content, str):
        return None
    encoding = str(_object(receipt.get("action")).get("encoding", "UTF8"))
    try:
        raw = b64decode(content) if encoding.upper() == "BASE64" else content.encode("utf-8", "surrogatepass")
    except ValueError:
        return None
    given = receipt.get("recipients")
    named = cast(list[Any], given)[:100] if isinstance(given, list) else []
    return SesMail(
        tuple(each for each in named if isinstance(each, str)),
        raw,
        Verdicts("amazonses.com", *(_verdict(receipt, name) for name in ("spf", "dkim", "dmarc"))),
        any(_verdict(receipt, name) == "fail" for name in ("spam", "virus")),
    )


def _signed_text(notification: Notification) -> bytes:
    given = notification.fields
    lines = [f"{name}\n{given[name]}\n" for name in _SIGNED[notification.kind] if name in given]
    return "".join(lines).encode("utf-8", "replace")


def _verdict(receipt: dict[str, Any], name: str) -> str:
    return str(_object(receipt.get(f"{name}Verdict")).get("status", "")).lower()[:12]


def _loaded(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _object(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
