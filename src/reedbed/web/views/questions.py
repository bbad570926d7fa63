"""Questions: the field to ask in with the history below it, and one answer with its sources."""

from dataclasses import dataclass

from reedbed.web.views.digests import Sentence, Source
from reedbed.web.views.frame import Choice, Moment


@dataclass(frozen=True, slots=True)
class QuestionLine:
    id: int
    url: str
    question: str
    when: Moment
    status: str
    beginning: str
    """Of the answer, or that there is none."""


@dataclass(frozen=True, slots=True)
class AskPage:
    lines: tuple[QuestionLine, ...]
    about: tuple[Choice, ...]
    question: str = ""
    error: str = ""
    next_url: str = ""
    sends_to: str = ""
    """The model that reads the entries found; empty: nothing leaves this machine."""


@dataclass(frozen=True, slots=True)
class QuestionPage:
    id: int
    question: str
    when: Moment
    status: str
    facts: str
    by: str
    built_in: bool
    fallback: bool
    error: str = ""
    claims: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
