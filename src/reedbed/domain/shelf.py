"""What a user follows, as light as a sidebar needs it."""

from typing import NamedTuple


class ShelfFeed(NamedTuple):
    """A tuple, because every page of the application makes one for each feed its reader follows."""

    subscription_id: int
    feed_id: int
    folder_id: int | None
    title: str
    unread: int
    icon_id: int | None
    language: str | None
    trouble: str | None
    """Why the feed stopped, if it did."""
    full_text: str
