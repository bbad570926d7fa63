"""Questions about a user's own entries: the words to search for, the best passages, and the answer."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from reedbed.domain.digests import DigestScope, Sentence, Source, Status
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.stopwords import SMALL
from reedbed.domain.text import clean_line, is_cjk
from reedbed.domain.times import MINUTE, Instant

MAX_QUESTION_LENGTH = 500
MAX_WORDS = 28
CANDIDATES = 60
"""The number of entries that are searched."""
READ = 12
"""The number of entries that are given to a model."""
WATCHED_PER_RUN = 50
"""The number of watched questions that are asked again at a time, those first that have waited longest."""
ASKED_AGAIN_AFTER = 15 * MINUTE
MAX_WATCHED = 20
"""The number of watched questions per user."""
MAX_KEPT = 500
"""The number of questions kept per user; older ones are deleted."""

FAILED = Failure(FailureCode.QUESTION_FAILED)

_MIN_PREFIX = 4
MAX_NEXT, MAX_NAME = 3, 5
_CAPITALISED = r"[^\W\d_a-zß-öø-ÿ][\w’'-]+"
_NAME = re.compile(rf"{_CAPITALISED}(?: (?:(?:of|the|de|del|la|von|van|der|den) ){{0,2}}{_CAPITALISED})+")


@record
class AnswerText:
    """Without claims, the entries do not answer the question."""

    claims: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
    read: int = 0
    """The number of entries read."""
    dropped: int = 0
    """The number of claims removed because no entry supported them."""
    fallback: bool = False
    """The model did not answer, so sentences of the entries are used."""
    nearest: tuple[Source, ...] = ()
    """Without claims: the entries that come closest."""
    missing: tuple[str, ...] = ()
    """Without claims: words of the question that none of these entries has."""


@record
class Question:
    id: int
    user_id: int
    question: str
    status: Status
    scope: DigestScope
    model: str
    error: Failure | None
    created_at: Instant
    finished_at: Instant | None
    watched_at: Instant | None = None
    """Set: the user wants to know when an entry answers it; then it was looked for last."""
    answer: AnswerText = field(default=AnswerText())

    @property
    def can_be_watched(self) -> bool:
        return self.status == "ready" and not self.answer.claims


@dataclass(frozen=True)
class CitablePassage:
    """An entry that may contain an answer."""

    entry_id: int
    title: str
    text: str
    """Plain text, one line per block."""
    feed_id: int
    feed: str
    at: Instant
    language: str = ""


def check_question(text: str) -> str:
    line = clean_line(text)
    if not line:
        raise Invalid("Type a question.", field="question")
    if len(line) > MAX_QUESTION_LENGTH:
        raise Invalid("A question has at most %(limit)s characters.", field="question", limit=MAX_QUESTION_LENGTH)
    return line


def names_to_ask(question: Question) -> tuple[str, ...]:
    """Names of several words in the answer that the question does not have: what somebody may ask about next."""
    asked = question.question.casefold()
    found: dict[str, str] = {}
    for claim in question.answer.claims:
        for match in _NAME.finditer(claim.text):
            words = match[0].removesuffix("’s").removesuffix("'s").split(" ")
            while words and words[0].casefold() in SMALL:
                words.pop(0)
            if claim.language.startswith("de"):  # a noun before a name has a capital, too: "Minister Theo Brandner"
                words = words[-2:]
            name = " ".join(words)
            is_name = 1 < len(words) <= MAX_NAME and words[0][0].isupper() and words[-1][0].isupper()
            if is_name and not name.isupper() and words[-1].casefold() not in asked:
                found.setdefault(words[-1], name)
    return tuple(found.values())[:MAX_NEXT]


def search_for(words: Iterable[str], scope_query: str | None) -> str:
    """A search query for any of the words within the scope; longer ones also as beginnings of words."""
    any_word = " OR ".join(f"{word}*" if _matches_prefix(word) else word for word in tuple(words)[:MAX_WORDS])
    return f"{any_word} {scope_query or ''}".strip()


def _matches_prefix(word: str) -> bool:
    return len(word) >= _MIN_PREFIX and not is_cjk(word) and not word.isdigit()
