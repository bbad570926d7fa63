"""Parse a MIME message, however broken, to a `Mail`.

The standard library parses it; this module limits size, depth and number of parts.
"""

import re
from binascii import Error as BadBase64
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from email.utils import parsedate_to_datetime
from html import escape
from typing import TypeAlias, cast

from reedbed.domain.newsletters import InvalidMail, Mail, MailImage
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant, from_datetime
from reedbed.ingest.parse.charset import as_utf8

MAX_DEPTH = 20
MAX_PARTS = 300
MAX_HEADER_BYTES = 256 * 1024
MAX_HEADER = 4_000
MAX_TEXT = 2_000_000
"""Characters of one body; cleaning reads even less."""
MAX_IMAGE_BYTES = 3 * 1024 * 1024
MAX_MAIL_IMAGES = 50
MAX_MAIL_IMAGES_BYTES = 12 * 1024 * 1024


# --- Headers

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,600})>")
_COMMENT = re.compile(r"\(((?:[^()\\]|\\.)*)\)")
_MAILBOX_PART = re.compile(rf'"((?:[^"\\]|\\.)*)"|{_COMMENT.pattern}|<([^<>]*)(?:>|\Z)|[^"(<]+|.')
_BARE_ADDRESS = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s,;:<>()"@]+)@[^\s,;:<>()"@]+')
_ESCAPED = re.compile(r"\\(.)")
_MAX_ID = 600
"""PostgreSQL cannot index values larger than a third of a page."""


def readable(value: str) -> str:
    """Decode a header to one line of text; never fails."""
    raw = _decode_surrogates(value[:MAX_HEADER])
    return storable(" ".join(_CONTROL.sub(" ", _decode_words(raw)).split()))


def decode_address_list(value: str) -> str:
    """Decode a list of addresses in angle brackets, in which white space only folds lines."""
    return "".join(readable(value).split())


def mailbox(value: str) -> tuple[str, str]:
    """Name and address of the first mailbox; empty if there is none.

    An address in angle brackets wins over anything before it: a name may contain an unquoted comma or another
    address. `parseaddr` parses such headers differently in different Python versions.
    """
    text = _decode_surrogates(" ".join(value[:MAX_HEADER].split()))
    names: list[str] = []
    comments: list[str] = []
    for part in _MAILBOX_PART.finditer(text):
        quoted, comment, address = part.groups()
        if address is not None and "@" in address:
            return readable("".join(names)), storable(address.strip())
        if comment is not None:
            comments.append(comment)
        names.append(part[0].strip('"') if quoted is None else _ESCAPED.sub(r"\1", quoted))
    bare = _BARE_ADDRESS.search(_COMMENT.sub(" ", text))
    return (readable("".join(comments[:1])), storable(bare[0])) if bare else ("", "")


def message_id(value: str) -> str:
    match = _MESSAGE_ID.search(value[:MAX_HEADER])
    return storable(match[1] if match else "".join(value.split()).strip("<>")[:_MAX_ID])


def moment_of(value: str) -> Instant | None:
    try:
        return from_datetime(parsedate_to_datetime(value[:200].strip()))
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def is_spam(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a mail filter marked it. A sender who sets this header only harms their own mail."""
    return any(
        name.lower() in ("x-spam-flag", "x-spam-status", "x-mailgun-sflag") and value.strip().lower().startswith("yes")
        for name, value in headers
    )


def _decode_surrogates(value: str) -> str:
    """The parser keeps bytes beyond ASCII as lone surrogates."""
    if value.isascii():
        return value
    data = value.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return as_utf8(data, "text/plain; charset=windows-1252").decode("utf-8", "replace")


def _decode_words(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        parts = decode_header(value)
    except (HeaderParseError, BadBase64, ValueError):
        return value
    return "".join(
        part if isinstance(part, str) else _decode_bytes(part, charset or "us-ascii") for part, charset in parts
    )


def _decode_bytes(data: bytes, charset: str) -> str:
    text = as_utf8(data, f"text/plain; charset={charset}")
    return text.decode("utf-8", "replace")


# --- Images

_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def media_type(data: bytes) -> str | None:
    """None for everything a browser might execute, like SVG."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/avif" if data[4:12] in (b"ftypavif", b"ftypavis") else None


class ImageSet:
    """Collect the images of a mail up to the limits."""

    def __init__(self) -> None:
        self._by_cid: dict[str, MailImage] = {}
        self._bytes = 0

    def add(self, cid: str, data: bytes) -> None:
        cid = cid.strip().strip("<>")[:500]
        fits = len(data) <= MAX_IMAGE_BYTES and self._bytes + len(data) <= MAX_MAIL_IMAGES_BYTES
        if not cid or cid in self._by_cid or len(self._by_cid) >= MAX_MAIL_IMAGES or not fits:
            return
        if media_type(data) is not None:
            self._by_cid[cid] = MailImage(cid, data)
            self._bytes += len(data)

    def pictures(self) -> tuple[MailImage, ...]:
        return tuple(self._by_cid.values())


# --- Messages

_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_META_CHARSET = re.compile(rb"<meta[^<>]{0,300}charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)

_Part: TypeAlias = "Message[str, str]"


def read_mime(raw: bytes) -> Mail | InvalidMail:
    """Bounded in depth, parts and size, but not in time: see `sandbox`."""
    end = _END_OF_HEADERS.search(raw[: MAX_HEADER_BYTES + 4])
    if end is None and len(raw) > MAX_HEADER_BYTES:
        return InvalidMail("The headers of this mail are too long.")
    try:
        message = BytesParser(policy=compat32).parsebytes(raw)
    except RecursionError:
        return InvalidMail("The parts of this mail are nested too deep.")
    headers = [(name, str(value)) for name, value in message.raw_items()]
    return _mail(message, _Headers(headers))


class _Headers:
    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def first(self, *names: str) -> str:
        """The first non-empty value of these headers."""
        for name in names:
            first = next((value for key, value in self.pairs if key.lower() == name and value.strip()), "")
            if first:
                return first
        return ""

    def every(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key.lower() == name]


def _mail(message: _Part, headers: _Headers) -> Mail | InvalidMail:
    name, address = mailbox(headers.first("from", "sender", "return-path"))
    if not address:
        return InvalidMail("The mail does not say who sent it.")
    reader = _PartReader()
    body = reader.read(message, 0)
    if reader.error:
        return InvalidMail(reader.error)
    return Mail(
        sender=address,
        sender_name=name,
        subject=readable(headers.first("subject")),
        message_id=message_id(headers.first("message-id")),
        sent_at=moment_of(headers.first("date")),
        html=storable(body.html[:MAX_TEXT]),
        text=storable(body.text[:MAX_TEXT]),
        pictures=reader.images.pictures(),
        list_unsubscribe=decode_address_list(headers.first("list-unsubscribe")),
        list_unsubscribe_post=readable(headers.first("list-unsubscribe-post")),
        auth_results=tuple(readable(value) for value in headers.every("authentication-results")[:10]),
        spam=is_spam(headers.pairs),
    )


@record
class _Body:
    html: str = ""
    text: str = ""


@dataclass(slots=True)
class _PartReader:
    parts: int = 0
    error: str = ""
    images: ImageSet = field(default_factory=ImageSet)

    def read(self, part: _Part, depth: int) -> _Body:
        self.parts += 1
        if depth > MAX_DEPTH or self.parts > MAX_PARTS:
            self.error = "This mail has too many parts, or they are nested too deep."
        if self.error:
            return _Body()
        kind = part.get_content_type()
        if part.is_multipart():
            return self._read_multipart(part, kind, depth)
        if kind in ("text/html", "text/plain") and part.get_content_disposition() != "attachment":
            text = _part_text(part)
            return _Body(html=text) if kind == "text/html" else _Body(text=text)
        if kind.startswith("image/"):
            self.images.add(str(part.get("Content-ID") or part.get("Content-Location") or ""), _data(part))
        return _Body()

    def _read_multipart(self, part: _Part, kind: str, depth: int) -> _Body:
        if not kind.startswith("multipart/"):
            return _Body()  # a mail within the mail is an attachment
        bodies = [self.read(child, depth + 1) for child in cast("list[_Part]", part.get_payload())]
        if kind == "multipart/alternative":
            return _Body(_last(body.html for body in bodies), _first(body.text for body in bodies))
        text = "\n\n".join(body.text for body in bodies if body.text)
        if not any(body.html for body in bodies):
            return _Body(text=text)
        return _Body("".join(body.html or _as_html(body.text) for body in bodies), text)


def _part_text(part: _Part) -> str:
    data = _data(part)
    charset = part.get_param("charset")
    encoding = charset if isinstance(charset, str) else ""
    if not encoding and (meta := _META_CHARSET.search(data[:4_000])):
        encoding = meta[1].decode("ascii", "replace")
    content_type = f"text/plain; charset={encoding}" if encoding else "text/plain; charset=windows-1252"
    return as_utf8(data[: 4 * MAX_TEXT], content_type).decode("utf-8", "replace").replace("\r\n", "\n")


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
