"""What every service needs in hand, built once by `roles`."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network

from reedbed.ai.model import Model
from reedbed.domain.backups import BackupPolicy
from reedbed.domain.breaker import BreakerPolicy
from reedbed.domain.budget import Budget, Price
from reedbed.domain.discovery import RecentDiscoveries
from reedbed.domain.health import Problem
from reedbed.domain.identities import Provider
from reedbed.domain.images import ImageMode
from reedbed.domain.limits import Limits
from reedbed.domain.mail_policy import MailPolicy
from reedbed.domain.records import record
from reedbed.domain.retention import Keeping
from reedbed.domain.summaries import LEASE
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis
from reedbed.events.bus import Bus
from reedbed.events.limiter import Limiter
from reedbed.events.pacer import Pacer
from reedbed.ingest.fetch import Fetcher
from reedbed.ingest.image_cache import ImageCache
from reedbed.ingest.mail_out import Mailer
from reedbed.ingest.oidc import OidcClient
from reedbed.services.caller_cache import CallerCache
from reedbed.services.meters import Meters
from reedbed.services.recent_changes import RecentChanges
from reedbed.services.steadiness import Steadiness
from reedbed.services.tracing import NO_TRACER, Tracer
from reedbed.store.database import Database


@record
class FetchPolicy:
    interval: Millis = 30 * MINUTE
    max_backoff: Millis = 48 * HOUR
    max_failures: int = 10
    concurrency: int = 10
    host_delay: Millis = SECOND
    host_concurrency: int = 2
    """Requests in flight at one host, of all processes."""
    in_flight: Millis = 2 * MINUTE
    """After so long the place of a request at its host is free, also where its process has died."""
    lease: Millis = 10 * MINUTE


@record
class AccountPolicy:
    registration: str = "closed"
    session_life: Millis = 30 * DAY
    session_idle: Millis = 14 * DAY
    base_url: str = "http://127.0.0.1:8080"


@record
class DoorPolicy:
    """Whom the HTTP doors believe."""

    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    cors_origins: tuple[str, ...] = ()
    metrics_token: str = ""
    """Empty: metrics are for this machine alone."""


@record
class AiPolicy:
    """Who writes summaries and digests, and what that may cost."""

    model: Model | None = None
    """None: the built-in extract writes them all."""
    fallback: Model | None = None
    """Asked while the first one's breaker is open."""
    language: str = ""
    """Empty: each summary in its article's language."""
    breaker: BreakerPolicy = field(default=BreakerPolicy())
    budget: Budget = field(default=Budget())
    price: Price = field(default=Price())
    lease: Millis = LEASE
    """How long a worker may write before another takes over."""


@record
class HubPolicy:
    """Whether hubs are asked to send news by themselves."""

    off: str | None = "Hubs are not asked."
    """Why they are not, for people; None: they are."""


@record
class FramingPolicy:
    items: int = 50
    """In a document of the deframer, and as many of a feed are read when it is switched on."""


@record
class ImagePolicy:
    """Which pictures of articles are handed on by the server."""

    mode: ImageMode = "http"
    timeout: float = 10.0
    """Seconds."""
    max_bytes: int = 5 * 1024 * 1024
    cache: ImageCache | None = None


@record
class SignInPolicy:
    """Who else may vouch for people."""

    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    client: OidcClient | None = None
    """There is one where there are providers."""


@dataclass(slots=True)
class Board:
    """What the last look at the instance found wrong, as far as this process knows."""

    problems: tuple[Problem, ...] = ()


@record
class Runtime:
    db: Database
    bus: Bus
    fetcher: Fetcher
    pacer: Pacer
    limiter: Limiter
    clock: Callable[[], Instant]
    secret: bytes
    """The instance's own key: signs cursors, addresses and forms."""
    name: str
    """This process, as leases and logs call it."""
    fetching: FetchPolicy = field(default=FetchPolicy())
    accounts: AccountPolicy = field(default=AccountPolicy())
    limits: Limits = field(default=Limits())
    doors: DoorPolicy = field(default=DoorPolicy())
    ai: AiPolicy = field(default=AiPolicy())
    framing: FramingPolicy = field(default=FramingPolicy())
    hubs: HubPolicy = field(default=HubPolicy())
    images: ImagePolicy = field(default=ImagePolicy())
    sign_in: SignInPolicy = field(default=SignInPolicy())
    mailer: Mailer | None = None
    """None: the operator hands links over by other means."""
    mail: MailPolicy = field(default=MailPolicy())
    keeping: Keeping = field(default=Keeping())
    backups: BackupPolicy | None = None
    """None: no copies are made by night."""
    callers: CallerCache = field(default_factory=CallerCache)
    recent_changes: RecentChanges = field(default_factory=RecentChanges)
    recent_discoveries: RecentDiscoveries = field(default_factory=RecentDiscoveries)
    steadiness: Steadiness = field(default_factory=Steadiness)
    meters: Meters = field(default_factory=Meters)
    tracer: Tracer = NO_TRACER
    board: Board = field(default_factory=Board)
    cleaning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Who holds it cleans; together, all feeds of a moment would keep the loop for longer than each."""
    volume: str = ""
    """A folder on the disk of the database; empty where that is another machine's."""

    def now(self) -> Instant:
        return self.clock()
