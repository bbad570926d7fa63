"""What a user follows, as light as a sidebar needs it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShelfFeed:
    subscription_id: int
    feed_id: int
    folder_id: int | None
    title: str
    unread: int
    icon_id: int | None
    language: str | None
    trouble: str | None
    """Why the feed stopped, if it did."""
