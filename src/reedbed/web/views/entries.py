"""View models of entry lists, articles, entry versions and stories."""

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
    """Markup only if a search highlights matches."""
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
    """The previous page already showed this heading."""


@record
class Empty:
    icon: str
    heading: str
    text: str = ""
    action_url: str = ""
    action: str = ""
    acts: bool = False
    """The action is a form to submit; otherwise a link."""


@record
class SearchBox:
    query: str
    can_save: bool = False


@record
class EntryListView:
    title: str
    address: str
    """The path of the view, e.g. `/folder/3`; an entry in it has this path + `/entry/{id}`."""
    days: tuple[Day, ...] = ()
    count: Count | None = None
    count_key: str = ""
    scope: tuple[HiddenField, ...] = ()
    """Hidden fields with which mark-read forms name the view."""
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
    """Number of entries on this page that are left out because the user hides loud entries."""
    hidden_url: str = ""
    confirmations: tuple[Confirm, ...] = ()
    """Newsletter subscriptions to confirm, shown above the list."""
    trouble: FeedRowView | None = None
    """The feed of this list if it fails, with the reason and an action."""


@record
class SummaryView:
    state: str
    """ready, pending or unavailable"""
    text: str = ""
    by: str = ""
    why: str = ""
    """Why it is unavailable; if ready, why it is the built-in extract instead of the model's text."""
    language: str = ""
    asked: bool = True
    """False: nobody requested it yet, so the block requests it once it is visible."""
    seconds: int = 4
    """Polling interval while pending."""


@record
class StoryHint:
    """Other outlets that report the same event."""

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
    """Duration and size as text: "42 min, 38 MB"."""
    position: int = 0


@record
class HighlightView:
    id: int
    quote: str
    note: str = ""
    when: TimeView | None = None
    before: str = ""
    """The text before and after the quote, to find the right place if the quote occurs twice."""
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
    """If set, title and body are in neutral wording."""
    wordings: tuple[SelectOption, ...] = ()
    """Original and neutral, each with its URL; empty if there is no neutral wording."""
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
    """None for an entry shown without a list."""
    article: ArticleView | None = None
    shows: str = "list"
    """Which pane a phone shows: nav, list or article."""


# --- Versions


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
    """What `entries/summary.html` needs when rendered alone; passed as `article`."""

    id: int
    summary: SummaryView


@record
class TagsAnswer:
    """What `entries/tags.html` needs when rendered alone; passed as `article`."""

    id: int
    tags: tuple[str, ...]
    known_tags: tuple[str, ...]


@record
class HighlightsAnswer:
    """What `entries/highlights.html` needs when rendered alone; passed as `article`."""

    id: int
    language: str
    highlights: tuple[HighlightView, ...]


# --- Stories


@record
class StoryRow:
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
    title: str
    language: str
    when: TimeView
    first_seen: TimeView
    unread: bool
    only_here: tuple[str, ...] = ()
    neutral: str = ""
    """The neutral headline, if a model wrote one."""
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
    """At least one outlet has framing scores."""
    told_apart: bool = False
    """At least one outlet reports something that no other does."""
