"""A mail as Postmark hands it over: JSON of what it read, and the raw mail where that was asked for."""

from base64 import b64decode
from binascii import Error as BadBase64
from typing import Any, cast

from reedbed.domain.newsletters import Mail, NotAMail, Verdicts
from reedbed.domain.texts import storable
from reedbed.ingest.mail.headers import is_spam, mailbox, message_id, moment_of, readable, readable_list
from reedbed.ingest.mail.limits import MAX_TEXT
from reedbed.ingest.mail.pictures import Album

_MOST_HEADERS = 1_000
_MOST_RECIPIENTS = 100


def recipients(told: dict[str, Any]) -> tuple[str, ...]:
    """The address the mail was delivered to; To may name others."""
    original = _text(told, "OriginalRecipient")
    if original:
        return (original,)
    full = [*_list(told, "ToFull"), *_list(told, "CcFull"), *_list(told, "BccFull")]
    return tuple(_text(each, "Email") for each in full[:_MOST_RECIPIENTS])


def raw_mail(told: dict[str, Any]) -> bytes | None:
    raw = _text(told, "RawEmail")
    return raw.encode("utf-8", "surrogateescape") if raw else None


def read_postmark(told: dict[str, Any]) -> Mail | NotAMail:
    headers = [(_text(each, "Name"), _text(each, "Value")) for each in _list(told, "Headers")[:_MOST_HEADERS]]
    by_name = {name.lower(): value for name, value in reversed(headers)}
    full = told.get("FromFull")
    sender = cast(dict[str, Any], full) if isinstance(full, dict) else {}
    name, address = mailbox(_text(told, "From"))
    address = _text(sender, "Email") or address
    if not address:
        return NotAMail("The mail does not say who sent it.")
    album = Album()
    for each in _list(told, "Attachments"):
        album.add(_text(each, "ContentID").removeprefix("cid:"), _unpacked(_text(each, "Content")))
    return Mail(
        sender=address,
        sender_name=readable(_text(sender, "Name")) or name,
        subject=readable(_text(told, "Subject")),
        message_id=message_id(by_name.get("message-id", "")),
        sent_at=moment_of(_text(told, "Date")),
        html=_body(told, "HtmlBody"),
        text=_body(told, "TextBody"),
        pictures=album.pictures(),
        list_unsubscribe=readable_list(by_name.get("list-unsubscribe", "")),
        list_unsubscribe_post=readable(by_name.get("list-unsubscribe-post", "")),
        auth_results=tuple(
            readable(value) for key, value in headers if key.lower() == "authentication-results"
        ),
        spam=is_spam(headers),
    )


def verdicts(told: dict[str, Any]) -> Verdicts:
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


def _body(told: dict[str, Any], name: str) -> str:
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
