"""`Runtime`: the database, clients, policies and caches that every service uses. Built once by `roles`."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING, Protocol

from reedbed.ai.model import Model
from reedbed.domain.ai import BreakerPolicy, Budget, Price
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.images import ImageMode
from reedbed.domain.instance import COUNTS, BackupPolicy, Counter, Histogram, Problem
from reedbed.domain.languages import Texts, english_texts
from reedbed.domain.newsletters import MailPolicy
from reedbed.domain.records import record
from reedbed.domain.retention import RetentionPolicy
from reedbed.domain.search.forms import KnownWords
from reedbed.domain.sign_in import Provider
from reedbed.domain.subscriptions import RecentDiscoveries
from reedbed.domain.summaries import LEASE
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis
from reedbed.domain.users import Caller, RateLimits
from reedbed.events.bus import Bus
from reedbed.events.limits import HostThrottle, Limiter
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.images import ImageCache
from reedbed.ingest.plugins import Plugins
from reedbed.ingest.recipes import RecipeFolder
from reedbed.store.engine.database import Database

if TYPE_CHECKING:
    from reedbed.ai.speech import Speaker
    from reedbed.ingest.oidc import OidcClient
    from reedbed.ingest.smtp import Mailer


class Metrics:
    def __init__(self) -> None:
        self.fetches = Counter("feed_fetch_total", "Checks of feeds, by how they ended.", ("status",))
        self.fetch_seconds = Histogram("feed_fetch_duration_seconds", "How long a check took.")
        self.fetch_entries = Histogram(
            "feed_fetch_entries_count", "New entries of a check that brought a document.", bounds=COUNTS
        )
        self.entries = Counter("entries_fetched_total", "New entries of all feeds.")
        self.requests = Counter("http_request_total", "Answered requests.", ("method", "path", "status"))
        self.request_seconds = Histogram(
            "http_request_duration_seconds", "Time to the last byte, streams left out.", ("method", "path")
        )
        self.jobs = Counter("job_total", "Ended jobs.", ("type", "status"))
        self.job_seconds = Histogram("job_duration_seconds", "How long a job ran.", ("type",))
        self.hints = Counter("sse_events_sent_total", "Events written to live streams.", ("type",))
        self.ai_calls = Counter("ai_request_total", "Calls of a model, by how they ended.", ("model", "status"))
        self.ai_tokens = Counter("ai_tokens_total", "Tokens as the model counted them.", ("model", "direction"))
        self.subscriptions = Counter("subscriptions_created_total", "Feeds with a new subscriber.")
        self.open_streams = 0
        self.streams_by_user: dict[int, int] = {}
        self.media_by_user: dict[int, int] = {}
        """Recordings that are passed through this process."""
        self.requests_in_progress = 0
        """Requests in progress, without streams."""

    def counted(self) -> list[Counter | Histogram]:
        return [value for value in vars(self).values() if isinstance(value, Counter | Histogram)]


# --- Tracing

Fact = str | int


class TraceSpan(Protocol):
    def rename(self, name: str) -> None: ...

    def note(self, **facts: Fact) -> None: ...


class Tracer(Protocol):
    def span(self, name: str, **facts: Fact) -> AbstractContextManager[TraceSpan]: ...


class _NoSpan:
    def rename(self, name: str) -> None: ...

    def note(self, **facts: Fact) -> None: ...


class NoTracer:
    _nothing = nullcontext[TraceSpan](_NoSpan())

    def span(self, name: str, **facts: Fact) -> AbstractContextManager[TraceSpan]:
        return self._nothing


NO_TRACER = NoTracer()


# --- Reads after writes, with a replica

WINDOW_SECONDS = 5.0
"""How far a replica may lag. Until then, a user who changed something reads from the primary."""
MAX_USERS = 100_000


class RecentChanges:
    """The users who changed something within the last seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}

    def note(self, user_id: int) -> None:
        now = self._clock()
        if len(self._until) >= MAX_USERS:
            self._until = {user: until for user, until in self._until.items() if until > now}
        self._until[user_id] = now + WINDOW_SECONDS

    def of(self, user_id: int) -> bool:
        return self._until.get(user_id, 0.0) > self._clock()


async def watch_changes(bus: Bus, recent: RecentChanges) -> None:
    """Record the changes that other processes publish on the bus; runs until cancelled."""
    with bus.listen() as listener:
        async for event in listener:
            if event.user_id is not None:
                recent.note(event.user_id)
            await asyncio.sleep(0)


# --- Clock

JUMP: Millis = HOUR
PROOF: Millis = HOUR


class ClockGuard:
    """Detects jumps of the system clock. Nothing is deleted by age for an hour after one."""

    def __init__(self, uptime: Callable[[], float] = time.monotonic) -> None:
        self._uptime = uptime
        self._seen: tuple[Instant, Millis] | None = None
        self._trusted_from: Millis = 0

    def is_trusted(self, moment: Instant) -> bool:
        """Whether data may be deleted because of its age."""
        self.note(moment)
        return self._now() >= self._trusted_from

    def note(self, moment: Instant) -> bool:
        """Call this often; returns whether the clock jumped since the last call."""
        uptime = self._now()
        before, self._seen = self._seen, (moment, uptime)
        if before is None or abs((moment - before[0]) - (uptime - before[1])) <= JUMP:
            return False
        self.distrust()
        return True

    def distrust(self) -> None:
        self._trusted_from = self._now() + PROOF

    def _now(self) -> Millis:
        return int(self._uptime() * SECOND)


# --- Authenticated callers

CACHE_SECONDS = 0.8
MAX_CACHED_CALLERS = 10_000


@record
class _CachedCaller:
    caller: Caller
    until: float


@record
class ClockReading:
    """The state of the cache before a lookup, which may take a while."""

    age: int
    at: float


class CallerCache:
    """Caches authenticated callers for less than a second, by the hash of their token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, _CachedCaller] = {}
        self._age = 0
        """Grows with every invalidation: what was read before it must not be cached after it."""

    def look(self) -> ClockReading:
        return ClockReading(self._age, self._clock())

    def get(self, token_hash: str) -> Caller | None:
        cached = self._known.get(token_hash)
        if cached is None:
            return None
        if cached.until <= self._clock():
            del self._known[token_hash]
            return None
        return cached.caller

    def remember(self, token_hash: str, caller: Caller, look: ClockReading) -> None:
        """Expires `CACHE_SECONDS` after the lookup began: a slow database does not prolong it."""
        if look.age != self._age:
            return
        if len(self._known) >= MAX_CACHED_CALLERS:
            self._evict_oldest()
        self._known[token_hash] = _CachedCaller(caller, look.at + CACHE_SECONDS)

    def forget_user(self, user_id: int) -> None:
        self._age += 1
        for token_hash in [key for key, cached in self._known.items() if cached.caller.user_id == user_id]:
            del self._known[token_hash]

    def forget_all(self) -> None:
        self._age += 1
        self._known.clear()

    def _evict_oldest(self) -> None:
        """Dictionaries are ordered, so the first ones are the oldest."""
        for token_hash in list(self._known)[: MAX_CACHED_CALLERS // 10]:
            del self._known[token_hash]


# --- Policies, made from the settings


@record
class FetchPolicy:
    interval: Millis = 30 * MINUTE
    max_backoff: Millis = 48 * HOUR
    max_failures: int = 10
    concurrency: int = 10
    host_delay: Millis = SECOND
    host_concurrency: int = 2
    """Concurrent requests to one host, of all processes."""
    in_flight: Millis = 2 * MINUTE
    """A request's slot at its host is freed after this, even if its process died."""
    lease: Millis = 10 * MINUTE


@record
class AccountPolicy:
    registration: str = "closed"
    session_life: Millis = 30 * DAY
    session_idle: Millis = 14 * DAY
    base_url: str = "http://127.0.0.1:8080"


@record
class ProxyLogin:
    """Log in whom a trusted proxy names in a header."""

    header: str
    """It holds the e-mail address."""
    create: bool = False
    """People without an account get one at their first visit."""
    groups_header: str = ""
    admins: str = ""
    """The group whose members are admins; empty: groups do not matter."""
    logout_url: str = ""


@record
class HttpPolicy:
    """Whom the HTTP layer trusts."""

    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    cors_origins: tuple[str, ...] = ()
    metrics_token: str = ""
    """Empty: metrics can only be read from this machine."""
    proxy_login: ProxyLogin | None = None


@record
class AiPolicy:
    """The models that write summaries and digests, and their budget."""

    model: Model | None = None
    """None: the built-in extract is used for everything."""
    fallback: Model | None = None
    """Used while the breaker of the first is open."""
    translator: Model | None = None
    """Translates entries: the model, or a translation service. None: nothing is translated."""
    translator_price: Price = field(default=Price())
    """Of a translation service, per million tokens of four characters."""
    language: str = ""
    """Empty: each summary is written in the language of its article."""
    breaker: BreakerPolicy = field(default=BreakerPolicy())
    budget: Budget = field(default=Budget())
    price: Price = field(default=Price())
    lease: Millis = LEASE
    """How long a worker may take before another takes over."""


@record
class SpeechPolicy:
    """What reads entries and digests aloud, and how much."""

    speaker: "Speaker | None" = None
    """None: nothing is read aloud."""
    max_characters: int = 60_000
    """Of one recording: about an hour."""
    daily_characters: int = 200_000
    """Of each user."""
    price: float = 0.0
    """Of a thousand characters of an endpoint."""


@record
class HubPolicy:
    """Whether WebSub hubs are used."""

    off: Failure | None = field(default=Failure(FailureCode.HUBS_OFF))
    """Why they are not used; None: they are used."""


@record
class FramingPolicy:
    items: int = 50
    """Items in a deframed document, and the number read from a feed when deframing is enabled."""


@record
class ImagePolicy:
    """Which images of articles go through the server's proxy."""

    mode: ImageMode = "http"
    timeout: float = 10.0
    """Seconds."""
    max_bytes: int = 5 * 1024 * 1024
    cache: ImageCache | None = None


@record
class SignInPolicy:
    """The sign-in providers."""

    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    client: "OidcClient | None" = None
    """Set if there are providers."""


@dataclass(slots=True)
class HealthState:
    problems: tuple[Problem, ...] = ()
    """Of the last health check that this process knows of."""
    stopping: bool = False
    """Set before the process stops to accept requests, so that load balancers choose another one."""


@record
class Runtime:
    db: Database
    bus: Bus
    fetcher: Fetcher
    host_throttle: HostThrottle
    limiter: Limiter
    clock: Callable[[], Instant]
    secret: bytes
    """The secret of this instance; signs cursors, URLs and forms."""
    name: str
    """The name of this process in leases and logs."""
    fetching: FetchPolicy = field(default=FetchPolicy())
    accounts: AccountPolicy = field(default=AccountPolicy())
    limits: RateLimits = field(default=RateLimits())
    http: HttpPolicy = field(default=HttpPolicy())
    ai: AiPolicy = field(default=AiPolicy())
    speech: SpeechPolicy = field(default=SpeechPolicy())
    framing: FramingPolicy = field(default=FramingPolicy())
    hubs: HubPolicy = field(default=HubPolicy())
    images: ImagePolicy = field(default=ImagePolicy())
    sign_in: SignInPolicy = field(default=SignInPolicy())
    mailer: "Mailer | None" = None
    """None: the server sends no mail, and the operator passes links on."""
    mail: MailPolicy = field(default=MailPolicy())
    keeping: RetentionPolicy = field(default=RetentionPolicy())
    backups: BackupPolicy | None = None
    """None: no nightly backups."""
    callers: CallerCache = field(default_factory=CallerCache)
    recent_changes: RecentChanges = field(default_factory=RecentChanges)
    recent_discoveries: RecentDiscoveries = field(default_factory=RecentDiscoveries)
    clock_guard: ClockGuard = field(default_factory=ClockGuard)
    known_words: KnownWords = field(default_factory=KnownWords)
    metrics: Metrics = field(default_factory=Metrics)
    tracer: Tracer = NO_TRACER
    health: HealthState = field(default_factory=HealthState)
    cleaning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while HTML is sanitized: feeds that arrive together would block the event loop for too long."""
    recipes: RecipeFolder = field(default_factory=RecipeFolder)
    """What the operator's files add: sites, services to send entries to, themes."""
    plugins: Plugins = field(default_factory=Plugins)
    """Python code of the operator."""
    texts: Callable[[str], Texts] = english_texts
    """The texts of mails and notifications in a language."""
    volume: str = ""
    """A folder on the disk of the database; empty if the database is on another machine."""

    def now(self) -> Instant:
        return self.clock()
