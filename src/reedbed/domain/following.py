"""What a user follows, in the few words a program needs to find its way."""

from reedbed.domain.records import record
from reedbed.domain.times import Instant


@record
class Followed:
    """A subscription, without the state of its feed."""

    subscription_id: int
    feed_id: int
    folder_id: int | None
    title: str
    """The user's own name for it, else the feed's, else its address."""
    asked_url: str
    """The address as the user gave it, or the feed's."""
    url: str
    site_url: str
    icon_id: int | None
    full_text: str
    position: int
    subscribed_at: Instant
    last_changed_at: Instant | None

    def is_at(self, url: str) -> bool:
        return url in (self.asked_url, self.url)


@record
class Origin:
    """Where an entry comes from, also when its feed is no longer followed."""

    feed_id: int
    title: str
    url: str
    site_url: str
    folder_id: int | None
    full_text: str
