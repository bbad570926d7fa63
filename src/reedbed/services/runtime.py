"""What every service needs in hand, built once by `roles`."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Protocol

from reedbed.ai.model import Model
from reedbed.domain.ai import BreakerPolicy, Budget, Price
from reedbed.domain.images import ImageMode
from reedbed.domain.instance import COUNTS, BackupPolicy, Counter, Histogram, Problem
from reedbed.domain.newsletters import MailPolicy
from reedbed.domain.records import record
from reedbed.domain.retention import RetentionPolicy
from reedbed.domain.sign_in import Provider
from reedbed.domain.subscriptions import RecentDiscoveries
from reedbed.domain.summaries import LEASE
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis
from reedbed.domain.users import Caller, RateLimits
from reedbed.events.bus import Bus
from reedbed.events.limits import HostThrottle, Limiter
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.images import ImageCache
from reedbed.ingest.oidc import OidcClient
from reedbed.ingest.smtp import Mailer
from reedbed.store.engine.database import Database


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
        self.ai_calls = Counter(
            "ai_request_total", "Calls of a model, by how they ended.", ("model", "status")
        )
        self.ai_tokens = Counter(
            "ai_tokens_total", "Tokens as the model counted them.", ("model", "direction")
        )
        self.subscriptions = Counter("subscriptions_created_total", "Feeds that somebody began to follow.")
        self.open_streams = 0
        self.streams_by_user: dict[int, int] = {}
        self.being_answered = 0
        """Requests that somebody waits for just now, streams left out."""

    def counted(self) -> list[Counter | Histogram]:
        return [value for value in vars(self).values() if isinstance(value, Counter | Histogram)]


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


WINDOW_SECONDS = 5.0
"""How far a replica may lag before somebody could miss their own change."""
MOST = 100_000


class RecentChanges:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}

    def note(self, user_id: int) -> None:
        now = self._clock()
        if len(self._until) >= MOST:
            self._until = {user: until for user, until in self._until.items() if until > now}
        self._until[user_id] = now + WINDOW_SECONDS

    def of(self, user_id: int) -> bool:
        return self._until.get(user_id, 0.0) > self._clock()


async def watch_changes(bus: Bus, recent: RecentChanges) -> None:
    """What other processes changed is told on the bus; runs as long as the process."""
    with bus.listen() as listener:
        async for hint in listener:
            if hint.user_id is not None:
                recent.note(hint.user_id)
            await asyncio.sleep(0)


JUMP: Millis = HOUR
PROOF: Millis = HOUR


class ClockGuard:
    def __init__(self, uptime: Callable[[], float] = time.monotonic) -> None:
        self._uptime = uptime
        self._seen: tuple[Instant, Millis] | None = None
        self._trusted_from: Millis = 0

    def trusts(self, moment: Instant) -> bool:
        """Whether what is old by this moment may go."""
        self.note(moment)
        return self._now() >= self._trusted_from

    def note(self, moment: Instant) -> bool:
        """Look at the clock, often; whether it jumped since the last look."""
        uptime = self._now()
        before, self._seen = self._seen, (moment, uptime)
        if before is None or abs((moment - before[0]) - (uptime - before[1])) <= JUMP:
            return False
        self.doubt()
        return True

    def doubt(self) -> None:
        self._trusted_from = self._now() + PROOF

    def _now(self) -> Millis:
        return int(self._uptime() * SECOND)


KEPT_SECONDS = 0.8
MAX_CACHED_CALLERS = 10_000


@record
class _Known:
    caller: Caller
    until: float


@record
class ClockReading:
    """The moment before a caller is looked up, which may take a while."""

    age: int
    at: float


class CallerCache:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._age = 0
        """Grows whenever something is forgotten: what was read before must not be remembered after."""

    def look(self) -> ClockReading:
        return ClockReading(self._age, self._clock())

    def get(self, token_hash: str) -> Caller | None:
        known = self._known.get(token_hash)
        if known is None:
            return None
        if known.until <= self._clock():
            del self._known[token_hash]
            return None
        return known.caller

    def remember(self, token_hash: str, caller: Caller, look: ClockReading) -> None:
        """For a moment since the look: a slow answer of the database makes it no longer."""
        if look.age != self._age:
            return
        if len(self._known) >= MAX_CACHED_CALLERS:
            self._make_room()
        self._known[token_hash] = _Known(caller, look.at + KEPT_SECONDS)

    def forget_user(self, user_id: int) -> None:
        self._age += 1
        for token_hash in [key for key, known in self._known.items() if known.caller.user_id == user_id]:
            del self._known[token_hash]

    def forget_all(self) -> None:
        self._age += 1
        self._known.clear()

    def _make_room(self) -> None:
        """Dictionaries keep their order: the first are the oldest."""
        for token_hash in list(self._known)[: MAX_CACHED_CALLERS // 10]:
            del self._known[token_hash]


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
class HttpPolicy:
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
class HealthState:
    """What the last look at the instance found wrong, as far as this process knows."""

    problems: tuple[Problem, ...] = ()


@record
class Runtime:
    db: Database
    bus: Bus
    fetcher: Fetcher
    pacer: HostThrottle
    limiter: Limiter
    clock: Callable[[], Instant]
    secret: bytes
    """The instance's own key: signs cursors, addresses and forms."""
    name: str
    """This process, as leases and logs call it."""
    fetching: FetchPolicy = field(default=FetchPolicy())
    accounts: AccountPolicy = field(default=AccountPolicy())
    limits: RateLimits = field(default=RateLimits())
    doors: HttpPolicy = field(default=HttpPolicy())
    ai: AiPolicy = field(default=AiPolicy())
    framing: FramingPolicy = field(default=FramingPolicy())
    hubs: HubPolicy = field(default=HubPolicy())
    images: ImagePolicy = field(default=ImagePolicy())
    sign_in: SignInPolicy = field(default=SignInPolicy())
    mailer: Mailer | None = None
    """None: the operator hands links over by other means."""
    mail: MailPolicy = field(default=MailPolicy())
    keeping: RetentionPolicy = field(default=RetentionPolicy())
    backups: BackupPolicy | None = None
    """None: no copies are made by night."""
    callers: CallerCache = field(default_factory=CallerCache)
    recent_changes: RecentChanges = field(default_factory=RecentChanges)
    recent_discoveries: RecentDiscoveries = field(default_factory=RecentDiscoveries)
    steadiness: ClockGuard = field(default_factory=ClockGuard)
    meters: Metrics = field(default_factory=Metrics)
    tracer: Tracer = NO_TRACER
    board: HealthState = field(default_factory=HealthState)
    cleaning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Who holds it cleans; together, all feeds of a moment would keep the loop for longer than each."""
    volume: str = ""
    """A folder on the disk of the database; empty where that is another machine's."""

    def now(self) -> Instant:
        return self.clock()
