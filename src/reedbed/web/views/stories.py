"""View models of stories: lists, pages, similar entries, and public copies."""

from reedbed.domain.records import record
from reedbed.domain.shared_stories import CopiedSentence
from reedbed.domain.stories.compare import TitlePart
from reedbed.web.views.framing import Framing
from reedbed.web.views.layout import Count, FeedMark, SelectOption, TimeView


@record
class StoryRow:
    id: int
    url: str
    title: str
    language: str
    when: TimeView
    facts: str
    """Number of outlets and of unread entries as text."""
    marks: tuple[FeedMark, ...]
    names: str
    unread: bool


@record
class StoriesPage:
    rows: tuple[StoryRow, ...]
    next_url: str = ""
    only_unread: bool = False
    any_unread: bool = False


@record
class OutletView:
    entry_id: int
    url: str
    feed: str
    mark: FeedMark
    title: tuple[TitlePart, ...]
    plain_title: str
    language: str
    when: TimeView
    unread: bool
    band: str
    """calm, mixed or loud"""
    facts: str = ""
    """How many words and quotations it has."""
    loudness: str = ""
    neutral: str = ""
    """The neutral headline, if a model wrote one."""
    neutral_reason: str = ""
    framing: Framing | None = None


@record
class TimelinePoint:
    feed: str
    mark: FeedMark
    when: TimeView
    after: str
    """How long after the first."""
    gap: int
    """Until the next one, in twentieths of the whole."""


@record
class StoryPicture:
    url: str
    address: str
    """Of the entry."""
    feed: str


@record
class StorySentence:
    text: str
    language: str
    outlets: tuple[OutletView, ...]


@record
class StoryPage:
    id: int
    title: str
    language: str
    facts: tuple[str, ...]
    outlets: tuple[OutletView, ...]
    apart: tuple[OutletView, ...]
    unread: Count
    opening: str = ""
    written_by: str = ""
    """The outlet that the headline and the opening are from."""
    pictures: tuple[StoryPicture, ...] = ()
    timeline: tuple[TimelinePoint, ...] = ()
    day: str = ""
    """The day of all reports; empty if there are several."""
    shared: tuple[StorySentence, ...] = ()
    alone: tuple[StorySentence, ...] = ()
    joined: tuple[SelectOption, ...] = ()
    """Stories that the user joined to it."""
    followed: bool = False
    """The user is notified when an entry joins it."""
    has_scores: bool = False


@record
class RelatedRow:
    id: int
    url: str
    title: str
    language: str
    feed: str
    mark: FeedMark
    when: TimeView


@record
class RelatedPage:
    id: int
    rows: tuple[RelatedRow, ...]


@record
class JoinPage:
    id: int
    title: str
    language: str
    rows: tuple[StoryRow, ...]


# --- Public copies


@record
class SharedReport:
    feed: str
    title: str
    url: str
    language: str
    when: TimeView
    quote: str


@record
class SharedStoryPage:
    """Without reports, nothing is there, and the title says why."""

    title: str
    language: str = ""
    facts: str = ""
    reports: tuple[SharedReport, ...] = ()
    shared: tuple[CopiedSentence, ...] = ()
    copied: str = ""
    """When the copy was made."""
