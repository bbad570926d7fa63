"""Entries: rows and full entries, the queries and selections for lists, counts, and tag names."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from html import unescape
from typing import Literal, NamedTuple

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import Author, Enclosure
from reedbed.domain.pagination import LIST_ORDERS, Cursor, ListOrder, Order
from reedbed.domain.records import record
from reedbed.domain.text import clean_line
from reedbed.domain.times import Instant

View = Literal["unread", "all", "starred", "later", "history", "muted"]

VIEWS: tuple[View, ...] = ("unread", "all", "starred", "later", "history")


@record
class ViewQuery:
    """A list of entries: a view, optionally filtered by feed, folder (with subfolders), tag or time."""

    view: View = "all"
    order: ListOrder = "newest"
    feed_id: int | None = None
    folder_id: int | None = None
    tag: str | None = None
    since: Instant | None = None

    def name(self) -> str:
        """Identifies the list; cursors are bound to it."""
        return repr((self.view, self.feed_id, self.folder_id, self.tag, self.since))


@record
class States:
    read: bool
    starred: bool
    later: bool
    tags: tuple[str, ...] = ()


@record
class StateChange:
    """States to set on entries; None leaves a state unchanged."""

    read: bool | None = None
    starred: bool | None = None
    later: bool | None = None
    tags: tuple[str, ...] | None = None

    @property
    def unmutes(self) -> bool:
        """Whether the change unmutes an entry: marking it unread, starring, saving or tagging does."""
        return self.read is False or bool(self.starred or self.later or self.tags)


@record
class SameAddress:
    """An entry in another feed of the user that links to the same address."""

    entry_id: int
    feed_id: int
    feed_title: str


@record
class EntryRow:
    """An entry in a list, without its content."""

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
    read_at: Instant | None = None
    """When the user read it; only in the list of recently read entries."""
    also_in: tuple[SameAddress, ...] = ()
    """Only in lists, and for users who want the same address once."""


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
    """The cursor of the next page; None on the last one."""


@record
class EntryVersion:
    version: int
    title: str
    content: str
    replaced_at: Instant | None
    """When a newer version replaced it; None for the current one."""


@record
class StreamQuery:
    """A list in order of arrival, for synchronising reader apps."""

    feed_ids: tuple[int, ...] | None = None
    """None means all subscribed feeds."""
    without_muted: bool = False
    """Leave out unread entries of muted feeds, unless feeds or tags are named."""
    read: bool | None = None
    starred: bool | None = None
    later: bool | None = None
    or_tags: tuple[str, ...] = ()
    """With `feed_ids`: include entries with one of these tags, too."""
    only_feed_ids: tuple[int, ...] | None = None
    """With `or_tags`: limit the result to entries of these feeds."""
    tags: tuple[str, ...] = ()
    """Entries must have all of them."""
    without_tags: tuple[str, ...] = ()
    without_feed_ids: tuple[int, ...] = ()
    since: Instant | None = None
    """Arrived or changed at or after this time."""
    until: Instant | None = None
    """Arrived at or before this time."""
    after_id: int | None = None
    """Continue after this entry: smaller ids if newest first, larger ids if oldest first."""
    order: Order = "newest"


@record
class StreamItem:
    id: int
    feed_id: int
    fetched_at: Instant


@record
class Selection:
    """The entries of a bulk action: given ids, or a view with filters."""

    ids: tuple[int, ...] | None = None
    view: View = "all"
    order: Order = "newest"
    feed_id: int | None = None
    folder_id: int | None = None
    feed_ids: tuple[int, ...] | None = None
    """Exactly these feeds, instead of a feed or a folder."""
    tag: str | None = None
    up_to: int | None = None
    """The newest entry that the user has seen; later ones are not changed."""
    older_than: Instant | None = None
    arrived_by: Instant | None = None
    """Only entries fetched by this time, regardless of publication."""
    above: int | None = None
    """Only entries above this one in the list."""
    below: int | None = None
    """Only entries below this one in the list."""
    except_starred: bool = False

    def is_whole_scope(self) -> bool:
        """A feed, a folder or everything, possibly up to an entry: the read-up-to mark suffices."""
        filters = (self.ids, self.tag, self.older_than, self.arrived_by, self.above, self.below)
        return (
            self.view in ("all", "unread") and not self.except_starred and all(filter_ is None for filter_ in filters)
        )


@record
class MarkResult:
    count: int
    undo: str
    """Token to undo the change within an hour."""


@record
class TagCount:
    id: int
    name: str
    entries: int
    unread: int


class SubscriptionCount(NamedTuple):
    """A tuple for speed, because counts are read often and by the thousand."""

    id: int
    feed_id: int
    folder_id: int | None
    unread: int
    muted: bool
    """Its unread entries count for itself only."""
    in_unread: bool = True
    """Its unread entries count in the list of everything unread, unless a folder around it is kept out."""
    other_folders: tuple[int, ...] = ()

    @property
    def folder_ids(self) -> tuple[int, ...]:
        return () if self.folder_id is None else (self.folder_id, *self.other_folders)


@record
class Counts:
    subscriptions: tuple[SubscriptionCount, ...] = ()
    folders: dict[int, int] = field(default_factory=dict[int, int])
    """Unread entries by folder id, including subfolders."""
    tags: tuple[TagCount, ...] = ()
    unread: int = 0
    starred: int = 0
    later: int = 0
    queued: bool = False
    """Whether something is waiting to be played."""


@record
class ReadingDay:
    """What a user has read today."""

    read: int
    words: int
    starred: int
    next_check_at: Instant | None


def roll_up(counted: Iterable[tuple[tuple[int, ...], int]], parents: Mapping[int, int | None]) -> dict[int, int]:
    """Unread entries by folder, including subfolders. `counted` holds the folders of some feeds and their entries:
    a feed in several folders counts once in the folder around them. `parents` must contain every folder.
    """
    direct = Counter[tuple[int, ...]]()
    for folder_ids, unread in counted:
        direct[folder_ids] += unread
    totals = dict.fromkeys(parents, 0)
    for folder_ids, unread in direct.items():
        for folder_id in set[int]().union(*(_with_ancestors(id_, parents) for id_ in folder_ids)):
            totals[folder_id] += unread
    return totals


def _with_ancestors(folder_id: int | None, parents: Mapping[int, int | None]) -> set[int]:
    """The folder and its ancestors. Stops at a cycle."""
    path: set[int] = set()
    while folder_id is not None and folder_id in parents and folder_id not in path:
        path.add(folder_id)
        folder_id = parents[folder_id]
    return path


# --- Posts: entries without a title of their own

MAX_POST = 20_000
"""Characters of a text in which links are looked for."""

_SENTENCE_ENDS = (".", "!", "。", "！")
_PREFIX = re.compile(r"(?:Pinned: )?(?:R(?P<kind>T| to|T by) (?P<account>@[\w.@-]+): )?")
"""What feeds of social networks write before a boost, a reply or a post that stays first."""
_ACCOUNT = re.compile(
    r"https?://(?:www\.)?(?P<host>[^/?#]+)/(?:@|users/)(?P<name>[\w.-]+?)(?:@(?P<home>[\w.-]+?))?"
    r"(?:\.(?:rss|atom|xml|json|feed))?(?:[/?#]|$)",
    re.IGNORECASE,
)
_LINK = re.compile(r'<a\b[^>]*?\bhref="(https?://[^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_ADDRESS = re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:[/?#…]\S*)?")
_LONG_START = 200
"""A text of so many characters that was cut off where the title goes on is no teaser."""
_SURE_START = 12
"""So many characters of an address say that a text which was cut off ends with it."""


@record
class PostLink:
    url: str
    title: str = ""
    """Empty if its text is only its address."""


@record
class Post:
    text: str
    """Without the address of its link at the end."""
    link: PostLink | None = None
    """The only link of the text."""
    boosted_from: str = ""
    """The account that wrote it, if the feed's account only passed it on."""


@record
class PostSource:
    """What the list does not have of an entry, but needs to know what a post holds."""

    entry_id: int
    content: str
    """Sanitised HTML, only its beginning."""
    external_url: str
    feed_url: str
    site_url: str


def is_post(row: EntryRow) -> bool:
    """Whether the entry has no title: the one it got is the beginning of its text."""
    title, text = _without_prefix(row.title), row.summary.removesuffix("…")
    if row.summary == title:
        # A headline that is repeated as text has no full stop.
        return title != row.title or title.endswith(_SENTENCE_ENDS) or bool(_account_of(row.url))
    beginning = title.removesuffix("…")
    if beginning and row.summary.startswith(beginning):
        return beginning != row.title
    return len(text) >= _LONG_START and text != row.summary and title.startswith(text)


def read_post(row: EntryRow, source: PostSource) -> Post:
    link, shown = _only_link(row, source)
    text = _without_prefix(row.summary)
    return Post(_without_address(text, shown) if link else text, link, _boosted_from(row, source))


def _only_link(row: EntryRow, source: PostSource) -> tuple[PostLink | None, str]:
    """The link, and its text. Mentions, hashtags, pictures and the post's own address are none."""
    links: dict[str, str] = {}
    for url, inner in _LINK.findall(source.content):
        text = unescape(_TAG.sub("", inner)).strip()
        if text and text[0] not in "#＃@" and unescape(url) != row.url:
            links.setdefault(unescape(url), text)
    if not links and source.external_url.startswith(("https://", "http://")):
        links[source.external_url] = ""
    if len(links) != 1:
        return None, ""
    ((url, text),) = links.items()
    return PostLink(url, "" if _ADDRESS.fullmatch(text) else text), text


def _without_address(text: str, shown: str) -> str:
    """The card below the text says where its link leads; a summary may be cut within the address."""
    if not _ADDRESS.fullmatch(shown):
        return text
    start = text.rfind(shown[:_SURE_START])
    if start < 1 or not shown.startswith(text[start:].removesuffix("…")):
        return text
    return text[:start].rstrip(" :→👉") or text


def _boosted_from(row: EntryRow, source: PostSource) -> str:
    for prefix in filter(None, map(_PREFIX.match, (row.title, row.summary))):
        if prefix["kind"] in ("T", "T by"):
            return prefix["account"] if prefix["kind"] == "T" else row.author or ""
    author = _account_of(row.url)
    owners = {_account_of(source.feed_url), _account_of(source.site_url)} - {""}
    return author if author and owners and author not in owners else ""


def _without_prefix(text: str) -> str:
    return _PREFIX.sub("", text, count=1)


def _account_of(url: str | None) -> str:
    """The account whose page or post this is, as in `https://marsh.example/@ada/9001`; empty if it is of none."""
    found = _ACCOUNT.match(url or "")
    return f"@{found['name']}@{found['home'] or found['host']}".lower() if found else ""


# --- Tags

MAX_TAG_LENGTH = 100
MAX_TAGS_PER_ENTRY = 50
MAX_TAGS = 2_000


def tag_name(text: str) -> str:
    """Collapses white space; anything else is up to the user."""
    name = clean_line(text)
    if not name:
        raise Invalid("A tag needs a name.", field="name")
    if len(name) > MAX_TAG_LENGTH:
        raise Invalid("A tag's name may have at most %(limit)s characters.", field="name", limit=MAX_TAG_LENGTH)
    return name


def tag_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Without duplicates, in the given order."""
    names = tuple(dict.fromkeys(tag_name(text) for text in texts))
    if len(names) > MAX_TAGS_PER_ENTRY:
        raise Invalid("An entry may have at most %(limit)s tags.", field="tags", limit=MAX_TAGS_PER_ENTRY)
    return names


# --- Settings of a list

LAYOUTS = ("titles", "cards", "magazine", "pictures")
EVERY_LIST = "*"
"""The list name of settings that apply to every list without its own."""

_LIST_NAMES = ("everything", "priority", "starred", "later", "history", "search")
_CHOICES = {"show": ("unread", "all"), "order": LIST_ORDERS, "layout": LAYOUTS, "days": ("grouped", "together")}


@record
class ListSettings:
    """How a user wants to see a list. An empty field has no setting of its own."""

    show: str = ""
    order: str = ""
    layout: str = ""
    days: str = ""

    def over(self, other: "ListSettings") -> "ListSettings":
        """These settings; what they leave open is taken from `other`."""
        return ListSettings(
            self.show or other.show, self.order or other.order, self.layout or other.layout, self.days or other.days
        )


def check_list_settings(settings: ListSettings) -> ListSettings:
    for name, choices in _CHOICES.items():
        if getattr(settings, name) not in ("", *choices):
            raise Invalid("%(name)s must be one of %(choices)s.", field=name, name=name, choices=", ".join(choices))
    return settings


def parse_list_name(name: str) -> tuple[str, str]:
    """Split the name of a list into its kind and the rest: `feed:3` is the list of the subscription with id 3."""
    kind, _, rest = name.partition(":")
    if name in (*_LIST_NAMES, EVERY_LIST):
        return name, ""
    is_number = rest.isascii() and rest.isdigit() and len(rest) < 17
    is_known = is_number if kind in ("feed", "folder") else kind == "tag" and bool(rest)
    if not is_known or len(name) > MAX_TAG_LENGTH + 10:
        raise Invalid("There is no such list.", field="list")
    return kind, rest
