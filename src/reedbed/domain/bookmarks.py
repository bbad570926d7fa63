"""Bookmarks: a user's private snapshots of entries, which outlive them."""

from reedbed.domain.records import record
from reedbed.domain.times import Instant

_WITHOUT_ADDRESS = "urn:reedbed:entry:"


@record
class BookmarkRow:
    """A bookmark in a list: everything but its text."""

    id: int
    entry_id: int | None
    """None once the entry is gone."""
    key: str
    """What makes it unique for its user: the entry's address, or a name made of its id."""
    title: str
    feed_title: str
    published_at: Instant | None
    created_at: Instant

    @property
    def url(self) -> str | None:
        return None if self.key.startswith(_WITHOUT_ADDRESS) else self.key


@record
class Bookmark:
    row: BookmarkRow
    content: str
    """Sanitised HTML, as it was when the bookmark was made."""


@record
class Snapshot:
    """What of an entry is kept."""

    entry_id: int | None
    """None: it was kept elsewhere, and its address is known."""
    url: str | None
    title: str
    content: str
    feed_title: str
    published_at: Instant | None

    @property
    def key(self) -> str:
        return self.url or f"{_WITHOUT_ADDRESS}{self.entry_id}"
