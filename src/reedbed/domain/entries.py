"""What a tag may be called."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import Author, Enclosure
from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.text import shown_line
from reedbed.domain.times import Instant

View = Literal["unread", "all", "starred", "later", "history", "muted"]

VIEWS: tuple[View, ...] = ("unread", "all", "starred", "later", "history")


@record
class ViewQuery:
    """Which list: a view, narrowed to a feed, a folder with its subfolders, a tag, or what came since."""

    view: View = "all"
    order: Order = "newest"
    feed_id: int | None = None
    folder_id: int | None = None
    tag: str | None = None
    since: Instant | None = None

    def name(self) -> str:
        """The same text for the same list: what a cursor is bound to."""
        return repr((self.view, self.feed_id, self.folder_id, self.tag, self.since))


@record
class States:
    read: bool
    starred: bool
    later: bool
    tags: tuple[str, ...] = ()


@record
class StateChange:
    """States to set on entries; None leaves one as it is."""

    read: bool | None = None
    starred: bool | None = None
    later: bool | None = None
    tags: tuple[str, ...] | None = None

    @property
    def brings_back(self) -> bool:
        """Whoever marks a muted entry unread, stars, keeps or tags it wants to see it again."""
        return self.read is False or bool(self.starred or self.later or self.tags)


@record
class EntryRow:
    """An entry in a list: everything but its body."""

    id: int
    feed_id: int
    title: str
    url: str | None
    author: str | None
    summary: str
    image: str | None
    language: str | None
    words: int
    version: int
    published_at: Instant | None
    fetched_at: Instant
    changed_at: Instant | None
    sort_at: Instant
    states: States


@record
class Entry:
    row: EntryRow
    content: str
    """Sanitised HTML."""
    full_content: str | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    comments_url: str | None = None
    external_url: str | None = None


@record
class EntryPage:
    rows: tuple[EntryRow, ...]
    next: Cursor | None
    """Where the next page begins; None on the last one."""


@record
class EntryVersion:
    version: int
    title: str
    content: str
    replaced_at: Instant | None
    """When a newer one took its place; None for the current one."""


@record
class StreamQuery:
    """A list in the order of arrival, as reader apps synchronise it."""

    feed_ids: tuple[int, ...] | None = None
    """None means every feed the user follows."""
    read: bool | None = None
    starred: bool | None = None
    later: bool | None = None
    or_tags: tuple[str, ...] = ()
    """With `feed_ids`: what has one of these tags counts as well."""
    only_feed_ids: tuple[int, ...] | None = None
    """With `or_tags`: of all that, only what these feeds brought."""
    tags: tuple[str, ...] = ()
    """All of them."""
    without_tags: tuple[str, ...] = ()
    without_feed_ids: tuple[int, ...] = ()
    since: Instant | None = None
    """Arrived or changed at or after this moment."""
    until: Instant | None = None
    """Arrived at or before this moment."""
    after_id: int | None = None
    """Continue beyond this entry: smaller ids when newest first, larger ones when oldest first."""
    order: Order = "newest"


@record
class StreamItem:
    id: int
    feed_id: int
    fetched_at: Instant


@record
class Selection:
    """Which entries a bulk act means: the ids, or a list of some view and what narrows it."""

    ids: tuple[int, ...] | None = None
    view: View = "all"
    order: Order = "newest"
    feed_id: int | None = None
    folder_id: int | None = None
    feed_ids: tuple[int, ...] | None = None
    """Instead of a feed or a folder: exactly these feeds."""
    tag: str | None = None
    up_to: int | None = None
    """The newest entry the reader has seen; what arrived after it is left alone."""
    older_than: Instant | None = None
    arrived_by: Instant | None = None
    """Only what we had fetched by this moment, whenever it was published."""
    above: int | None = None
    """Only what the list shows before this entry."""
    below: int | None = None
    """Only what the list shows after this entry."""

    def is_whole_scope(self) -> bool:
        """A feed, a folder or everything, at most up to some entry: a mark says it without touching rows."""
        narrowed = (self.ids, self.tag, self.older_than, self.arrived_by, self.above, self.below)
        return self.view in ("all", "unread") and all(part is None for part in narrowed)


@record
class MarkResult:
    count: int
    undo: str
    """Takes it back within an hour."""


@record
class TagCount:
    id: int
    name: str
    entries: int
    unread: int


class SubscriptionCount(NamedTuple):
    """A tuple, because counts are read all the time and a thousand of these are made in a go."""

    id: int
    feed_id: int
    folder_id: int | None
    unread: int


@record
class Counts:
    subscriptions: tuple[SubscriptionCount, ...] = ()
    folders: dict[int, int] = field(default_factory=dict[int, int])
    """Unread in a folder and all below it."""
    tags: tuple[TagCount, ...] = ()
    unread: int = 0
    starred: int = 0
    later: int = 0


def roll_up(counted: Iterable[tuple[int | None, int]], parents: Mapping[int, int | None]) -> dict[int, int]:
    """Unread by folder, each with what lies in its subfolders; `parents` names every folder."""
    direct = Counter[int]()
    for folder_id, unread in counted:
        if folder_id is not None:
            direct[folder_id] += unread
    totals = dict.fromkeys(parents, 0)
    for folder_id, unread in direct.items():
        for above in _upwards(folder_id, parents):
            totals[above] += unread
    return totals


def _upwards(folder_id: int | None, parents: Mapping[int, int | None]) -> set[int]:
    """The folder and those above it. A set, so that a circle of folders ends."""
    path: set[int] = set()
    while folder_id is not None and folder_id in parents and folder_id not in path:
        path.add(folder_id)
        folder_id = parents[folder_id]
    return path


LONGEST = 100
MAX_ON_AN_ENTRY = 50
MAX_TAGS = 2_000


def tag_name(text: str) -> str:
    """Spaces around and within are made single; the rest is the user's own."""
    name = shown_line(text)
    if not name:
        raise Invalid("A tag needs a name.", field="name")
    if len(name) > LONGEST:
        raise Invalid(f"A tag's name may have at most {LONGEST} characters.", field="name")
    return name


def tag_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order given."""
    names = tuple(dict.fromkeys(tag_name(text) for text in texts))
    if len(names) > MAX_ON_AN_ENTRY:
        raise Invalid(f"An entry may have at most {MAX_ON_AN_ENTRY} tags.", field="tags")
    return names
