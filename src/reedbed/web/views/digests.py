"""View models of digests, questions and the AI admin page."""

from reedbed.domain.records import record
from reedbed.web.views.instance import Plot
from reedbed.web.views.layout import Count, FeedMark, SelectOption, TimeView


@record
class SourceView:
    entry_id: int
    number: int
    url: str
    title: str
    feed: str
    mark: FeedMark
    when: TimeView
    language: str = ""


@record
class SentenceView:
    text: str
    cites: tuple[SourceView, ...]
    language: str = ""
    outlets: str = ""
    """How many outlets, as text."""
    newest: TimeView | None = None
    is_liked: bool = False
    """It stands higher because the reader likes to read such entries."""


@record
class ParagraphView:
    heading: str
    sentences: tuple[SentenceView, ...]
    kind: str = ""
    """top, folder or more; empty in digests of version 0.1"""


@record
class DigestPage:
    id: int
    title: str
    about: str
    """The name of its scope; empty: everything."""
    facts: str
    """Number of entries, feeds and items as text."""
    status: str
    error: str = ""
    by: str = ""
    built_in: bool = True
    fallback: bool = False
    """The model failed, so this is the built-in extract."""
    paragraphs: tuple[ParagraphView, ...] = ()
    entry_ids: tuple[int, ...] = ()
    """Those that it cites."""
    sources: tuple[SourceView, ...] = ()
    """The numbered sources of a digest of version 0.1, whose paragraphs have no kind."""
    image: str = ""
    left_out: str = ""
    reading_time: str = ""
    can_mail: bool = False
    can_listen: bool = False
    """The server can read it aloud."""
    listening_time: str = ""


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
    """The configured remote model; empty: none."""
    uses_model: bool = False
    automatic: bool = False
    least_words: int = 0
    one_lines: bool = True
    time: str = ""
    """Time of the daily digest; empty: none."""
    mail: bool = False
    can_mail: bool = False
    error: str = ""


@record
class AbandonedDigest:
    """Texts that failed for the same reason."""

    why: str
    facts: str
    """How many, and the time of the last one, as text."""


@record
class AiPage:
    model: str
    built_in: bool
    """There is no model; summaries are extracts of the entries."""
    state: str
    """CLOSED, OPEN or HALF"""
    paused: bool
    failed: str
    """When the model failed last, as text; empty: never."""
    waiting: Count
    running: Count
    cooling: Count
    failures: Count
    plots: tuple[Plot, ...]
    given_up: tuple[AbandonedDigest, ...] = ()
    """The newest failures by reason."""


@record
class UnsubscribePage:
    """The target of the unsubscribe link in digest mails; it needs no login."""

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
    """The first sentence of the answer, or why there is none."""


@record
class AskPage:
    lines: tuple[QuestionView, ...]
    about: tuple[SelectOption, ...]
    question: str = ""
    error: str = ""
    next_url: str = ""
    sends_to: str = ""
    """The remote model that reads the matching entries; empty: nothing leaves this machine."""


@record
class QuoteView:
    """The words of an entry that an answer rests on."""

    text: str
    source: SourceView
    language: str = ""
    is_first: bool = True
    """Of its source."""


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
    """A model's sentences. Without a model an answer consists of quotes alone."""
    quotes: tuple[QuoteView, ...] = ()
    sources: tuple[SourceView, ...] = ()
    """Those of which no words are quoted."""
    nearest: tuple[SourceView, ...] = ()
    """If nothing answers the question: the entries that come closest."""
    missing: str = ""
    """Words of the question that no entry has."""
    search_url: str = ""
    can_be_watched: bool = False
    is_watched: bool = False
    """The user is notified when an entry answers it."""
    copy: str = ""
    """The answer with its sources, as text."""
    ask_next: tuple[str, ...] = ()
    """Names in the answer."""
    about: str = ""
    """Its scope, as the value of a form."""
