"""The operator's pages about feeds: the list of all shared ones, and one with its settings."""

from collections.abc import Mapping
from dataclasses import field

from markupsafe import Markup

from reedbed.domain.records import record
from reedbed.web.views.instance import Plot
from reedbed.web.views.layout import Count, FeedMark, Pages, SelectOption, TimeView


@record
class FoundEntryView:
    title: str
    when: TimeView | None
    language: str = ""


@record
class OtherFeed:
    url: str
    name: str


@record
class LoginView:
    """Name and password of a feed, for the form that follows it."""

    username: str
    password: str = field(repr=False)


@record
class FoundFeedView:
    url: str
    name: str
    mark: FeedMark
    facts: str
    """ "Found on site.example. About 6 entries a day, full text, English." """
    entries: tuple[FoundEntryView, ...] = ()
    others: tuple[OtherFeed, ...] = ()
    followed_url: str = ""
    """The view of the feed when it is followed already."""


@record
class ImportLineView:
    """What became of a line of the file."""

    name: str
    address: str
    status: str
    """In a word."""
    kind: str
    """Of the chip: `good`, `bad` or empty."""
    text: str


@record
class ImportProgress:
    """How an import ended, or how far it is."""

    name: str
    done: Count
    total: Count
    report: str = ""
    lines: tuple[ImportLineView, ...] = ()
    again_url: str = ""
    """Where to ask again while it runs."""


@record
class Sample:
    url: str
    name: str
    about: str
    followed: bool = False
    login: LoginView | None = None


@record
class Offered:
    """Feeds to choose from, each with a button of its own."""

    title: str
    lines: tuple[Sample, ...]
    url: str
    """Where to choose the next one."""
    asked: str = field(default="", repr=False)
    """What was typed, where it holds a password that `url` must not show."""


@record
class AddPage:
    asked: str = ""
    error: str = ""
    page_url: str = ""
    """The page itself can be saved for later."""
    silent_url: str = ""
    """Nobody answered well there, so that it may be a feed all the same."""
    locked_url: str = ""
    """The server asks for a name and password."""
    login: LoginView | None = None
    found: FoundFeedView | None = None
    folders: tuple[SelectOption, ...] = ()
    hits_url: str = ""
    """The search view for words that are no address."""
    hits: str = ""
    followed: tuple[OtherFeed, ...] = ()
    """Feeds the reader has already, whose names hold these words."""
    offered: Offered | None = None
    progress: ImportProgress | None = None
    import_error: str = ""


@record
class FeedRowView:
    id: int
    url: str
    name: str
    address: str
    mark: FeedMark
    state: str
    """good, waiting or bad"""
    state_word: str
    why: str
    act_url: str = ""
    act: str = ""
    act_by_link: bool = False
    """The act is a page to go to, not a change to send."""
    language: str = ""
    paused: bool = False


@record
class FeedList:
    lines: tuple[FeedRowView, ...]
    pages: Pages
    empty: str = ""


@record
class FeedForm:
    """Errors of the add and edit forms; the texts are the contract's own."""

    name_error: str = ""
    url_error: str = ""
    username_error: str = ""
    password_error: str = ""
    general_error: str = ""


@record
class FeedsPage:
    search: str
    statuses: tuple[SelectOption, ...]
    feeds: FeedList | None = None
    """None: the list is asked for by the page itself."""
    list_url: str = "/feeds"
    """The same list as a page of its own."""
    start_url: str = "/feeds"
    """What the page asks for, together with the filters of its form."""
    error: str = ""
    digest: bool = False
    add_name: str = ""
    add_url: str = ""
    add_errors: FeedForm = field(default_factory=FeedForm)


@record
class RetentionOptions:
    days: tuple[SelectOption, ...] = ()
    unread_days: tuple[SelectOption, ...] = ()
    entries: tuple[SelectOption, ...] = ()


@record
class FeedFramingView:
    """The switch of a feed, and how its wording was over time."""

    on: bool
    for_everybody: bool = False
    model: str = ""
    asks: bool = False
    """Switching it on sends texts to somebody else, which the user has not allowed yet."""
    intake_url: str = ""
    plot: Plot | None = None


@record
class FeedArticles:
    """What of its pages is the article, for those who may say so."""

    keep: str = ""
    drop: str = ""
    shared: bool = False
    newest: int | None = None
    """An entry to see the effect on."""
    keep_error: str = ""
    drop_error: str = ""


@record
class FeedEdit:
    id: int
    title: str
    """What it is called while the form may hold another name, or none."""
    name: str
    url: str
    username: str
    has_password: bool
    locked: bool
    """Its server asks for a name and password, or for others."""
    mark: FeedMark
    folders: tuple[SelectOption, ...]
    intervals: tuple[SelectOption, ...]
    paused: bool = False
    full_text: bool = False
    notify: bool = False
    keep: RetentionOptions = field(default_factory=RetentionOptions)
    summaries: tuple[SelectOption, ...] = ()
    """Which new entries are summarised by themselves."""
    model: str = ""
    """One that somebody else runs, to which texts may be sent; empty: there is none."""
    local_only: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    framing: FeedFramingView | None = None
    articles: FeedArticles | None = None
    by_mail: bool = False
    """A newsletter: it has no address to look at."""
    errors: FeedForm = field(default_factory=FeedForm)


@record
class FolderView:
    id: int
    name: str
    depth: int
    feeds: Count
    parents: tuple[SelectOption, ...]
    summaries: tuple[SelectOption, ...]
    """Which new entries of its feeds are summarised by themselves."""
    first: bool = False
    last: bool = False


@record
class FoldersPage:
    folders: tuple[FolderView, ...]
    name: str = ""
    error: str = ""
    trouble: str = ""
    """What could not be done to a folder."""


@record
class RuleView:
    id: int
    name: str
    when: str
    does: str
    enabled: bool
    hits: str


@record
class DryRunHit:
    url: str
    title: str
    source: str
    when: TimeView
    language: str = ""


@record
class DryRunView:
    summary: str
    hits: tuple[DryRunHit, ...]


@record
class ConditionView:
    fields: tuple[SelectOption, ...]
    operators: tuple[SelectOption, ...]
    value: str = ""


@record
class RuleForm:
    id: int | None = None
    name: str = ""
    joins: tuple[SelectOption, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    """With empty ones to fill; those left empty are not sent on."""
    actions: tuple[SelectOption, ...] = ()
    tag: str = ""
    webhook: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class RulesPage:
    rules: tuple[RuleView, ...]
    form: RuleForm
    dry_run: DryRunView | None = None


@record
class SavedSearchView:
    id: int
    url: str
    name: str
    query: str
    unread: str
    error: str = ""


@record
class TagView:
    id: int
    url: str
    name: str
    entries: Count
    error: str = ""


@record
class SearchesPage:
    searches: tuple[SavedSearchView, ...]
    tags: tuple[TagView, ...] = ()
    name: str = ""
    query: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class BookmarkView:
    id: int
    url: str
    title: str
    source: str
    saved: TimeView
    original_url: str = ""
    language: str = ""
    gone: bool = False
    """The entry itself is no longer there; only this snapshot is."""


@record
class BookmarksPage:
    bookmarks: tuple[BookmarkView, ...]
    pages: Pages


@record
class BookmarkPage:
    id: int
    title: str
    source: str
    saved: TimeView
    body: Markup
    original_url: str = ""
    language: str = ""


@record
class HighlightRowView:
    id: int
    quote: str
    note: str
    entry_url: str
    entry_title: str
    when: TimeView
    language: str = ""


@record
class HighlightsPage:
    highlights: tuple[HighlightRowView, ...]
    pages: Pages


@record
class LatestDigest:
    """The dashboard's summary: text, or why there is none yet."""

    paragraphs: tuple[Markup, ...] = ()
    when: TimeView | None = None
    by: str = ""
    url: str = ""
    pending: bool = False
    can_generate: bool = True
    error: str = ""


@record
class AdminFeedView:
    id: int
    name: str
    url: str
    address: str
    """The same, as short as it can be shown."""
    mark: FeedMark
    state: str
    """good, waiting or bad"""
    state_word: str
    why: str
    enabled: bool
    language: str = ""


@record
class OperatorFeedsPage:
    search: str
    statuses: tuple[SelectOption, ...]
    lines: tuple[AdminFeedView, ...]
    pages: Pages
    empty: str = ""


@record
class OperatorFeedForm:
    """What is set, or what was typed and refused; a password is never among it."""

    intervals: tuple[SelectOption, ...]
    proxy: str = ""
    user_agent: str = ""
    username: str = ""
    has_password: bool = False
    max_failures: str = ""
    usual_failures: str = ""
    polling: bool = False
    allow_duplicate_urls: bool = False
    deframe: bool = False
    root_domain: str = ""
    enforce_domain: bool = False
    prompt: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class OperatorFeedPage:
    feed: AdminFeedView
    facts: tuple[tuple[str, str], ...]
    form: OperatorFeedForm
    spans: tuple[SelectOption, ...]
    plots: tuple[Plot, ...]
