"""Push notifications: checking a browser's subscription, and the notifications for feeds, rules, digests, answers and
stories.

They contain only texts of feeds, rules and digests; why a feed has stopped is in the user's language.
"""

import base64
import binascii
from collections.abc import Sequence
from urllib.parse import urlsplit

from reedbed.domain.digests import Digest
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.languages import ENGLISH, Texts
from reedbed.domain.questions import Question
from reedbed.domain.records import record
from reedbed.domain.rules import RuleNotice
from reedbed.domain.stories.story import StoryNews
from reedbed.domain.times import Instant

MAX_TITLES = 4
_MAX_URL_LENGTH = 2_000
_MAX_LINE_LENGTH = 200
_POINT_BYTES = 65
_UNCOMPRESSED_POINT = 4
_AUTH_BYTES = 16


@record
class PushAddress:
    """A browser's push subscription; both keys are base64url."""

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
    """A path on this server."""
    tag: str
    """A newer notification with the same tag replaces the older one."""


def check_address(endpoint: str, p256dh: str, auth: str) -> PushAddress:
    if not _is_web_url(endpoint.strip()):
        raise Invalid("The address must start with https://.", field="endpoint")
    point = _decoded(p256dh)
    if len(point) != _POINT_BYTES or point[0] != _UNCOMPRESSED_POINT:
        raise Invalid("This is not the public key of a browser.", field="p256dh")
    if len(_decoded(auth)) != _AUTH_BYTES:
        raise Invalid("This is not the secret of a browser.", field="auth")
    return PushAddress(endpoint.strip(), p256dh.strip().rstrip("="), auth.strip().rstrip("="))


def feed_note(feed_id: int, feed_title: str, entries: Sequence[tuple[int, str]], url: str) -> PushNote:
    """`entries` are ids and titles; `url` is a page that lists them all."""
    target = f"/entry/{entries[0][0]}" if len(entries) == 1 else url
    return PushNote(
        title=_headline(feed_title, len(entries)),
        body=_titles([title for _, title in entries]),
        url=target,
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


def stopped_note(subscription_id: int, feed_title: str, reason: Failure, texts: Texts = ENGLISH) -> PushNote:
    """A feed has stopped."""
    text = _line(texts.explain(reason))
    return PushNote(_line(feed_title), text, f"/feed/{subscription_id}", f"stopped-{subscription_id}")


def story_note(news: StoryNews) -> PushNote:
    """An entry has joined a story that the user follows."""
    return PushNote(_line(news.feed), _line(news.title), f"/stories/{news.story_id}", f"story-{news.story_id}")


def answer_note(question: Question) -> PushNote:
    """An entry has answered a question that the user wants an answer to."""
    return PushNote(
        _line(question.question), _line(question.answer.claims[0].text), f"/ask/{question.id}", f"answer-{question.id}"
    )


def digest_note(digest: Digest) -> PushNote:
    paragraphs = digest.text.paragraphs
    sentences = [sentence.text for paragraph in paragraphs for sentence in paragraph.sentences[:1]]
    title = " · ".join(paragraph.heading for paragraph in paragraphs if paragraph.heading)
    return PushNote(_line(title) or "Reedbed", _titles(sentences), f"/digests/{digest.id}", "digest")


def _headline(name: str, count: int) -> str:
    return f"{_line(name)} ({count})" if count > 1 else _line(name)


def _titles(titles: Sequence[str]) -> str:
    lines = [_line(title) for title in titles[:MAX_TITLES]]
    return "\n".join([*lines, "…"] if len(titles) > MAX_TITLES else lines)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 1]}…"


def _is_web_url(text: str) -> bool:
    if len(text) > _MAX_URL_LENGTH or not text.isprintable():
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
