"""A feed whose turn it is, with all that a check needs to know."""

from dataclasses import field

from reedbed.domain.checks import FetchState
from reedbed.domain.fetching import FetchRequest
from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis


@record
class About:
    """What a feed says of itself, as far as it is kept."""

    title: str = ""
    description: str | None = None
    site_url: str | None = None
    self_url: str | None = None
    hub_url: str | None = None
    language: str | None = None
    icon_url: str | None = None
    guid_unreliable: bool = False
    guid_collisions: int = 0


@record
class DueFeed:
    id: int
    url: str
    host: str
    owner_id: int | None = None
    proxy: str | None = None
    user_agent: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    interval: Millis | None = None
    max_failures: int | None = None
    allow_duplicate_urls: bool = False
    wish: Millis | None = None
    """The shortest interval a subscriber asked for."""
    urgent: bool = False
    pushed_since: Instant | None = None
    """Set: a hub sends this feed's news."""
    push_misses: int = 0
    """How often in a row a check found what the hub should have sent."""
    about: About = field(default=About())
    state: FetchState = field(default=FetchState())
    secrets_lost: bool = False
    """Its password or proxy was encrypted with a key that is not here: it has to be entered again."""

    @property
    def first_fetch(self) -> bool:
        return self.state.last_success_at is None and self.state.newest_entry_id == 0

    @property
    def relies_on_push(self) -> bool:
        return self.pushed_since is not None and self.push_misses == 0

    @property
    def hub_was_watched(self) -> bool:
        """Whether its hub should have sent whatever appeared since the last check."""
        checked = self.state.last_checked_at
        return self.pushed_since is not None and checked is not None and checked >= self.pushed_since

    def request(self) -> FetchRequest:
        return FetchRequest(
            self.url,
            etag=self.state.etag,
            last_modified=self.state.last_modified,
            user_agent=self.user_agent,
            proxy=self.proxy,
            username=self.username,
            password=self.password,
        )
