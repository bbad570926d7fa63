"""Highlights: passages that a user marks in an entry, with an optional note.

A passage is identified by its text and the text around it, because markup changes and positions move.
"""

from typing import Literal, get_args

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import DAY, Instant

Color = Literal["yellow", "green", "blue", "rose"]
COLORS: tuple[Color, ...] = get_args(Color)
FIRST_COLOR: Color = "yellow"

REVIEW_AFTER = 7 * DAY
"""A highlight is due for review this long after it was made or last reviewed."""

MAX_QUOTE = 5_000
MAX_AROUND = 200
MAX_NOTE = 10_000


@record
class Passage:
    quote: str
    prefix: str = ""
    """The text before it, to distinguish it from the same words elsewhere."""
    suffix: str = ""


@record
class Highlight:
    id: int
    entry_id: int | None
    """None if the entry was deleted."""
    entry_title: str
    entry_url: str | None
    passage: Passage
    note: str
    created_at: Instant
    updated_at: Instant
    color: Color = FIRST_COLOR
    reviewed_at: Instant | None = None


@record
class HighlightFilter:
    color: Color | None = None
    text: str = ""
    """Occurs in the quote, the note or the title of the entry."""
    entry_id: int | None = None


def check_color(color: str) -> Color:
    for known in COLORS:
        if color == known:
            return known
    raise Invalid("A highlight is yellow, green, blue or rose.", field="color")


def check_passage(quote: str, prefix: str, suffix: str) -> Passage:
    clean_quote = storable(quote).strip()
    if not clean_quote:
        raise Invalid("A highlight needs a passage of the text", field="quote")
    if len(clean_quote) > MAX_QUOTE:
        raise Invalid("A highlight may have at most %(limit)s characters", field="quote", limit=MAX_QUOTE)
    return Passage(clean_quote, _check_context(prefix, "prefix"), _check_context(suffix, "suffix"))


def check_note(note: str) -> str:
    clean_note = storable(note).strip()
    if len(clean_note) > MAX_NOTE:
        raise Invalid("A note may have at most %(limit)s characters", field="note", limit=MAX_NOTE)
    return clean_note


def occurs(passage: Passage, *texts: str) -> bool:
    """Ignores white space, because browsers join a selection across paragraphs differently."""
    quote = _without_spaces(passage.quote)
    return any(quote in _without_spaces(text) for text in texts)


def _check_context(text: str, field: str) -> str:
    clean_text = storable(text)
    if len(clean_text) > MAX_AROUND:
        raise Invalid("The %(name)s may have at most %(limit)s characters", field=field, name=field, limit=MAX_AROUND)
    return clean_text


def _without_spaces(text: str) -> str:
    return "".join(text.split())
