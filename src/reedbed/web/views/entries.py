"""Stories: the list of them, and one told outlet by outlet."""

from markupsafe import Markup

from reedbed.domain.records import record
from reedbed.web.views.feeds import FeedRowView
from reedbed.web.views.framing import Framing, FramingBlock, Neutral, ScoreBars
from reedbed.web.views.layout import Count, FeedMark, HiddenField, SelectOption, TimeView
from reedbed.web.views.newsletters import Confirm, MailFacts


@record
class EntryRowView:
    id: int
    url: str
    title: str | Markup
    """Markup only where a search marks its hits."""
    feed_id: int
    source: str
    mark: FeedMark
    when: TimeView
    text: str | Markup = ""
    language: str = ""
    picture: str = ""
    unread: bool = False
    starred: bool = False
    later: bool = False
    current: bool = False
    outlets: int = 0
    story_url: str = ""
    reeds: ScoreBars | None = None
    dim: bool = False


@record
class Day:
    key: str
    name: str
    rows: tuple[EntryRowView, ...]
    continued: bool = False
    """The heading was already on the page before this one."""


@record
class Empty:
    icon: str
    heading: str
    text: str = ""
    action_url: str = ""
    action: str = ""
    acts: bool = False
    """The action does something; otherwise it leads somewhere."""


@record
class SearchBox:
    query: str
    can_save: bool = False


@record
class EntryListView:
    title: str
    address: str
    """The view's own path, e.g. `/folder/3`; the address of an entry in it is this + `/entry/{id}`."""
    days: tuple[Day, ...] = ()
    count: Count | None = None
    count_key: str = ""
    scope: tuple[HiddenField, ...] = ()
    """What the mark-read forms send to say which view they mean."""
    orders: tuple[SelectOption, ...] = ()
    densities: tuple[SelectOption, ...] = ()
    density: str = "cards"
    more_url: str = ""
    empty: Empty | None = None
    search: SearchBox | None = None
    feed_edit_url: str = ""
    can_mark: bool = True
    marks_on_scroll: bool = False
    hidden: int = 0
    """Entries of this part of the list that are left out, because the user hides what is so loud."""
    hidden_url: str = ""
    confirmations: tuple[Confirm, ...] = ()
    """Mails above the list that wait for a click."""
    trouble: FeedRowView | None = None
    """The feed whose list this is, if it fails: why, and what to do."""


@record
class SummaryView:
    state: str
    """ready, pending or unavailable"""
    text: str = ""
    by: str = ""
    why: str = ""
    """Why it is unavailable; of a ready one, why the built-in extract stands in for the model."""
    language: str = ""
    asked: bool = True
    """A pending one that nobody has asked for asks by itself, once it is shown."""
    seconds: int = 4
    """How often a pending one looks again."""


@record
class StoryHint:
    """Other outlets on the same event."""

    words: str
    url: str
    marks: tuple[FeedMark, ...]


@record
class FullText:
    shown: bool
    failed: str = ""


@record
class EnclosureView:
    url: str
    kind: str
    """audio, video, image or file"""
    name: str
    type: str = ""
    facts: str = ""
    """Length and size in words: "42 min, 38 MB"."""
    position: int = 0


@record
class HighlightView:
    id: int
    quote: str
    note: str = ""
    when: TimeView | None = None
    before: str = ""
    """What stood before and after it, to paint it there and not on the same words elsewhere."""
    after: str = ""


@record
class Neighbour:
    url: str
    title: str
    language: str = ""


@record
class ArticleView:
    id: int
    title: str
    feed_name: str
    feed_url: str
    mark: FeedMark
    when: TimeView
    body: Markup
    list_url: str
    feed_id: int = 0
    original_url: str = ""
    language: str = ""
    direction: str = "auto"
    author: str = ""
    minutes: str = ""
    read: bool = True
    starred: bool = False
    later: bool = False
    bookmarked: bool = False
    tags: tuple[str, ...] = ()
    known_tags: tuple[str, ...] = ()
    summary: SummaryView | None = None
    framing: FramingBlock | None = None
    neutral: Neutral | None = None
    """Set: title and body are in neutral words."""
    wordings: tuple[SelectOption, ...] = ()
    """Original and neutral, each with its address; empty when there is no neutral wording."""
    alike: StoryHint | None = None
    mail: MailFacts | None = None
    full: FullText | None = None
    enclosures: tuple[EnclosureView, ...] = ()
    versions: int = 0
    changed: TimeView | None = None
    highlights: tuple[HighlightView, ...] = ()
    previous: Neighbour | None = None
    next: Neighbour | None = None


@record
class ReadingPage:
    title: str
    entries: EntryListView | None = None
    """None for an entry that stands alone."""
    article: ArticleView | None = None
    shows: str = "list"
    """Which pane a phone shows: nav, list or article."""


@record
class VersionChange:
    kind: str
    """same, added or removed"""
    text: str


@record
class Version:
    number: int
    when: TimeView
    url: str
    current: bool = False


@record
class VersionsPage:
    entry_url: str
    title: str
    language: str
    versions: tuple[Version, ...]
    compared: str
    title_changes: tuple[VersionChange, ...]
    paragraphs: tuple[tuple[VersionChange, ...], ...]


@record
class SummaryAnswer:
    """What `reading/summary.html` needs when it is the whole answer; given to it as `article`."""

    id: int
    summary: SummaryView


@record
class TagsAnswer:
    """What `reading/tags.html` needs when it is the whole answer; given to it as `article`."""

    id: int
    tags: tuple[str, ...]
    known_tags: tuple[str, ...]


@record
class HighlightsAnswer:
    """What `reading/highlights.html` needs when it is the whole answer; given to it as `article`."""

    id: int
    language: str
    highlights: tuple[HighlightView, ...]


@record
class StoryRow:
    url: str
    title: str
    language: str
    when: TimeView
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
    when: TimeView
    first_seen: TimeView
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
