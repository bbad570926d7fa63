"""A user's following of a feed: their own title, folder and wishes."""

from reedbed.domain.checks import FetchState
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.retention import Wish
from reedbed.domain.times import HOUR, MINUTE, Instant, Millis

FULL_TEXT_MODES = ("auto", "always", "never")
STATUS_FILTERS = ("all", "working", "pending", "error")
LEAST_INTERVAL = 15 * MINUTE
MOST_INTERVAL = 24 * HOUR


@record
class FollowedFeed:
    id: int
    url: str
    title: str
    site_url: str | None
    description: str | None
    language: str | None
    icon_id: int | None
    kind: str
    enabled: bool
    private: bool
    username: str | None
    """That this user gave for a private feed; the operator's for a shared one is not theirs to see."""
    has_password: bool
    state: FetchState


@record
class Subscription:
    id: int
    folder_id: int | None
    own_title: str | None
    asked_url: str
    """The address as the user gave it, perhaps of a page."""
    position: int
    paused: bool
    interval: Millis | None
    full_text: str
    notify: bool
    unread: int
    subscribed_at: Instant
    keep: Wish
    summary_words: int | None
    """Of new entries that are summarised by themselves: see `auto_summaries`."""
    local_only: bool
    """Its texts are sent to no model of somebody else."""
    feed: FollowedFeed

    @property
    def title(self) -> str:
        return self.own_title or self.feed.title or self.feed.url

    @property
    def url(self) -> str:
        """Where the feed is read, also after it has moved."""
        return self.feed.url


@record
class SubscriptionFilter:
    search: str = ""
    status: str = "all"
    folder_id: int | None = None


def check_full_text(mode: str) -> str:
    if mode not in FULL_TEXT_MODES:
        raise Invalid(f"full_text must be one of {', '.join(FULL_TEXT_MODES)}", field="full_text")
    return mode


def check_interval(interval: Millis | None) -> Millis | None:
    """None takes the feed's own rhythm."""
    if interval is not None and not LEAST_INTERVAL <= interval <= MOST_INTERVAL:
        raise Invalid("The interval must be between 15 minutes and 24 hours", field="interval")
    return interval
