"""Views of the page that makes a feed from another page."""

from reedbed.domain.page_feeds import PageSelectors
from reedbed.domain.records import record
from reedbed.web.views.feeds import FoundEntryView
from reedbed.web.views.layout import SelectOption


@record
class PageListView:
    """A list on a page that can be followed."""

    total: int
    entries: tuple[FoundEntryView, ...]
    recipe: str
    """As JSON."""
    selector: str


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
