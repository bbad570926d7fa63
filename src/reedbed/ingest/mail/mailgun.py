"""A mail as Mailgun posts it: a signed form with the whole mail, or with what it read."""

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, cast

import orjson

from reedbed.domain.newsletters import Mail, NotAMail, Verdicts
from reedbed.domain.texts import storable
from reedbed.domain.times import HOUR, SECOND, Instant
from reedbed.ingest.mail.headers import is_spam, mailbox, message_id, moment_of, readable, readable_list
from reedbed.ingest.mail.limits import MAX_TEXT
from reedbed.ingest.mail.pictures import Album

WHOLE_MAIL = "body-mime"
OLDEST = 12 * HOUR
"""Mailgun tries for eight hours."""
_EARLY = HOUR // 4


def is_signed(fields: Mapping[str, str], key: str, now: Instant) -> bool:
    """By whoever knows the key, and not long ago."""
    stamp, token = fields.get("timestamp", ""), fields.get("token", "")
    wanted = hmac.new(key.encode(), f"{stamp}{token}".encode(), sha256).hexdigest()
    given = fields.get("signature", "").lower()
    if not token or not hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace")):
        return False
    age = now - int(stamp) * SECOND if stamp.isascii() and stamp.isdigit() and len(stamp) < 12 else OLDEST + 1
    return -_EARLY <= age <= OLDEST


def recipients(fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(each.strip() for each in fields.get("recipient", "").split(",")[:100])


def read_mailgun(fields: Mapping[str, str], files: Mapping[str, bytes]) -> Mail | NotAMail:
    headers = list(_headers(fields.get("message-headers", "")))
    by_name = {name.lower(): value for name, value in reversed(headers)}
    name, address = mailbox(fields.get("from", "") or fields.get("sender", ""))
    if not address:
        return NotAMail("The mail does not say who sent it.")
    album = Album()
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


def verdicts(fields: Mapping[str, str]) -> Verdicts:
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
