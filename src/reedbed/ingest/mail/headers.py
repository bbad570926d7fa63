"""Headers as people read them: encoded words decoded, raw bytes guessed, always one bounded line."""

import re
from binascii import Error as BadBase64
from collections.abc import Iterable
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import parsedate_to_datetime

from reedbed.domain.texts import storable
from reedbed.domain.times import Instant, from_datetime
from reedbed.ingest.mail.limits import MAX_HEADER
from reedbed.ingest.parse.charset import as_utf8

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,600})>")
_COMMENT = re.compile(r"\(((?:[^()\\]|\\.)*)\)")
_MAILBOX_PART = re.compile(rf'"((?:[^"\\]|\\.)*)"|{_COMMENT.pattern}|<([^<>]*)(?:>|\Z)|[^"(<]+|.')
_BARE_ADDRESS = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s,;:<>()"@]+)@[^\s,;:<>()"@]+')
_ESCAPED = re.compile(r"\\(.)")
_MAX_ID = 600
"""PostgreSQL indexes no value of more than a third of a page."""


def readable(value: str) -> str:
    """One line of text; never fails."""
    raw = _from_bytes(value[:MAX_HEADER])
    return storable(" ".join(_CONTROL.sub(" ", _decoded(raw)).split()))


def readable_list(value: str) -> str:
    """A list of addresses in brackets, in which white space only folds lines."""
    return "".join(readable(value).split())


def mailbox(value: str) -> tuple[str, str]:
    """Name and address of the first mailbox; empty where there is none.

    An address in brackets comes first, whatever stands before it: a name may hold a comma or another address
    that nobody quoted. `parseaddr` reads such headers in another way from one Python to the next.
    """
    text = _from_bytes(" ".join(value[:MAX_HEADER].split()))
    words: list[str] = []
    comments: list[str] = []
    for part in _MAILBOX_PART.finditer(text):
        quoted, comment, address = part.groups()
        if address is not None and "@" in address:
            return readable("".join(words)), storable(address.strip())
        if comment is not None:
            comments.append(comment)
        words.append(part[0].strip('"') if quoted is None else _ESCAPED.sub(r"\1", quoted))
    bare = _BARE_ADDRESS.search(_COMMENT.sub(" ", text))
    return (readable("".join(comments[:1])), storable(bare[0])) if bare else ("", "")


def message_id(value: str) -> str:
    found = _MESSAGE_ID.search(value[:MAX_HEADER])
    return storable(found[1] if found else "".join(value.split()).strip("<>")[:_MAX_ID])


def moment_of(value: str) -> Instant | None:
    try:
        return from_datetime(parsedate_to_datetime(value[:200].strip()))
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def is_spam(headers: Iterable[tuple[str, str]]) -> bool:
    """A filter on the way says so; a sender who writes this harms only their own mail."""
    return any(
        name.lower() in ("x-spam-flag", "x-spam-status", "x-mailgun-sflag")
        and value.strip().lower().startswith("yes")
        for name, value in headers
    )


def _from_bytes(value: str) -> str:
    """The parser keeps bytes beyond ASCII as lone surrogates."""
    if value.isascii():
        return value
    data = value.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return as_utf8(data, "text/plain; charset=windows-1252").decode("utf-8", "replace")


def _decoded(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        parts = decode_header(value)
    except (HeaderParseError, BadBase64, ValueError):
        return value
    return "".join(
        part if isinstance(part, str) else _text(part, charset or "us-ascii") for part, charset in parts
    )


def _text(data: bytes, charset: str) -> str:
    text = as_utf8(data, f"text/plain; charset={charset}")
    return text.decode("utf-8", "replace")
