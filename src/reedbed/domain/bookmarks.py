"""Bookmarks: a user's private snapshots of entries, kept when the entries are deleted."""

from reedbed.domain.records import record
from reedbed.domain.times import Instant

_URN_PREFIX = "urn:reedbed:entry:"


@record
class BookmarkRow:
    """A bookmark in a list: everything but its text."""

    id: int
    entry_id: int | None
    """None if the entry was deleted."""
    key: str
    """Unique per user: the entry's URL, or a URN with its id."""
    title: str
    feed_title: str
    published_at: Instant | None
    created_at: Instant

    @property
    def url(self) -> str | None:
        return None if self.key.startswith(_URN_PREFIX) else self.key


@record
class Bookmark:
    row: BookmarkRow
    content: str
    """Sanitised HTML, as it was when the bookmark was made."""


@record
class Snapshot:
    """The parts of an entry that a bookmark stores."""

    entry_id: int | None
    """None: imported from another program; its URL is set."""
    url: str | None
    title: str
    content: str
    feed_title: str
    published_at: Instant | None

    @property
    def key(self) -> str:
        return self.url or f"{_URN_PREFIX}{self.entry_id}"
