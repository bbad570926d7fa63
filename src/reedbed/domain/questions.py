"""Questions about a user's own entries: the words to search for, the best passages, and the answer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from reedbed.domain.digests import DigestScope, Sentence, Source, Status
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import clean_line, index_text, is_cjk
from reedbed.domain.times import Instant

MAX_QUESTION_LENGTH = 500
MAX_WORDS = 16
CANDIDATES = 60
"""The number of entries that are searched."""
READ = 12
"""The number of entries that are given to a model."""
KEPT = 500
"""The number of questions kept per user; older ones are deleted."""

FAILED = "The question could not be answered. Ask again later."

_MIN_STEM = 4
_QUESTION_WORDS = """
tell told write writes written wrote report reports reported mean means happened happen happens whom whose
anything something everything news latest recently today yesterday currently please explain describe summarise
summarize summary wer wen wem wessen was wann warum wieso weshalb welche welcher welches wieviel heute gestern
quoi quels quelles combien comment hier aujourd hui quien quienes cuál cuáles cuando cuándo dónde cómo cuánto
cuántos chi cosa quando quanto quale quali wie welke hoeveel waarom wanneer кто что когда где почему зачем
сколько какой какая какие
"""
_QUESTION_STOPWORDS = frozenset(_QUESTION_WORDS.split())


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


@record
class Question:
    id: int
    user_id: int
    question: str
    status: Status
    scope: DigestScope
    model: str
    error: str | None
    created_at: Instant
    finished_at: Instant | None
    answer: AnswerText = field(default=AnswerText())


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

    @cached_property
    def folded(self) -> str:
        return padded(f"{self.title} {self.text}")


def check_question(text: str) -> str:
    line = clean_line(text)
    if not line:
        raise Invalid("Type a question.", field="question")
    if len(line) > MAX_QUESTION_LENGTH:
        raise Invalid(f"A question has at most {MAX_QUESTION_LENGTH} characters.", field="question")
    return line


def question_stems(question: str) -> tuple[str, ...]:
    """The stems of the question's content words, in the form of the search index."""
    stopwords = _stopwords()
    words = (word for word in index_text(question).split() if word not in stopwords)
    useful = (word for word in words if len(word) > 1 or word.isdigit())
    return tuple(dict.fromkeys(map(_stem, useful)))[:MAX_WORDS]


def search_for(words: Iterable[str], scope_query: str | None) -> str:
    """A search query for any of the words within the scope."""
    any_word = " OR ".join(f"{word}*" if _matches_prefix(word) else word for word in words)
    return f"{any_word} {scope_query or ''}".strip()


def weights(words: Sequence[str], passages: Sequence[CitablePassage]) -> dict[str, float]:
    """The weight of each word: the rarer among these entries, the higher."""
    counts = {word: sum(contains(passage.folded, word) for passage in passages) for word in words}
    return {word: math.log1p(len(passages) / count) if count else 1.0 for word, count in counts.items()}


def best_passages(worth: Mapping[str, float], passages: Sequence[CitablePassage]) -> list[CitablePassage]:
    """The passages with the highest coverage first; ties keep the given order."""
    scored = [(_score(passage, worth), -index) for index, passage in enumerate(passages)]
    order = sorted(range(len(passages)), key=lambda index: scored[index], reverse=True)
    return [passages[index] for index in order[:READ]]


def coverage(folded: str, worth: Mapping[str, float]) -> float:
    """The weighted share of the question's words in the text, between 0 and 1."""
    total = sum(worth.values())
    return sum(value for word, value in worth.items() if contains(folded, word)) / total if total else 0.0


def contains(folded: str, word: str) -> bool:
    return f" {word}" in folded if _matches_prefix(word) else f" {word} " in folded


def padded(text: str) -> str:
    """Folded, with a space on each side of every word."""
    return f" {' '.join(index_text(text).split())} "


def _score(passage: CitablePassage, worth: Mapping[str, float]) -> float:
    return coverage(passage.folded, worth) + coverage(padded(passage.title), worth) / 2


def _stem(word: str) -> str:
    """Crude stemming, so that a question in the plural matches a text in the singular."""
    if is_cjk(word) or word[0].isdigit():
        return word
    if len(word) >= 6:
        return word[: max(5, len(word) - 3)]
    return word[:-1] if len(word) > _MIN_STEM and word.endswith("s") else word


def _matches_prefix(word: str) -> bool:
    return len(word) >= _MIN_STEM and not is_cjk(word) and not word.isdigit()


@cache
def _stopwords() -> frozenset[str]:
    from reedbed.domain.stopwords import SMALL  # imported on first use: three megabytes of words and patterns

    return frozenset(token for word in SMALL | _QUESTION_STOPWORDS for token in index_text(word).split())
