"""Highlights: passages that a user marks in an entry, with an optional note.

A passage is identified by its text and the text around it, because markup changes and positions move.
"""

import json
import re
from functools import lru_cache
from html import escape
from typing import Literal, get_args

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import clean_line, is_cjk, storable
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


# --- Notes: a Markdown file for each entry, as Obsidian and Logseq keep them

NoteStyle = Literal["obsidian", "logseq"]
_NOT_IN_NAMES = re.compile(r"[\\/:*?\"<>|#^\[\]\x00-\x1f]+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~^$])")
MAX_NOTE_NAME = 80


def note_name(title: str, entry_id: int, style: NoteStyle) -> str:
    """Stays the same, so that a later archive replaces the files of an earlier one."""
    words = " ".join(_NOT_IN_NAMES.sub(" ", title).split())[:MAX_NOTE_NAME].strip(" .") or "Untitled"
    return f"{'pages' if style == 'logseq' else 'Reedbed'}/{words} ({entry_id}).md"


def note_head(highlight: Highlight, style: NoteStyle) -> str:
    title, url = " ".join(highlight.entry_title.split()) or "Untitled", highlight.entry_url or ""
    if style == "logseq":
        source = f"source:: {''.join(url.split())}\n" if url else ""
        return f"title:: {title}\n{source}tags:: reedbed\n\n"
    source = f"source: {json.dumps(url)}\n" if url else ""
    return f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n{source}tags: [reedbed]\n---\n"


def note_part(highlight: Highlight, style: NoteStyle, day: str) -> str:
    """A quotation with its note. In Obsidian each can be linked to."""
    quote = [_SPECIAL.sub(r"\\\1", line.strip()) for line in highlight.passage.quote.splitlines() if line.strip()]
    note = highlight.note.splitlines()
    if style == "logseq":
        lines = [f"- > {quote[0]}", *(f"  > {line}" for line in quote[1:]), f"  date:: {day}"]
        lines += [f"  color:: {highlight.color}"]
        if note:
            lines += [f"  - {note[0]}", *(f"    {line}" for line in note[1:])]
        return "\n".join(lines) + "\n"
    quoted = "\n".join(f"> {line}" for line in quote)
    text = f"\n{highlight.note}\n" if note else ""
    return f"\n{quoted}\n^h{highlight.id}\n{text}\n*{day}, {highlight.color}*\n"


# --- Words that a user wants to see marked wherever they occur

MAX_MARKED_WORDS = 100
MAX_MARKED_LENGTH = 60

_TAG = r"""<(?:[^"'<>]|"[^"]*"|'[^']*')*>"""
_ENTITY = r"&[#\w]+;"


def check_marked_words(text: str) -> str:
    """One word or phrase per line."""
    words = marked_words(text)
    if len(words) > MAX_MARKED_WORDS:
        raise Invalid("At most %(limit)s words can be marked.", field="marked_words", limit=MAX_MARKED_WORDS)
    if any(len(word) > MAX_MARKED_LENGTH for word in words):
        limit = MAX_MARKED_LENGTH
        raise Invalid("A word to mark may have at most %(limit)s characters.", field="marked_words", limit=limit)
    return "\n".join(words)


def marked_words(text: str) -> tuple[str, ...]:
    lines = (clean_line(line) for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line.strip("* ")))


def mark_words_in_text(words: str, text: str) -> str | None:
    """The text as markup with its marked words; None if none occurs."""
    return _mark(words, escape(text, quote=False))


def mark_words_in_html(words: str, html: str) -> str:
    return _mark(words, html) or html


def _mark(words: str, html: str) -> str | None:
    pattern = _pattern(words)
    marked = html if pattern is None else pattern.sub(_marked, html)
    return marked if marked != html else None


def _marked(found: re.Match[str]) -> str:
    return f'<mark class="word">{found["word"]}</mark>' if found["word"] else found[0]


@lru_cache(maxsize=200)
def _pattern(words: str) -> re.Pattern[str] | None:
    """Tags and entities are consumed whole, so that no word is found inside one; a word may hold an entity."""
    alternatives = [_alternative(word) for word in sorted(marked_words(words), key=len, reverse=True)]
    joined = "|".join(alternatives)
    return re.compile(f"{_TAG}|(?P<word>{joined})|{_ENTITY}", re.IGNORECASE) if alternatives else None


def _alternative(word: str) -> str:
    """Whole words, or what begins so before a star. Chinese and Japanese have no spaces to look for."""
    plain = escape(word.rstrip("*"), quote=False)
    begin = "" if is_cjk(plain[:1]) else r"(?<!\w)"
    end = r"\w*" if word.endswith("*") else "" if is_cjk(plain[-1:]) else r"(?!\w)"
    return f"{begin}{re.escape(plain)}{end}"
