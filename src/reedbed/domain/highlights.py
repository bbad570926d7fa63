"""Highlights: passages a user marks in an entry, anchored by their words, with a note if wished.

A passage is known by its text and what stands around it, because markup changes and positions move.
"""

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant

MAX_QUOTE = 5_000
MAX_AROUND = 200
MAX_NOTE = 10_000


@record
class Passage:
    quote: str
    prefix: str = ""
    """What stands before it, to tell it from the same words elsewhere."""
    suffix: str = ""


@record
class Highlight:
    id: int
    entry_id: int | None
    """None once the entry is gone."""
    entry_title: str
    entry_url: str | None
    passage: Passage
    note: str
    created_at: Instant
    updated_at: Instant


def check_passage(quote: str, prefix: str, suffix: str) -> Passage:
    tidy = storable(quote).strip()
    if not tidy:
        raise Invalid("A highlight needs a passage of the text", field="quote")
    if len(tidy) > MAX_QUOTE:
        raise Invalid(f"A highlight may have at most {MAX_QUOTE} characters", field="quote")
    return Passage(tidy, _around(prefix, "prefix"), _around(suffix, "suffix"))


def check_note(note: str) -> str:
    tidy = storable(note).strip()
    if len(tidy) > MAX_NOTE:
        raise Invalid(f"A note may have at most {MAX_NOTE} characters", field="note")
    return tidy


def occurs(passage: Passage, *texts: str) -> bool:
    """White space does not count: a selection over paragraphs is joined in many ways."""
    wanted = _squeezed(passage.quote)
    return any(wanted in _squeezed(text) for text in texts)


def _around(text: str, field: str) -> str:
    tidy = storable(text)
    if len(tidy) > MAX_AROUND:
        raise Invalid(f"The {field} may have at most {MAX_AROUND} characters", field=field)
    return tidy


def _squeezed(text: str) -> str:
    return "".join(text.split())
