"""What the search index keeps of an entry, bounded so that no text is too much for either engine."""

import re
from typing import NamedTuple

from reedbed.domain.folding import index_text

MAX_TEXT = 100_000
"""Characters of an entry that can be found. PostgreSQL takes no vector of a megabyte or more."""
_MAX_FOLDED = 120_000
_MAX_WORD = 200
_LONG_WORD = re.compile(rf"(\w{{{_MAX_WORD}}})\w+")


class SearchWords(NamedTuple):
    """Folded: words and blanks, nothing else. A tuple, since one is made for every new entry."""

    title: str = ""
    text: str = ""
    author: str = ""


def search_words(title: str, text: str, author: str | None = None) -> SearchWords:
    return SearchWords(_folded(title), _folded(text), _folded(author or ""))


def _folded(text: str) -> str:
    folded = index_text(text[:MAX_TEXT])[:_MAX_FOLDED]
    return _LONG_WORD.sub(r"\1", folded) if _has_long_word(folded) else folded


def _has_long_word(folded: str) -> bool:
    """Leaps from blank to blank: the pattern would try every letter of every word."""
    start = 0
    while len(folded) - start > _MAX_WORD:
        blank = folded.rfind(" ", start, start + _MAX_WORD + 1)
        if blank < 0:
            return True
        start = blank + 1
    return False
