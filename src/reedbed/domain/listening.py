"""Listening: texts that are read aloud, in sentences and chapters, and how long they may be."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Literal

from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import DAY, Instant, Millis

MAX_REQUEST = 1_200
"""Characters of one request: endpoints take at most 4,096, and models lose their way in long texts."""
CHAPTER_PAUSE, PART_PAUSE = 1.0, 0.35
"""Seconds of silence."""
SPOKEN_PER_MINUTE = 850
"""Characters, with pauses."""
RETENTION: Millis = 30 * DAY
"""How long what was read aloud is kept."""
MAX_KEPT = 50
"""Of each user."""

FEED_URL = "reedbed:listening"
"""The feed of one's own in which recordings are played."""

SourceKind = Literal["entry", "digest"]
MIN_CUT = 400
"""A passage that does not fit is cut between sentences if so many characters of it do; else it is left out."""
_ADDRESS = re.compile(r"<?\b(?:https?://|www\.)(?:www\.)?([\w.-]+\w)[^\s<>()]*[^\s<>().,;:!?'\"”»]?>?", re.IGNORECASE)
_ENDED = re.compile(r"[.!?…:;,،、؛。！？：；؟۔।][\"'”’»›)\]」』]*\Z")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff][\"'”’»)\]」』]*\Z")


@record
class SpokenPassage:
    """What is read aloud as one chapter: its title, then its text."""

    title: str
    text: str
    """One line per paragraph."""
    url: str = ""
    language: str = ""
    opening: str = ""
    """What is read before the title, such as the date of a digest or the name of a section."""
    language_of_opening: str = ""

    @property
    def size(self) -> int:
        return len(self.opening) + len(self.title) + len(self.text)


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
    """The text, one line per paragraph, as it is read: with the names of sites instead of URLs, and with a stop after
    each line, because headings and list items would run into what follows them.
    """
    lines = [" ".join(_ADDRESS.sub(r"\1", line).split()) for line in text.split("\n")]
    lines = [line for line in lines if any(char.isalnum() for char in line)]
    return "\n".join(_stopped(line, following) for line, following in pairwise([*lines, ""]))


def _stopped(line: str, following: str) -> str:
    """A line that was only broken goes on with a small letter."""
    if _ENDED.search(line) or following[:1].islower():
        return line
    return f"{line}。" if _WIDE.search(line) else f"{line}."


def requests_of(sentences: Iterable[tuple[int, str]], limit: int = MAX_REQUEST) -> list[str]:
    """Sentences, each with the number of its paragraph, in parts that are short enough for one request."""
    parts: list[str] = []
    last = -1
    for paragraph, sentence in sentences:
        for piece in _pieces(sentence, limit):
            if parts and len(parts[-1]) + 1 + len(piece) <= limit:
                parts[-1] += f"{' ' if paragraph == last else chr(10)}{piece}"
            else:
                parts.append(piece)
            last = paragraph
    return parts


def _pieces(sentence: str, limit: int) -> list[str]:
    pieces: list[str] = []
    while len(sentence) > limit:
        space = sentence.rfind(" ", 0, limit)
        cut = space if space > limit // 2 else limit
        pieces.append(sentence[:cut].strip())
        sentence = sentence[cut:].strip()
    return [*pieces, sentence] if sentence else pieces


def bounded_passages(
    passages: Sequence[SpokenPassage], limit: int, split: Callable[[str], Iterable[tuple[int, str]]]
) -> list[SpokenPassage]:
    """As many passages as fit; the one that does not is cut between sentences. `split` finds these."""
    kept: list[SpokenPassage] = []
    left = limit
    for passage in passages:
        if passage.size > left:
            space = left - passage.size + len(passage.text)
            if not kept or space >= MIN_CUT:
                text = "".join(requests_of(split(passage.text), limit=max(200, space))[:1])
                kept.append(replace(passage, text=text))
            break
        kept.append(passage)
        left -= passage.size
    return kept


def voice_for(voices: str, language: str) -> str:
    """Of voices such as `alloy` or `en=en-gb de=mb-de5`, the one for this language, else the one for all."""
    chosen = {name.rpartition("=")[0]: name.rpartition("=")[2] for name in voices.split()}
    return chosen.get(language) or chosen.get("", "")


def show_notes(made: Spoken) -> str:
    """The chapters with their times and links."""
    items = (f"<li>{_clock(chapter.start)} {_link(chapter.title, chapter.url)}</li>" for chapter in made.chapters)
    return f"<ol>{''.join(items)}</ol>"


def _link(title: str, url: str) -> str:
    return f'<a href="{escape(url)}">{escape(title)}</a>' if url else escape(title)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
