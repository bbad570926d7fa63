"""Views of the page that makes a feed from another page."""

from markupsafe import Markup

from reedbed.domain.page_feeds import PageSelectors
from reedbed.domain.records import record
from reedbed.web.views.feeds import FoundEntryView
from reedbed.web.views.layout import SelectOption, TimeView


@record
class PageListView:
    """A list on a page that can be followed."""

    total: int
    entries: tuple[FoundEntryView, ...]
    recipe: str
    """As JSON."""
    selector: str


@record
class ListChoiceView:
    """A list found on the page, to choose."""

    name: str
    facts: str
    url: str
    chosen: bool
    dated: bool
    pictured: bool
    language: str


@record
class PartView:
    """A part of an entry that is picked on the page."""

    name: str
    """The name of the form field."""
    label: str
    hint: str
    """The selector in use."""


@record
class ComingEntryView:
    """An entry as it would arrive."""

    title: str
    url: str
    when: TimeView | None
    image: str
    teaser: str
    language: str


@record
class MakerView:
    """Three columns: the lists found, the page to pick in, and the entries that would arrive."""

    lists: tuple[ListChoiceView, ...]
    parts: tuple[PartView, ...]
    entries: tuple[ComingEntryView, ...]
    total: int
    summary: str
    """The number of entries, and the age of the newest."""
    recipe: str
    """As JSON; empty if nothing can be followed."""
    page: Markup = Markup()
    """The page as markup without behaviour."""
    found: str = ""
    """As JSON: the parts and lists of that markup, with their selectors."""
    cut: bool = False
    reason: str = ""
    by_model: bool = False
    """Whether a model may choose among the lists."""


@record
class WatchedTextView:
    """The text of a page as it is now."""

    passages: tuple[str, ...]
    recipe: str
    """As JSON."""
    language: str


@record
class MakeFeedPage:
    modes: tuple[SelectOption, ...]
    url: str = ""
    error: str = ""
    name: str = ""
    lists: tuple[PageListView, ...] = ()
    folders: tuple[SelectOption, ...] = ()
    selectors: PageSelectors = PageSelectors()
    watching: bool = False
    """The text of the page is watched; else its list is followed."""
    watched: WatchedTextView | None = None
    watch_url: str = ""
    pick_url: str = ""
    maker: MakerView | None = None
