"""The sidebar: smart views, folders with their feeds, searches and tags."""

from reedbed.domain.records import record
from reedbed.web.views.frame import NOTHING, Count, FeedMark


@record
class SidebarLink:
    """A smart view, a search or a tag; live counts name it by `key`: `unread`, `tag:walk`, `saved:3`."""

    key: str
    url: str
    name: str
    icon: str
    count: Count = NOTHING
    current: bool = False


@record
class SidebarFeed:
    id: int
    url: str
    name: str
    mark: FeedMark
    count: Count = NOTHING
    current: bool = False
    language: str = ""
    trouble: str = ""
    """Why the feed brings nothing or not everything, and what to do; else empty."""
    needs_reader: bool = False
    """Whether the trouble stays until the reader does something."""


@record
class SidebarFolder:
    id: int
    url: str
    name: str
    count: Count = NOTHING
    current: bool = False
    open: bool = True
    folders: "tuple[SidebarFolder, ...]" = ()
    feeds: tuple[SidebarFeed, ...] = ()


@record
class Sidebar:
    smart: tuple[SidebarLink, ...]
    folders: tuple[SidebarFolder, ...] = ()
    feeds: tuple[SidebarFeed, ...] = ()
    """Feeds that live in no folder."""
    kept: tuple[SidebarLink, ...] = ()
    """Saved searches and tags."""
    unread: Count = NOTHING
    checked: str = ""
    """When feeds were last looked at, in words: "Checked 2 min ago"."""
    notice: str = ""
    """That unread entries were removed, until it has been seen."""
