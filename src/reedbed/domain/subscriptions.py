"""What was found behind an address somebody typed."""

import re
from collections.abc import Hashable
from typing import Literal, NamedTuple

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, Gone, Throttled
from reedbed.domain.refresh.state import FetchState, Status
from reedbed.domain.retention import RetentionOverride
from reedbed.domain.times import HOUR, MINUTE, Instant, Millis

FULL_TEXT_MODES = ("auto", "always", "never")
STATUS_FILTERS = ("all", "working", "pending", "error")
MIN_INTERVAL = 15 * MINUTE
MAX_INTERVAL = 24 * HOUR


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
    keep: RetentionOverride
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
    if interval is not None and not MIN_INTERVAL <= interval <= MAX_INTERVAL:
        raise Invalid("The interval must be between 15 minutes and 24 hours", field="interval")
    return interval


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


GONE = 410
_NO_SUCH_NAME = re.compile(r"The name \S+ could not be found\.")

TroubleKind = Literal["gone", "stopped", "locked", "address", "waits", "damaged"]


class FollowedFeedRow(NamedTuple):
    """A tuple, because every page of the application makes one for each feed its reader follows."""

    subscription_id: int
    feed_id: int
    folder_id: int | None
    title: str
    unread: int
    icon_id: int | None
    language: str | None
    stop_reason: str | None
    full_text: str
    status: Status
    last_error: str | None
    last_http_status: int | None
    paused: bool


class FeedProblem(NamedTuple):
    kind: TroubleKind
    reason: str

    @property
    def needs_reader(self) -> bool:
        """False: it may pass by itself."""
        return self.kind not in ("waits", "damaged")


def trouble_of(feed: FollowedFeedRow) -> FeedProblem | None:
    """Why a feed brings nothing, or not everything; None for one that works or is paused."""
    reason = feed.stop_reason or feed.last_error
    if reason is None or feed.paused:
        return None
    return FeedProblem(_kind(feed), reason)


def _kind(feed: FollowedFeedRow) -> TroubleKind:
    if feed.stop_reason is not None:
        return "gone" if feed.last_http_status == GONE else "stopped"
    match feed.status:
        case "success":
            return "damaged"
        case "unauthorized":
            return "locked"
        case "permanent_error":
            return "address"
        case _:
            return "address" if _NO_SUCH_NAME.fullmatch(feed.last_error or "") else "waits"


KEPT_FOR = 10 * MINUTE
MAX_KEPT = 50
MAX_BYTES_KEPT = 20_000_000


@record
class FeedCandidate:
    """A feed one could follow."""

    url: str
    title: str = ""
    type: str = ""
    """rss, rdf, atom or json; empty when nobody has looked yet."""
    source: str = ""
    """direct: the address itself; link: named by the page; known: the site's pattern; anchor or guess."""


@record
class Discovery:
    """The best candidate first; with none, `reason` is one plain sentence for the person who asked."""

    candidates: tuple[FeedCandidate, ...] = ()
    reason: str | None = None
    unreachable: bool = False
    """The site did not answer well just now, so that nobody can say whether there is a feed."""
    nowhere: bool = False
    """What was typed is no address at all."""
    document: Fetched | None = None
    """The best candidate, where looking has fetched it: nobody need ask its server twice."""
    failure: Gone | Throttled | Failed | None = None
    """Instead of a document: what the server of the best candidate answered, or of the address itself."""

    @property
    def locked(self) -> bool:
        """Whether the server asks for a name and password."""
        return isinstance(self.failure, Failed) and self.failure.kind == "unauthorized"


class RecentDiscoveries:
    """Documents that were fetched for a preview, for a few minutes: following the feed asks for it next."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Instant, Discovery]] = {}

    def keep(self, key: Hashable, found: Discovery, now: Instant) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (now, found)
        while len(self._kept) > MAX_KEPT or self._bytes() > MAX_BYTES_KEPT:
            del self._kept[next(iter(self._kept))]

    def take(self, key: Hashable, now: Instant) -> Discovery | None:
        """Once only; what is too old is dropped."""
        self._kept = {each: kept for each, kept in self._kept.items() if now - kept[0] < KEPT_FOR}
        kept = self._kept.pop(key, None)
        return kept[1] if kept else None

    def _bytes(self) -> int:
        documents = {id(found.document): found.document for _, found in self._kept.values()}
        return sum(len(document.body) for document in documents.values() if document is not None)
