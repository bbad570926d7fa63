"""One MIME message, however broken, to a `Mail`: the standard library takes it apart, this bounds it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from html import escape
from typing import TypeAlias, cast

from reedbed.domain.newsletters import Mail, NotAMail
from reedbed.domain.records import record
from reedbed.domain.texts import storable
from reedbed.ingest.mail.headers import is_spam, mailbox, message_id, moment_of, readable, readable_list
from reedbed.ingest.mail.limits import MAX_DEPTH, MAX_HEADER_BYTES, MAX_PARTS, MAX_TEXT
from reedbed.ingest.mail.pictures import Album
from reedbed.ingest.parse.charset import as_utf8

_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_META_CHARSET = re.compile(rb"<meta[^<>]{0,300}charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)

_Part: TypeAlias = "Message[str, str]"


def read_mime(raw: bytes) -> Mail | NotAMail:
    """Bounded in depth, parts and size; not in time: see `isolation`."""
    end = _END_OF_HEADERS.search(raw[: MAX_HEADER_BYTES + 4])
    if end is None and len(raw) > MAX_HEADER_BYTES:
        return NotAMail("The headers of this mail are too long.")
    try:
        message = BytesParser(policy=compat32).parsebytes(raw)
    except RecursionError:
        return NotAMail("The parts of this mail are nested too deep.")
    headers = [(name, str(value)) for name, value in message.raw_items()]
    return _mail(message, _Headers(headers))


class _Headers:
    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def first(self, *names: str) -> str:
        """The first of these that says something."""
        for name in names:
            found = next((value for key, value in self.pairs if key.lower() == name and value.strip()), "")
            if found:
                return found
        return ""

    def every(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key.lower() == name]


def _mail(message: _Part, headers: _Headers) -> Mail | NotAMail:
    name, address = mailbox(headers.first("from", "sender", "return-path"))
    if not address:
        return NotAMail("The mail does not say who sent it.")
    reading = _Reading()
    body = reading.of(message, 0)
    if reading.broken:
        return NotAMail(reading.broken)
    return Mail(
        sender=address,
        sender_name=name,
        subject=readable(headers.first("subject")),
        message_id=message_id(headers.first("message-id")),
        sent_at=moment_of(headers.first("date")),
        html=storable(body.html[:MAX_TEXT]),
        text=storable(body.text[:MAX_TEXT]),
        pictures=reading.album.pictures(),
        list_unsubscribe=readable_list(headers.first("list-unsubscribe")),
        list_unsubscribe_post=readable(headers.first("list-unsubscribe-post")),
        auth_results=tuple(readable(value) for value in headers.every("authentication-results")[:10]),
        spam=is_spam(headers.pairs),
    )


@record
class _Body:
    html: str = ""
    text: str = ""


@dataclass(slots=True)
class _Reading:
    parts: int = 0
    broken: str = ""
    album: Album = field(default_factory=Album)

    def of(self, part: _Part, depth: int) -> _Body:
        self.parts += 1
        if depth > MAX_DEPTH or self.parts > MAX_PARTS:
            self.broken = "This mail has too many parts, or they are nested too deep."
        if self.broken:
            return _Body()
        kind = part.get_content_type()
        if part.is_multipart():
            return self._many(part, kind, depth)
        if kind in ("text/html", "text/plain") and part.get_content_disposition() != "attachment":
            text = _text(part)
            return _Body(html=text) if kind == "text/html" else _Body(text=text)
        if kind.startswith("image/"):
            self.album.add(str(part.get("Content-ID") or part.get("Content-Location") or ""), _data(part))
        return _Body()

    def _many(self, part: _Part, kind: str, depth: int) -> _Body:
        if not kind.startswith("multipart/"):
            return _Body()  # a mail within the mail is an attachment
        children = [self.of(child, depth + 1) for child in cast("list[_Part]", part.get_payload())]
        if kind == "multipart/alternative":
            return _Body(_last(each.html for each in children), _first(each.text for each in children))
        text = "\n\n".join(each.text for each in children if each.text)
        if not any(each.html for each in children):
            return _Body(text=text)
        return _Body("".join(each.html or _as_html(each.text) for each in children), text)


def _text(part: _Part) -> str:
    data = _data(part)
    charset = part.get_param("charset")
    named = charset if isinstance(charset, str) else ""
    if not named and (meta := _META_CHARSET.search(data[:4_000])):
        named = meta[1].decode("ascii", "replace")
    claim = f"text/plain; charset={named}" if named else "text/plain; charset=windows-1252"
    return as_utf8(data[: 4 * MAX_TEXT], claim).decode("utf-8", "replace").replace("\r\n", "\n")


def _data(part: _Part) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError):
        data = None
    return data if isinstance(data, bytes) else b""


def _as_html(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text.strip() else ""


def _first(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")


def _last(texts: Iterable[str]) -> str:
    return _first(reversed(list(texts)))
