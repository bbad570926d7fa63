"""View models of entry lists, articles and entry versions."""

from markupsafe import Markup

from reedbed.domain.records import record
from reedbed.web.views.feeds import FeedRowView
from reedbed.web.views.framing import FramingBlock, Neutral, ScoreBars
from reedbed.web.views.interest import OrderNote, WhyView
from reedbed.web.views.layout import Count, FeedMark, HiddenField, SelectOption, TimeView
from reedbed.web.views.newsletters import Confirm, MailFacts


@record
class PostLinkView:
    url: str
    words: str
    """Title and host, or the address."""


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
    picture_widths: str = ""
    """`srcset` of the picture, if the image proxy scales it down."""
    picture_size: str = ""
    picture_box: tuple[int, int] = (144, 144)
    shaped: bool = False
    """The box has the shape of the picture."""
    strip: bool = False
    """So wide that it spans two columns."""
    unread: bool = False
    starred: bool = False
    later: bool = False
    current: bool = False
    outlets: int = 0
    story_url: str = ""
    score_bars: ScoreBars | None = None
    dim: bool = False
    post: bool = False
    """Without a title: the row shows the text itself."""
    link: PostLinkView | None = None
    """The only link of a post."""
    boosted_from: str = ""
    """Who wrote a post that the feed's account passed on."""
    lead: bool = False
    """The first row of a magazine, shown large if it has a picture."""
    original: str = ""
    also_in: str = ""
    """The other feeds with the same address."""
    interest: str = ""
    """That it is worth it, or from outside the user's taste."""
    why: str = ""
    """Why it stands where it does, in a list that is ranked by interest."""
    length: str = ""
    """Of its audio or video, or what is left of it; a check mark once it was played."""


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
    other_url: str = ""
    other: str = ""


@record
class SearchChip:
    """A filter of the query, which the link removes, or another one, which it adds."""

    text: str
    url: str
    chosen: bool = False


@record
class WaitingEntry:
    url: str
    title: str
    source: str
    since: str
    """How long it has waited: "In Later for 6 days"."""
    language: str = ""
    picture: str = ""


@record
class AllReadView:
    """The empty list of unread entries: what was read today, when feeds are checked next, and one suggestion."""

    next_check: str
    read: Count
    minutes: Count
    starred: Count
    suggestion: WaitingEntry | None = None


@record
class SearchBox:
    query: str
    can_save: bool = False
    chips: tuple[SearchChip, ...] = ()
    count_url: str = ""
    meant: str = ""
    """Another search that finds something."""
    meant_url: str = ""


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
    settings_name: str = ""
    """The name under which the settings of the list are kept."""
    switch: tuple[SelectOption, ...] = ()
    """Unread or all; empty if the list shows only one of them."""
    orders: tuple[SelectOption, ...] = ()
    """With a URL: a link; otherwise a setting of the list."""
    layouts: tuple[SelectOption, ...] = ()
    layout: str = "cards"
    days_choice: bool | None = None
    folds_stories: bool | None = None
    one_feed: bool = False
    """All entries are of one feed, so that rows need not name it."""
    more_url: str = ""
    empty: Empty | None = None
    all_read: AllReadView | None = None
    search: SearchBox | None = None
    feed_edit_url: str = ""
    can_mark: bool = True
    order_note: OrderNote | None = None
    """What the list says about its order."""
    by_time: bool = True
    """Ordered by time, so that "above" and "below" mean newer and older."""
    marks_on_scroll: bool = False
    hidden: int = 0
    """Number of entries on this page that are left out because the user hides loud entries."""
    hidden_url: str = ""
    confirmations: tuple[Confirm, ...] = ()
    """Newsletter subscriptions to confirm, shown above the list."""
    failing_feed: FeedRowView | None = None
    """The feed of this list if it fails, with the reason and an action."""


@record
class SummaryView:
    state: str
    """ready, pending, unavailable, or unneeded: then nothing is shown"""
    text: str = ""
    by: str = ""
    why: str = ""
    """Why it is unavailable; if ready, why it is the built-in extract instead of the model's text."""
    language: str = ""
    asked: bool = True
    """False: it was not requested yet, so the block requests it once it is visible."""
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
    recording: str = ""
    """The ids that forms carry, of audio and video."""


@record
class HighlightView:
    id: int
    quote: str
    note: str = ""
    when: TimeView | None = None
    before: str = ""
    """The text before and after the quote, to find the right place if the quote occurs twice."""
    after: str = ""
    color: str = "yellow"


@record
class VideoLink:
    """The video that an entry is about."""

    url: str
    site: str
    picture: str


@record
class CategoryLink:
    """A category that the feed gave the entry, and the search for it."""

    name: str
    url: str


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
    marked_title: Markup = Markup()
    """The title with the words that the user wants marked; empty if none occurs."""
    post: bool = False
    """Without a title: the text is set large, and the heading is only for screen readers."""
    boosted_from: str = ""
    original_url: str = ""
    language: str = ""
    direction: str = "ltr"
    author: str = ""
    categories: tuple[CategoryLink, ...] = ()
    comments_url: str = ""
    minutes: str = ""
    minutes_to_read: int = 0
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
    can_listen: bool = False
    """The server can read it aloud."""
    translation: "TranslationLine | None" = None
    alike: StoryHint | None = None
    mail: MailFacts | None = None
    why: WhyView | None = None
    """Why it stands where it does in the order by interest."""
    full: FullText | None = None
    enclosures: tuple[EnclosureView, ...] = ()
    cover: str = ""
    """The picture of an entry with a recording, unless its text shows it."""
    video: VideoLink | None = None
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
class TranslationLine:
    """The line above an article that says what is translated, and changes it."""

    state: str
    """none, refused, pending, ready or failed."""
    options: tuple[SelectOption, ...] = ()
    """Original, translation and both; empty before there is a translation."""
    note: str = ""
    act: str = ""
    """The label of the button that requests a translation; empty: no button."""
    again: bool = False
    waits: bool = False
    """The translation is pending: the page asks again."""
    is_requested: bool = False
    is_shown: bool = False
    """The article stands here in translation."""
    is_wide: bool = False
    """Original and translation stand beside each other."""


@record
class TranslationAnswer:
    """What `entries/translation.html` needs when rendered alone; passed as `article`."""

    id: int
    translation: TranslationLine | None


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
