"""The words of an entry that the search index holds."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from reedbed.domain.text import fold, index_text

MAX_INDEXED_TEXT = 100_000
"""Indexed characters of the text of an entry."""
MAX_INDEXED_TRANSCRIPT = 200_000
"""Indexed characters of the transcript of a recording, beside the text of its entry."""
_FOLDING_ADDS = 1.2
_MAX_WORD_LENGTH = 200
_CATEGORY_MARK = "\ue000"
"""Begins the token of a category, and joins its words. No text contains it: folding removes it."""
_LONG_WORD = re.compile(rf"(\w{{{_MAX_WORD_LENGTH}}})\w+")


class SearchWords(NamedTuple):
    """Folded text: only words and spaces. A tuple for speed, because every new entry creates one."""

    title: str = ""
    text: str = ""
    author: str = ""
    """Also holds a token for each category of the feed."""


def search_words(
    title: str, text: str, author: str | None = None, categories: Sequence[str] = (), transcript: str = ""
) -> SearchWords:
    tokens = (token for token in map(category_token, categories) if token)
    folded = _folded(text)
    if transcript:
        folded = f"{folded} {_folded(transcript, MAX_INDEXED_TRANSCRIPT)}".strip()
    return SearchWords(_folded(title), folded, " ".join((_folded(author or ""), *tokens)).strip())


def category_token(category: str) -> str:
    """The one token that a category is indexed as, so that no word of a text or an author is taken for it."""
    words = fold(category).split()
    return f"{_CATEGORY_MARK}{_CATEGORY_MARK.join(words)}"[:_MAX_WORD_LENGTH] if words else ""


def _folded(text: str, limit: int = MAX_INDEXED_TEXT) -> str:
    folded = index_text(text[:limit])[: int(limit * _FOLDING_ADDS)]
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
