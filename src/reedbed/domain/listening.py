"""Listening: texts that are read aloud, in sentences and chapters, and how long they may be."""

import re
from collections.abc import Sequence
from html import escape
from typing import Literal

from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import DAY, Instant, Millis

MAX_REQUEST = 4_096
"""Characters that one request to a speech endpoint may have."""
CHAPTER_PAUSE, PART_PAUSE = 1.0, 0.35
"""Seconds of silence."""
RETENTION: Millis = 30 * DAY
"""How long what was read aloud is kept."""
MAX_KEPT = 50
"""Of each user."""

SourceKind = Literal["entry", "digest"]
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’»)]*\s+|(?<=[。！？])")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")


@record
class SpokenPassage:
    """What is read aloud as one chapter."""

    title: str
    text: str
    url: str = ""
    language: str = ""


@record
class SpokenChapter:
    start: float
    """Seconds, to the sample."""
    title: str
    url: str = ""


@record
class Spoken:
    id: int
    user_id: int
    kind: SourceKind
    source_id: int
    """The entry or digest that is read."""
    title: str
    language: str
    status: Literal["pending", "ready", "failed"]
    error: Failure | None
    media_type: str
    length: int
    """Bytes."""
    seconds: int
    chapters: Sequence[SpokenChapter]
    transcript: Sequence[tuple[float, str]]
    created_at: Instant
    entry_id: int | None = None
    """The entry of one's own feed that plays it."""


def speakable(text: str) -> str:
    """Without URLs, which are of no use read aloud."""
    return " ".join(_ADDRESS.sub("", text).split())


def sentences_of(text: str) -> list[str]:
    return [sentence for part in _SENTENCE_END.split(text) if (sentence := part.strip())]


def requests_of(text: str, limit: int = MAX_REQUEST) -> list[str]:
    """The text in parts of whole sentences, each short enough for one request."""
    parts: list[str] = []
    for sentence in sentences_of(text):
        for piece in _pieces(sentence, limit):
            if parts and len(parts[-1]) + 1 + len(piece) <= limit:
                parts[-1] = f"{parts[-1]} {piece}"
            else:
                parts.append(piece)
    return parts


def _pieces(sentence: str, limit: int) -> list[str]:
    pieces: list[str] = []
    while len(sentence) > limit:
        space = sentence.rfind(" ", 0, limit)
        cut = space if space > limit // 2 else limit
        pieces.append(sentence[:cut].strip())
        sentence = sentence[cut:].strip()
    return [*pieces, sentence] if sentence else pieces


def bounded_passages(passages: Sequence[SpokenPassage], limit: int) -> list[SpokenPassage]:
    """As many whole passages as fit; the first is cut between sentences if it is too long alone."""
    kept: list[SpokenPassage] = []
    left = limit
    for passage in passages:
        size = len(passage.title) + len(passage.text)
        if size > left:
            if not kept:
                text = " ".join(requests_of(passage.text, limit=max(200, left - len(passage.title)))[:1])
                kept.append(SpokenPassage(passage.title, text, passage.url, passage.language))
            break
        kept.append(passage)
        left -= size
    return kept


def show_notes(made: Spoken) -> str:
    """The chapters with their times and links."""
    items = (f"<li>{_clock(chapter.start)} {_link(chapter.title, chapter.url)}</li>" for chapter in made.chapters)
    return f"<ol>{''.join(items)}</ol>"


def _link(title: str, url: str) -> str:
    return f'<a href="{escape(url)}">{escape(title)}</a>' if url else escape(title)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
