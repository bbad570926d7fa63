"""Which new entries are summarised by themselves: a feed's own wish, else its folder's, else the user's."""

from collections.abc import Iterable

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow, ancestors
from reedbed.domain.preferences import MOST_WORDS, Preferences

NEVER = -1


def check_summary_words(words: int | None) -> int | None:
    """None: as around it; -1: never; else at least so many words."""
    if words is not None and not NEVER <= words <= MOST_WORDS:
        raise Invalid(f"summary_words must be between -1 and {MOST_WORDS}.", field="summary_words")
    return words


def words_wanted(
    own: int | None, folder_id: int | None, folders: Iterable[FolderRow], chosen: Preferences
) -> int:
    """How many words a new entry of this feed must have; `NEVER` when none is summarised."""
    if own is not None:
        return own
    rows = {row.id: row for row in folders}
    for id_ in ancestors(rows.values(), folder_id) if folder_id is not None else ():
        words = rows[id_].summary_words
        if words is not None:
            return words
    return chosen.auto_summary_words if chosen.auto_summaries else NEVER
