"""Summaries: variants, the state of queued summaries, retries, and which entries get one automatically."""

from collections.abc import Iterable
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.folders import FolderRow, ancestors
from reedbed.domain.records import record
from reedbed.domain.times import HOUR, MINUTE, SECOND, Instant, Millis
from reedbed.domain.users import MAX_WORDS, Preferences

PROMPT_VERSION = 1
EXTRACT = "extract"
"""The built-in extract, which needs no model."""
EXTRACT_VERSION = 2

MIN_WORDS = 220
"""Shorter texts get no summary: reading them takes hardly longer than reading the summary."""
LONG_WORDS = 400
"""From here on, the line in a list is the built-in one-line summary."""
NOT_NEEDED = Failure(FailureCode.SUMMARY_NOT_NEEDED)

OPENED = 10
BACKGROUND = 0

LEASE: Millis = 300 * SECOND
COOLDOWN: Millis = 24 * HOUR
MAX_ATTEMPTS = 5
MAX_EMPTY = 3
UNREADABLE_PAUSE: Millis = MINUTE
"""Before retrying after an unusable response; doubles each time."""

ErrorType = Literal["temporary", "permanent"]
Status = Literal["ready", "pending", "failed"]


@record
class Variant:
    """What distinguishes the summaries of one text: the model, the language and the prompt."""

    model: str = EXTRACT
    language: str = ""
    """Empty: the language of the article."""
    kind: str = "summary"
    version: int = PROMPT_VERSION

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.language}:{self.version}:{self.model}"

    def key(self, content_hash: str) -> str:
        return f"{content_hash}:{self.name}"


BUILT_IN = Variant(version=EXTRACT_VERSION)


@record
class Summary:
    text: str
    one_line: str
    model: str
    language: str


@record
class ModelWait:
    """Why the model is not called at the moment."""

    cause: Literal["paused", "budget", "silence"]
    """The operator paused it, the budget is used up, or the model does not respond."""
    since: Instant | None = None
    until: Instant | None = None
    """The next try, if known."""


@record
class SummaryState:
    status: Status
    summary: Summary | None = None
    error: Failure | None = None
    model: str = EXTRACT
    """The model that is or was used."""
    needed: bool = True
    """False: the text is so short, or says so much in its opening, that a summary would save no reading."""
    fallback: bool = False
    """The built-in extract is shown, because the model failed (`error`) or is not called now (`wait`)."""
    wait: ModelWait | None = None


@record
class FailureState:
    """The state of a queued summary after a failed attempt."""

    attempts: int
    empties: int
    error_type: ErrorType
    cooldown_until: Instant | None = None
    given_up: bool = False


AttemptResult = Literal["temporary", "limited", "permanent", "empty", "unreadable"]


def after_failure(failure: AttemptResult, attempts: int, empties: int, now: Instant) -> FailureState:
    """After five attempts, temporary failures pause for a day and start over; permanent ones are given up.

    An empty response counts as temporary until the third in a row. Empty and unreadable responses cost as
    much as good ones, so the next attempt is delayed.
    """
    empties = empties + 1 if failure == "empty" else 0
    permanent = failure in ("permanent", "unreadable") or empties >= MAX_EMPTY
    error_type: ErrorType = "permanent" if permanent else "temporary"
    attempts += 1
    if attempts < MAX_ATTEMPTS:
        pauses = failure in ("empty", "unreadable")
        pause = now + UNREADABLE_PAUSE * 2 ** (attempts - 1) if pauses else None
        return FailureState(attempts, empties, error_type, cooldown_until=pause)
    if permanent:
        return FailureState(attempts, empties, error_type, given_up=True)
    return FailureState(0, empties, error_type, cooldown_until=now + COOLDOWN)


NEVER = -1


def check_summary_words(words: int | None) -> int | None:
    """None: inherit; -1: never; else the minimum number of words."""
    if words is not None and not NEVER <= words <= MAX_WORDS:
        raise Invalid("summary_words must be between -1 and %(limit)s.", field="summary_words", limit=MAX_WORDS)
    return words


def min_summary_words(
    own: int | None, folder_id: int | None, folders: Iterable[FolderRow], preferences: Preferences
) -> int:
    """The minimum words for an automatic summary: the setting of the feed, else its folder, else the user."""
    chosen = _chosen_words(own, folder_id, folders)
    if chosen is not None:
        return chosen
    return preferences.auto_summary_words if preferences.auto_summaries else NEVER


def min_line_words(
    own: int | None, folder_id: int | None, folders: Iterable[FolderRow], preferences: Preferences
) -> int:
    """The minimum words for a built-in line in lists, which costs nothing; never where summaries are switched off."""
    if not preferences.one_lines or _chosen_words(own, folder_id, folders) == NEVER:
        return NEVER
    return LONG_WORDS


def _chosen_words(own: int | None, folder_id: int | None, folders: Iterable[FolderRow]) -> int | None:
    if own is not None:
        return own
    rows = {row.id: row for row in folders}
    for id_ in ancestors(rows.values(), folder_id) if folder_id is not None else ():
        words = rows[id_].summary_words
        if words is not None:
            return words
    return None
