"""Digests: one of them with its sources, the list of them, who writes; and the operator's view of it."""

from reedbed.domain.records import record
from reedbed.web.views.frame import Choice, Count, Moment
from reedbed.web.views.operator import Plot


@record
class Cite:
    number: int
    source: str


@record
class Sentence:
    text: str
    cites: tuple[Cite, ...]
    language: str = ""


@record
class Paragraph:
    heading: str
    sentences: tuple[Sentence, ...]


@record
class Source:
    number: int
    url: str
    title: str
    feed: str
    when: Moment
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
    paragraphs: tuple[Paragraph, ...] = ()
    sources: tuple[Source, ...] = ()


@record
class DigestLine:
    id: int
    url: str
    when: Moment
    about: str
    facts: str
    status: str
    beginning: str = ""


@record
class DigestsPage:
    lines: tuple[DigestLine, ...]
    about: tuple[Choice, ...]
    planned_about: tuple[Choice, ...]
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
class GivenUp:
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
    given_up: tuple[GivenUp, ...] = ()
    """The newest, by reason."""


@record
class UnsubscribePage:
    """Behind the link of a letter; whoever has it needs no log-in."""

    token: str
    done: bool = False
