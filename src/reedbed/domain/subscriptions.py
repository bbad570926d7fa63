"""Subscriptions: a user's feeds, their problems, and the feeds discovered at a URL."""

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from reedbed.domain.email import Email
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.languages import ENGLISH, Texts
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, Gone, Throttled
from reedbed.domain.refresh.state import FetchState, Status
from reedbed.domain.retention import RetentionOverride
from reedbed.domain.text import clean_line
from reedbed.domain.times import HOUR, MINUTE, Instant, Millis

FULL_TEXT_MODES = ("auto", "always", "never")
UNREAD_DISPLAYS = ("number", "dot", "none")
FOREVER: Instant = 253_370_764_800_000
"""The start of the year 9999: muted until the user unmutes the feed."""
STATUS_FILTERS = ("all", "working", "pending", "error", "changed")
"""`changed`: with settings that differ from the default."""
MAX_UNREAD_LIMIT = 10_000
MIN_INTERVAL = 15 * MINUTE
MAX_INTERVAL = 24 * HOUR


@record
class SubscribedFeed:
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
    """Set by this user for a private feed; the operator's login for a shared feed is not shown."""
    has_password: bool
    state: FetchState


@record
class Subscription:
    id: int
    folder_id: int | None
    own_title: str | None
    asked_url: str
    """The URL as the user entered it, possibly of a web page."""
    position: int
    paused: bool
    interval: Millis | None
    full_text: str
    notify: bool
    unread: int
    subscribed_at: Instant
    keep: RetentionOverride
    summary_words: int | None
    """Minimum words for automatic summaries: see `auto_summaries`."""
    local_only: bool
    """Its texts are never sent to a remote model."""
    muted_until: Instant | None
    """Until then its entries are hidden from lists of several feeds and from their counts; None: not muted."""
    unread_display: str
    """How the sidebar shows what is unread: see `UNREAD_DISPLAYS`."""
    in_unread: bool
    """Whether the unread list shows it. If its first folder or a parent of that is left out, so is the feed."""
    feed: SubscribedFeed
    unread_limit: int | None = None
    """Only so many of its newest entries stay unread."""
    without_shorts: bool = False
    """Short videos of a channel are muted."""
    other_folders: tuple[int, ...] = ()
    """The other folders it is in. Settings that a folder has for its feeds come from `folder_id`."""

    @property
    def folder_ids(self) -> tuple[int, ...]:
        return all_folders(self.folder_id, self.other_folders)

    @property
    def title(self) -> str:
        return self.own_title or self.feed.title or self.feed.url

    @property
    def url(self) -> str:
        """The current URL of the feed, even after a redirect."""
        return self.feed.url


@record
class SubscriptionFilter:
    search: str = ""
    status: str = "all"
    folder_id: int | None = None


def all_folders(first: int | None, others: Sequence[int]) -> tuple[int, ...]:
    return () if first is None else (first, *others)


def check_full_text(mode: str) -> str:
    if mode not in FULL_TEXT_MODES:
        raise Invalid("full_text must be one of %(choices)s", field="full_text", choices=", ".join(FULL_TEXT_MODES))
    return mode


def check_unread_display(display: str) -> str:
    if display not in UNREAD_DISPLAYS:
        raise Invalid(
            "unread_display must be one of %(choices)s", field="unread_display", choices=", ".join(UNREAD_DISPLAYS)
        )
    return display


def is_short_video(url: str | None) -> bool:
    """A YouTube Short. Feeds of channels link to it with a different URL than to other videos."""
    return bool(url) and urlsplit(url or "").path.startswith("/shorts/") and "youtube.com" in (url or "")[:40]


def check_unread_limit(limit: int | None) -> int | None:
    if limit is not None and not 1 <= limit <= MAX_UNREAD_LIMIT:
        raise Invalid("unread_limit must be between 1 and %(limit)s.", field="unread_limit", limit=MAX_UNREAD_LIMIT)
    return limit


def check_muted_until(until: Instant | None, now: Instant) -> Instant | None:
    """None, or a time that has passed: not muted."""
    return None if until is None or until <= now else min(until, FOREVER)


def check_interval(interval: Millis | None) -> Millis | None:
    """None: the interval is chosen automatically."""
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
    """The user's title, else the feed's, else its URL."""
    asked_url: str
    """The URL as the user entered it, or the feed's."""
    url: str
    site_url: str
    icon_id: int | None
    full_text: str
    position: int
    subscribed_at: Instant
    last_changed_at: Instant | None
    is_muted: bool
    other_folders: tuple[int, ...] = ()

    @property
    def folder_ids(self) -> tuple[int, ...]:
        return all_folders(self.folder_id, self.other_folders)

    def is_at(self, url: str) -> bool:
        return url in (self.asked_url, self.url)


@record
class Origin:
    """The feed of an entry, even if the user is no longer subscribed to it."""

    feed_id: int
    title: str
    url: str
    site_url: str
    folder_id: int | None
    full_text: str
    other_folders: tuple[int, ...] = ()


# --- Problems

GONE = 410
FeedProblemKind = Literal["gone", "stopped", "locked", "address", "waits", "damaged"]


class SubscribedFeedRow(NamedTuple):
    """A tuple for speed, because every page creates one for each subscription."""

    subscription_id: int
    feed_id: int
    folder_id: int | None
    title: str
    unread: int
    icon_id: int | None
    language: str | None
    stop_reason: Failure | None
    full_text: str
    status: Status
    last_error: Failure | None
    last_http_status: int | None
    paused: bool
    muted_until: Instant | None
    unread_display: str
    last_error_at: Instant | None
    in_unread: bool = True
    other_folders: tuple[int, ...] = ()

    @property
    def folder_ids(self) -> tuple[int, ...]:
        return all_folders(self.folder_id, self.other_folders)


class FeedProblem(NamedTuple):
    kind: FeedProblemKind
    reason: Failure

    @property
    def needs_reader(self) -> bool:
        """Whether the user must act; False if it may resolve itself."""
        return self.kind not in ("waits", "damaged")


def feed_problem(feed: SubscribedFeedRow) -> FeedProblem | None:
    """Why a feed has no new entries or misses some; None if it works or is paused."""
    reason = feed.stop_reason or feed.last_error
    if reason is None or feed.paused:
        return None
    return FeedProblem(_problem_kind(feed), reason)


def _problem_kind(feed: SubscribedFeedRow) -> FeedProblemKind:
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
            is_unknown = feed.last_error is not None and feed.last_error.code is FailureCode.DNS_NOT_FOUND
            return "address" if is_unknown else "waits"


def stopped_feed_email(
    to: str, subscription_id: int, title: str, reason: Failure, base_url: str, texts: Texts = ENGLISH
) -> Email:
    name = clean_line(title)
    opening = texts.translate("%(name)s has stopped: %(reason)s", name=name, reason=texts.explain(reason))
    what_to_do = texts.translate(
        "Its entries stay. Open the feed to start it again, to change its address or to stop following it:"
    )
    text = f"{opening}\n\n{what_to_do}\n{base_url}/feed/{subscription_id}\n\n{_how_to_end(base_url, texts)}"
    subject = texts.translate("A feed has stopped: %(name)s", name=name)
    return Email(to, subject[:MAX_SUBJECT], text)


def broken_feeds_email(
    to: str, broken: Sequence[tuple[int, str, Failure]], base_url: str, texts: Texts = ENGLISH
) -> Email:
    """`broken` holds the id of each subscription, its title and what is wrong."""
    parts = [f"{texts.translate('These feeds need you:')}\n"]
    for id_, title, reason in broken[:MAX_BROKEN]:
        parts.append(f"{clean_line(title)}\n{texts.explain(reason)}\n{base_url}/feed/{id_}\n")
    if len(broken) > MAX_BROKEN:
        more = texts.ngettext("… and %(num)s more", "… and %(num)s more", len(broken) - MAX_BROKEN)
        parts.append(f"{more}: {base_url}/feeds?status=error\n")
    parts.append(_how_to_end(base_url, texts))
    subject = texts.ngettext("%(num)s feed needs you", "%(num)s feeds need you", len(broken))
    return Email(to, subject, "\n".join(parts))


MAX_SUBJECT = 150
MAX_BROKEN = 100


def _how_to_end(base_url: str, texts: Texts) -> str:
    return f"{texts.translate('To get no such mail any more:')} {base_url}/settings/notifications\n"


# --- Discovery

KEPT_FOR = 10 * MINUTE
MAX_KEPT = 50
MAX_BYTES_KEPT = 20_000_000


@record
class FeedCandidate:
    """A feed that can be subscribed to."""

    url: str
    title: str = ""
    type: str = ""
    """rss, rdf, atom or json; empty if not fetched yet."""
    source: str = ""
    """direct: the URL itself; link: a <link> of the page; known: a URL pattern of the site; anchor; guess."""


@record
class Discovery:
    """The best candidate first; without any, `reason` says why."""

    candidates: tuple[FeedCandidate, ...] = ()
    reason: Failure | None = None
    unreachable: bool = False
    """The site did not respond properly, so it is unknown whether it has a feed."""
    nowhere: bool = False
    """The input is not a URL."""
    document: Fetched | None = None
    """The document of the best candidate, if it was fetched, to avoid a second request."""
    failure: Gone | Throttled | Failed | None = None
    """Instead of a document: the failure of the best candidate, or of the URL itself."""
    answered_url: str | None = None
    """Set if the typed text named no scheme and only this URL, with `http`, got an answer."""

    @property
    def locked(self) -> bool:
        """Whether the server requires a login."""
        return isinstance(self.failure, Failed) and self.failure.kind == "unauthorized"


class RecentDiscoveries:
    """Keeps documents fetched for a preview for a few minutes, because subscribing usually follows."""

    def __init__(self) -> None:
        self._cache: dict[Hashable, tuple[Instant, Discovery]] = {}

    def keep(self, key: Hashable, discovery: Discovery, now: Instant) -> None:
        self._cache.pop(key, None)
        self._cache[key] = (now, discovery)
        while len(self._cache) > MAX_KEPT or self._total_bytes() > MAX_BYTES_KEPT:
            del self._cache[next(iter(self._cache))]

    def take(self, key: Hashable, now: Instant) -> Discovery | None:
        """Remove and return a discovery; expired ones are dropped."""
        self._cache = {cached_key: cached for cached_key, cached in self._cache.items() if now - cached[0] < KEPT_FOR}
        cached = self._cache.pop(key, None)
        return cached[1] if cached else None

    def _total_bytes(self) -> int:
        documents = {id(discovery.document): discovery.document for _, discovery in self._cache.values()}
        return sum(len(document.body) for document in documents.values() if document is not None)
