"""Stories: the list of them, and one told outlet by outlet."""

from reedbed.domain.records import record
from reedbed.web.views.frame import Count, FeedMark, Moment
from reedbed.web.views.framing import Framing


@record
class StoryRow:
    url: str
    title: str
    language: str
    when: Moment
    facts: str
    """How many outlets and how many of its entries are unread, in words."""
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
    title: str
    language: str
    when: Moment
    first_seen: Moment
    unread: bool
    only_here: tuple[str, ...] = ()
    neutral: str = ""
    """The neutral headline, where a model wrote one."""
    neutral_reason: str = ""
    framing: Framing | None = None


@record
class StoryPage:
    id: int
    title: str
    language: str
    facts: tuple[str, ...]
    outlets: tuple[OutletView, ...]
    apart: tuple[OutletView, ...]
    unread: Count
    compared: bool = False
    """Some outlet has scores."""
    told_apart: bool = False
    """Some outlet says what no other says."""
