"""Questions: the field to ask in with the history below it, and one answer with its sources."""

from reedbed.domain.records import record
from reedbed.web.views.digests import Sentence, Source
from reedbed.web.views.frame import Choice, Moment


@record
class QuestionLine:
    id: int
    url: str
    question: str
    when: Moment
    status: str
    beginning: str
    """Of the answer, or that there is none."""


@record
class AskPage:
    lines: tuple[QuestionLine, ...]
    about: tuple[Choice, ...]
    question: str = ""
    error: str = ""
    next_url: str = ""
    sends_to: str = ""
    """The model that reads the entries found; empty: nothing leaves this machine."""


@record
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
