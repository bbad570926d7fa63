"""Which new entries are summarised by themselves: a feed's own wish, else its folder's, else the user's."""

from collections.abc import Iterable
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow, ancestors
from reedbed.domain.records import record
from reedbed.domain.times import HOUR, MINUTE, SECOND, Instant, Millis
from reedbed.domain.users import MAX_WORDS, Preferences

PROMPT_VERSION = 1
EXTRACT = "extract"
"""The built-in one, which needs no model."""

OPENED = 10
BACKGROUND = 0

LEASE: Millis = 300 * SECOND
COOLDOWN: Millis = 24 * HOUR
MAX_ATTEMPTS = 5
MAX_EMPTY = 3
UNREADABLE_PAUSE: Millis = MINUTE
"""Before a text is tried again whose answer was nonsense; twice as long each time."""

ErrorType = Literal["temporary", "permanent"]
Status = Literal["ready", "pending", "failed"]


@record
class Variant:
    """Everything beside the text that makes a summary another one: the writer, the language, the question."""

    model: str = EXTRACT
    language: str = ""
    """Empty: the article's own."""
    kind: str = "summary"
    version: int = PROMPT_VERSION

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.language}:{self.version}:{self.model}"

    def key(self, content_hash: str) -> str:
        return f"{content_hash}:{self.name}"


@record
class Summary:
    text: str
    one_line: str
    model: str
    language: str


@record
class ModelWait:
    """Why the model is not asked at the moment."""

    cause: Literal["paused", "budget", "silence"]
    """The operator has paused all, the budget is used up, or the model stopped answering."""
    since: Instant | None = None
    until: Instant | None = None
    """The next try, where it is known."""


@record
class SummaryState:
    status: Status
    summary: Summary | None = None
    error: str | None = None
    model: str = EXTRACT
    """Who is asked, or was."""
    fallback: bool = False
    """The built-in extract stands in for the model, which failed (`error`) or is not asked now (`wait`)."""
    wait: ModelWait | None = None


@record
class FailureState:
    """What becomes of a queued summary after a failed attempt."""

    attempts: int
    empties: int
    error_type: ErrorType
    cooldown_until: Instant | None = None
    given_up: bool = False


Failure = Literal["temporary", "limited", "permanent", "empty", "unreadable"]


def after_failure(failure: Failure, attempts: int, empties: int, now: Instant) -> FailureState:
    """Temporary ones rest for a day after five attempts and begin again; permanent ones end there.

    An empty answer is a temporary failure until it has come three times in a row. Empty and unreadable
    answers cost as much as good ones, so the next attempt waits.
    """
    empties = empties + 1 if failure == "empty" else 0
    lasting = failure in ("permanent", "unreadable") or empties >= MAX_EMPTY
    error_type: ErrorType = "permanent" if lasting else "temporary"
    attempts += 1
    if attempts < MAX_ATTEMPTS:
        pauses = failure in ("empty", "unreadable")
        pause = now + UNREADABLE_PAUSE * 2 ** (attempts - 1) if pauses else None
        return FailureState(attempts, empties, error_type, cooldown_until=pause)
    if lasting:
        return FailureState(attempts, empties, error_type, given_up=True)
    return FailureState(0, empties, error_type, cooldown_until=now + COOLDOWN)


NEVER = -1


def check_summary_words(words: int | None) -> int | None:
    """None: as around it; -1: never; else at least so many words."""
    if words is not None and not NEVER <= words <= MAX_WORDS:
        raise Invalid(f"summary_words must be between -1 and {MAX_WORDS}.", field="summary_words")
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
