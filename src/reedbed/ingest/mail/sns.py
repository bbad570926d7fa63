"""Mails from Amazon SES, as signed notifications of Amazon SNS."""

from base64 import b64decode
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from reedbed.domain.newsletters import Verdicts
from reedbed.domain.records import record

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


def is_signed(notification: Notification, certificate: bytes) -> bool:
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
