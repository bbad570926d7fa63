"""Questions: the field to ask in with the history below it, and one answer with its sources."""

from reedbed.domain.records import record
from reedbed.web.views.instance import Plot
from reedbed.web.views.layout import Count, SelectOption, TimeView


@record
class CitationView:
    number: int
    source: str


@record
class SentenceView:
    text: str
    cites: tuple[CitationView, ...]
    language: str = ""


@record
class ParagraphView:
    heading: str
    sentences: tuple[SentenceView, ...]


@record
class SourceView:
    number: int
    url: str
    title: str
    feed: str
    when: TimeView
    language: str = ""


@record
class DigestPage:
    id: int
    title: str
    about: str
    """What it is told from; empty: everything."""
    facts: str
    """How many entries of how many feeds, in words."""
    status: str
    error: str = ""
    by: str = ""
    built_in: bool = True
    fallback: bool = False
    """The model did not answer; the built-in extract stands in for it."""
    paragraphs: tuple[ParagraphView, ...] = ()
    sources: tuple[SourceView, ...] = ()


@record
class DigestRowView:
    id: int
    url: str
    when: TimeView
    about: str
    facts: str
    status: str
    beginning: str = ""


@record
class DigestsPage:
    lines: tuple[DigestRowView, ...]
    about: tuple[SelectOption, ...]
    planned_about: tuple[SelectOption, ...]
    next_url: str = ""
    model: str = ""
    """The operator's model, if there is one."""
    uses_model: bool = False
    automatic: bool = False
    least_words: int = 0
    time: str = ""
    """Of the daily digest; empty: none."""
    mail: bool = False
    can_mail: bool = False
    error: str = ""


@record
class AbandonedDigest:
    """Texts that were given up for one reason."""

    why: str
    facts: str
    """How many, and when the last one, in words."""


@record
class AiPage:
    model: str
    built_in: bool
    """There is no model; entries are told in sentences of their own."""
    state: str
    """CLOSED, OPEN or HALF"""
    paused: bool
    failed: str
    """When the model failed last, in words; empty: never."""
    waiting: Count
    running: Count
    cooling: Count
    failures: Count
    plots: tuple[Plot, ...]
    given_up: tuple[AbandonedDigest, ...] = ()
    """The newest, by reason."""


@record
class UnsubscribePage:
    """Behind the link of a letter; whoever has it needs no log-in."""

    token: str
    done: bool = False


@record
class QuestionView:
    id: int
    url: str
    question: str
    when: TimeView
    status: str
    beginning: str
    """Of the answer, or that there is none."""


@record
class AskPage:
    lines: tuple[QuestionView, ...]
    about: tuple[SelectOption, ...]
    question: str = ""
    error: str = ""
    next_url: str = ""
    sends_to: str = ""
    """The model that reads the entries found; empty: nothing leaves this machine."""


@record
class QuestionPage:
    id: int
    question: str
    when: TimeView
    status: str
    facts: str
    by: str
    built_in: bool
    fallback: bool
    error: str = ""
    claims: tuple[SentenceView, ...] = ()
    sources: tuple[SourceView, ...] = ()
