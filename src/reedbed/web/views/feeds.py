"""View models of feeds, folders, saved searches, bookmarks and highlights."""

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
    """User name and password of a feed, for the subscribe form."""

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
    """The page of the feed if the user is already subscribed."""


@record
class ImportLineView:
    """The result of one line of the import file."""

    name: str
    address: str
    status: str
    """One word, such as "Added"."""
    kind: str
    """Style of the status chip: `good`, `bad` or empty."""
    text: str


@record
class ImportProgress:
    """The result of an import, or its progress."""

    name: str
    done: Count
    total: Count
    report: str = ""
    lines: tuple[ImportLineView, ...] = ()
    again_url: str = ""
    """URL to poll while it runs."""


@record
class Sample:
    url: str
    name: str
    about: str
    followed: bool = False
    login: LoginView | None = None


@record
class Offered:
    """Feeds to choose from, each with its own subscribe button."""

    title: str
    lines: tuple[Sample, ...]
    url: str
    """Where to return after subscribing to one."""
    asked: str = field(default="", repr=False)
    """The typed text, if it holds a password that `url` must not show."""
    all_url: str = ""
    """Where one press subscribes to all of them."""


@record
class AddPage:
    asked: str = ""
    error: str = ""
    page_url: str = ""
    """If set, this page can be saved for later."""
    list_url: str = ""
    """Where the list on this page can be followed, if there is no feed."""
    silent_url: str = ""
    """A URL that could not be fetched; it may be a feed anyway."""
    locked_url: str = ""
    """A URL whose server asks for a user name and password."""
    login: LoginView | None = None
    found: FoundFeedView | None = None
    folders: tuple[SelectOption, ...] = ()
    hits_url: str = ""
    """The search page, if the text is no URL."""
    hits: str = ""
    followed: tuple[OtherFeed, ...] = ()
    """The user's feeds whose names contain the text."""
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
    """The action is a link, not a form to submit."""
    language: str = ""
    paused: bool = False
    differs: str = ""
    """Its settings that are not the default."""


@record
class FailureCard:
    feed: FeedRowView
    icon: str
    title: str
    facts: tuple[str, ...] = ()
    """Since when, and what stays."""
    may_leave: bool = False
    """Nothing is asked for any more, so the user may as well unsubscribe."""


@record
class FeedList:
    lines: tuple[FeedRowView, ...]
    pages: Pages
    empty: str = ""
    bulk: tuple[SelectOption, ...] = ()
    search: str = ""
    status: str = "all"


@record
class FeedForm:
    """Errors of the add and edit forms; the texts are part of the contract."""

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
    """None: the page loads the list itself."""
    list_url: str = "/feeds"
    """The URL of the list as a whole page."""
    start_url: str = "/feeds"
    """The URL from which the page loads the list, together with the filters of its form."""
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
    """Whether framing analysis is on for a feed, and its weekly averages."""

    on: bool
    for_all_users: bool = False
    model: str = ""
    asks: bool = False
    """Turning it on sends texts to a remote model, and the user has not allowed that yet."""
    deframed_feed_url: str = ""
    plot: Plot | None = None


@record
class FeedArticles:
    """The selectors that pick the article out of the feed's pages, for users who may change them."""

    keep: str = ""
    drop: str = ""
    shared: bool = False
    newest: int | None = None
    """Id of the newest entry, to see the effect."""
    keep_error: str = ""
    drop_error: str = ""


@record
class FeedEdit:
    id: int
    title: str
    """The current title; `name` may be a rejected or empty input."""
    name: str
    url: str
    username: str
    has_password: bool
    locked: bool
    """The server asks for a user name and password, or rejects the current ones."""
    mark: FeedMark
    folders: tuple[SelectOption, ...]
    other_folders: tuple[SelectOption, ...]
    unread_limits: tuple[SelectOption, ...]
    intervals: tuple[SelectOption, ...]
    paused: bool = False
    full_text: bool = False
    notify: bool = False
    keep: RetentionOptions = field(default_factory=RetentionOptions)
    summaries: tuple[SelectOption, ...] = ()
    """Which new entries are summarised automatically."""
    model: str = ""
    """The remote model to which texts may be sent; empty: none."""
    local_only: bool = False
    mutes: tuple[SelectOption, ...] = ()
    """Until when the feed may be muted."""
    unread_displays: tuple[SelectOption, ...] = ()
    in_unread: bool = True
    facts: tuple[tuple[str, str], ...] = ()
    framing: FeedFramingView | None = None
    translation: tuple[SelectOption, ...] = ()
    """Always, never or as the settings say; empty: no translator is configured."""
    articles: FeedArticles | None = None
    without_shorts: bool | None = None
    """None: the feed is no channel of YouTube."""
    by_mail: bool = False
    """The feed has no URL to fetch, e.g. a newsletter."""
    errors: FeedForm = field(default_factory=FeedForm)


# --- Folders, rules, searches and tags


@record
class FolderView:
    id: int
    name: str
    depth: int
    feeds: Count
    parents: tuple[SelectOption, ...]
    summaries: tuple[SelectOption, ...]
    """Which new entries of its feeds are summarised automatically."""
    first: bool = False
    last: bool = False
    in_unread: bool = True


@record
class FoldersPage:
    folders: tuple[FolderView, ...]
    name: str = ""
    error: str = ""
    change_error: str = ""
    """Why a change of a folder failed."""


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


# --- Bookmarks and highlights


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
    """The entry was deleted; only this copy is left."""


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
    color: str = "yellow"


@record
class HighlightGroup:
    """Highlights of one entry that follow each other."""

    entry_url: str
    entry_title: str
    highlights: tuple[HighlightRowView, ...]


@record
class HighlightsPage:
    groups: tuple[HighlightGroup, ...]
    pages: Pages
    colors: tuple[SelectOption, ...]
    """All, and each colour."""
    due_url: str
    due: Count
    text: str = ""
    color: str = ""
    reviewing: bool = False
    """Only those that are due, each with a button that puts it at the end of the rotation."""


@record
class LatestDigest:
    """The newest digest on the dashboard, or why there is none yet."""

    paragraphs: tuple[Markup, ...] = ()
    when: TimeView | None = None
    by: str = ""
    url: str = ""
    pending: bool = False
    can_generate: bool = True
    error: str = ""


# --- Admin


@record
class AdminFeedView:
    id: int
    name: str
    url: str
    address: str
    """`url` shortened for display."""
    mark: FeedMark
    state: str
    """good, waiting or bad"""
    state_word: str
    why: str
    enabled: bool
    language: str = ""


@record
class AdminFeedsPage:
    search: str
    statuses: tuple[SelectOption, ...]
    lines: tuple[AdminFeedView, ...]
    pages: Pages
    empty: str = ""


@record
class AdminFeedForm:
    """The current settings or rejected input; never the password."""

    intervals: tuple[SelectOption, ...]
    proxy: str = ""
    user_agent: str = ""
    username: str = ""
    has_password: bool = False
    max_failures: str = ""
    default_failures: str = ""
    polling: bool = False
    allow_duplicate_urls: bool = False
    deframe: bool = False
    root_domain: str = ""
    enforce_domain: bool = False
    prompt: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class AdminFeedPage:
    feed: AdminFeedView
    facts: tuple[tuple[str, str], ...]
    form: AdminFeedForm
    spans: tuple[SelectOption, ...]
    plots: tuple[Plot, ...]
