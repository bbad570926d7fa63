"""Notes that reach a browser while no page is open: where to, and what they say.

The words are those of feeds, rules and digests alone, so that a note reads the same in every language.
"""

import base64
import binascii
from collections.abc import Sequence
from urllib.parse import urlsplit

from reedbed.domain.digests import Digest
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.rules import RuleNotice
from reedbed.domain.times import Instant

MAX_TITLES = 4
_MAX_ADDRESS_LENGTH = 2_000
_MAX_LINE_LENGTH = 200
_POINT_BYTES = 65
_POINT_MARK = 4
_AUTH_BYTES = 16


@record
class PushAddress:
    """What a browser hands out; both keys are base64url."""

    endpoint: str
    p256dh: str
    auth: str


@record
class PushDevice:
    id: int
    address: PushAddress
    name: str
    created_at: Instant
    reached_at: Instant | None
    session_id: int | None


@record
class PushNote:
    title: str
    body: str
    url: str
    """A path of ours."""
    tag: str
    """A newer note with the same tag takes the place of the older."""


def check_address(endpoint: str, p256dh: str, auth: str) -> PushAddress:
    if not _is_web_address(endpoint.strip()):
        raise Invalid("The address must start with https://.", field="endpoint")
    point = _decoded(p256dh)
    if len(point) != _POINT_BYTES or point[0] != _POINT_MARK:
        raise Invalid("This is not the public key of a browser.", field="p256dh")
    if len(_decoded(auth)) != _AUTH_BYTES:
        raise Invalid("This is not the secret of a browser.", field="auth")
    return PushAddress(endpoint.strip(), p256dh.strip().rstrip("="), auth.strip().rstrip("="))


def feed_note(feed_id: int, feed_title: str, entries: Sequence[tuple[int, str]], url: str) -> PushNote:
    """`entries` are ids and titles; `url` shows them all."""
    only = f"/entry/{entries[0][0]}" if len(entries) == 1 else url
    return PushNote(
        title=_headline(feed_title, len(entries)),
        body=_titles([title for _, title in entries]),
        url=only,
        tag=f"feed-{feed_id}",
    )


def rule_note(notice: RuleNotice) -> PushNote:
    first = notice.entries[0]
    return PushNote(
        title=_headline(notice.rule_name, notice.count),
        body=_titles([entry.title for entry in notice.entries]),
        url=f"/entry/{first.id}" if notice.count == 1 else "/unread",
        tag=f"rule-{notice.rule_id}",
    )


def digest_note(digest: Digest) -> PushNote:
    paragraphs = digest.text.paragraphs
    said = [sentence.text for paragraph in paragraphs for sentence in paragraph.sentences[:1]]
    title = " · ".join(paragraph.heading for paragraph in paragraphs if paragraph.heading)
    return PushNote(_line(title) or "Reedbed", _titles(said), f"/summaries/{digest.id}", "digest")


def _headline(name: str, count: int) -> str:
    return f"{_line(name)} ({count})" if count > 1 else _line(name)


def _titles(titles: Sequence[str]) -> str:
    shown = [_line(title) for title in titles[:MAX_TITLES]]
    return "\n".join([*shown, "…"] if len(titles) > MAX_TITLES else shown)


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_LINE_LENGTH else f"{words[: _MAX_LINE_LENGTH - 1]}…"


def _is_web_address(text: str) -> bool:
    if len(text) > _MAX_ADDRESS_LENGTH or not text.isprintable():
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and bool(parts.netloc)


def _decoded(text: str) -> bytes:
    plain = text.strip().rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars="-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
