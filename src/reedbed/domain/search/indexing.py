"""The words of an entry that the search index holds."""

import re
from typing import NamedTuple

from reedbed.domain.text import index_text

MAX_INDEXED_TEXT = 100_000
"""Indexed characters per entry. PostgreSQL rejects a tsvector of a megabyte or more."""
_MAX_FOLDED_LENGTH = 120_000
_MAX_WORD_LENGTH = 200
_LONG_WORD = re.compile(rf"(\w{{{_MAX_WORD_LENGTH}}})\w+")


class SearchWords(NamedTuple):
    """Folded text: only words and spaces. A tuple for speed, because every new entry creates one."""

    title: str = ""
    text: str = ""
    author: str = ""


def search_words(title: str, text: str, author: str | None = None) -> SearchWords:
    return SearchWords(_folded(title), _folded(text), _folded(author or ""))


def _folded(text: str) -> str:
    folded = index_text(text[:MAX_INDEXED_TEXT])[:_MAX_FOLDED_LENGTH]
    return _LONG_WORD.sub(r"\1", folded) if _has_long_word(folded) else folded


def _has_long_word(folded: str) -> bool:
    """Jumps from space to space; the regex would try every letter of every word."""
    start = 0
    while len(folded) - start > _MAX_WORD_LENGTH:
        space = folded.rfind(" ", start, start + _MAX_WORD_LENGTH + 1)
        if space < 0:
            return True
        start = space + 1
    return False
