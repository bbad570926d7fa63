"""Questions over one's own entries: which words to look for, where they are told best, what an answer is."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from reedbed.domain.digests import DigestScope, Sentence, Source, Status
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import index_text, is_cjk, shown_line
from reedbed.domain.times import Instant

MAX_QUESTION_LENGTH = 500
MAX_WORDS = 16
CANDIDATES = 60
"""So many entries are looked through."""
READ = 12
"""So many of them are given to a model."""
KEPT = 500
"""Questions of one user; older ones are forgotten."""

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
_ASKING = frozenset(_QUESTION_WORDS.split())


@record
class AnswerText:
    """Without claims: the entries do not tell."""

    claims: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
    read: int = 0
    """Entries that were read for it."""
    dropped: int = 0
    """Claims left out because no entry supported them."""
    fallback: bool = False
    """A model was to be asked, but did not answer."""


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
    """An entry to look for an answer in."""

    entry_id: int
    title: str
    text: str
    """Plain, a line for each block."""
    feed_id: int
    feed: str
    at: Instant
    language: str = ""

    @cached_property
    def folded(self) -> str:
        return padded(f"{self.title} {self.text}")


def check_question(text: str) -> str:
    line = shown_line(text)
    if not line:
        raise Invalid("Type a question.", field="question")
    if len(line) > MAX_QUESTION_LENGTH:
        raise Invalid(f"A question has at most {MAX_QUESTION_LENGTH} characters.", field="question")
    return line


def sought_words(question: str) -> tuple[str, ...]:
    """Beginnings of the words that say what is asked about, as the index knows them."""
    small = _folded_small()
    words = (word for word in index_text(question).split() if word not in small)
    useful = (word for word in words if len(word) > 1 or word.isdigit())
    return tuple(dict.fromkeys(map(_stem, useful)))[:MAX_WORDS]


def search_for(words: Iterable[str], within: str | None) -> str:
    """Any of the words, and all of what the scope asks for."""
    either = " OR ".join(f"{word}*" if _may_go_on(word) else word for word in words)
    return f"{either} {within or ''}".strip()


def weights(words: Sequence[str], passages: Sequence[CitablePassage]) -> dict[str, float]:
    """What finding each word is worth: the rarer among these entries, the more."""
    found = {word: sum(contains(one.folded, word) for one in passages) for word in words}
    return {word: math.log1p(len(passages) / number) if number else 1.0 for word, number in found.items()}


def best_passages(worth: Mapping[str, float], passages: Sequence[CitablePassage]) -> list[CitablePassage]:
    """Those that hold most of the words, first; in the order given where they hold the same."""
    scored = [(_score(one, worth), -place) for place, one in enumerate(passages)]
    order = sorted(range(len(passages)), key=lambda place: scored[place], reverse=True)
    return [passages[place] for place in order[:READ]]


def coverage(folded: str, worth: Mapping[str, float]) -> float:
    """The share of what was asked about that is named here, between 0 and 1."""
    whole = sum(worth.values())
    return sum(value for word, value in worth.items() if contains(folded, word)) / whole if whole else 0.0


def contains(folded: str, word: str) -> bool:
    return f" {word}" in folded if _may_go_on(word) else f" {word} " in folded


def padded(text: str) -> str:
    """Folded, with a blank on each side of every word."""
    return f" {' '.join(index_text(text).split())} "


def _score(passage: CitablePassage, worth: Mapping[str, float]) -> float:
    return coverage(passage.folded, worth) + coverage(padded(passage.title), worth) / 2


def _stem(word: str) -> str:
    """Endings differ more than beginnings; what is asked in the plural may be told in the singular."""
    if is_cjk(word) or word[0].isdigit():
        return word
    if len(word) >= 6:
        return word[: max(5, len(word) - 3)]
    return word[:-1] if len(word) > _MIN_STEM and word.endswith("s") else word


def _may_go_on(word: str) -> bool:
    return len(word) >= _MIN_STEM and not is_cjk(word) and not word.isdigit()


@cache
def _folded_small() -> frozenset[str]:
    from reedbed.domain.stopwords import SMALL  # three megabytes of words and patterns, once needed

    return frozenset(token for word in SMALL | _ASKING for token in index_text(word).split())
