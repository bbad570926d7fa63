"""How far it goes: 10 M feeds and 1 M people, from the measured cost of each feed, entry, person and stream.

A sample of feeds is scheduled through a day with the program's own rules; the rest is multiplication. The
costs are those of docs/scaling.md, which says how each was measured. Machines are counted at 60 % load.

    python -m bench scale
    BENCH_FEEDS=100000 BENCH_PEOPLE=10000 BENCH_SAMPLE=20000 python -m bench scale
"""

import heapq
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp

from bench.table import record
from reedbed.domain.refresh.outcomes import CacheHeaders
from reedbed.domain.refresh.schedule import PublishPattern, next_check_after_failure, next_check_after_success
from reedbed.domain.times import DAY, MINUTE, SECOND, Instant

DESCRIPTION = "10 M feeds and 1 M people on paper: machines, database, and what breaks first"

FEEDS = int(os.environ.get("BENCH_FEEDS", "10000000"))
PEOPLE = int(os.environ.get("BENCH_PEOPLE", "1000000"))
SAMPLE = int(os.environ.get("BENCH_SAMPLE", "5000"))
NOW: Instant = 1_790_000_000_000
QUARTER = 15 * MINUTE
BUSY = 0.6
CORES = 8
"""Of a machine for web or worker processes."""


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU in milliseconds of one core, room in bytes; see docs/scaling.md."""

    unchanged: float = 0.4
    changed: float = 5.1
    """A document that is read, without its new entries."""
    entry: float = 0.26
    """Reading, cleaning, indexing and storing a new one."""
    db_check: float = 0.12
    """PostgreSQL's own share: claiming and writing down one check."""
    db_changed: float = 3.9
    db_entry: float = 0.8
    db_unread: float = 0.02
    """A new entry for one of its followers."""
    request: float = 3.3
    db_request: float = 1.0
    stream_kb: float = 50.0
    hint: float = 0.0003
    """One hint at one open stream that it does not concern."""
    entry_bytes: int = 7_500
    feed_bytes: int = 1_500
    follow_bytes: int = 225
    unread_bytes: int = 225
    person_bytes: int = 2_000


@dataclass(frozen=True, slots=True)
class People:
    follow: int = 100
    unread: int = 2_000
    requests_a_day: int = 150
    peak: float = 3.0
    """The busiest hour against the average."""
    online: float = 0.05
    """With a stream open, in the busiest hour."""


@dataclass(frozen=True, slots=True)
class World:
    """The feeds of the web, as far as they matter here."""

    posts_a_day: float = 0.25
    spread: float = 1.8
    """Of the logarithm: the busiest hundredth writes some sixty times as much as the middle."""
    dead: float = 0.08
    pushed: float = 0.15
    largest_host: float = 0.03
    kept: int = 200
    """Entries of a feed on average, with 500 and a year as the limits."""


@dataclass(frozen=True, slots=True)
class Day:
    checks: float
    peak: float
    """In the busiest quarter of an hour."""
    changed: float
    entries: float
    """All a second, for all feeds."""


@dataclass(frozen=True, slots=True)
class Limit:
    name: str
    needed: float
    bearable: float
    unit: str
    remedy: str

    @property
    def load(self) -> float:
        return self.needed / self.bearable


def main() -> None:
    costs, people, world = Costs(), People(), World()
    day = simulate(world)
    for name, value, unit in _needs(day, costs, people, world):
        print(f"  {name:<44} {value:>12,.1f} {unit}")
    print("\nWhat breaks, in this order:")
    for limit in sorted(limits(day, costs, people, world), key=lambda one: -one.load):
        print(f"  {limit.load:>7.2f} times  {limit.name}: {limit.remedy}")
        record(limit.name, limit.needed, limit.unit, compared_to="one bears", other=limit.bearable)


def simulate(world: World) -> Day:
    """A day of a sample of feeds after a day to settle, checked as the program would check them."""
    chance = random.Random(7)
    feeds = [_feed(chance, world) for _ in range(SAMPLE)]
    due = [(NOW + chance.randrange(DAY), place) for place in range(SAMPLE)]
    heapq.heapify(due)
    quarters: Counter[int] = Counter()
    changed = 0.0
    last = [NOW] * SAMPLE
    while due and due[0][0] < NOW + 2 * DAY:
        at, place = heapq.heappop(due)
        publish_pattern, posts, dead = feeds[place]
        if at >= NOW + DAY:
            quarters[(at - NOW) // QUARTER] += 1
            changed += 0 if dead else 1 - exp(-posts * (at - last[place]) / DAY)
        last[place] = at
        heapq.heappush(due, (_next(at, publish_pattern, chance, dead=dead), place))
    scale = FEEDS / SAMPLE / (DAY / SECOND)
    entries = sum(posts for _, posts, dead in feeds if not dead) * scale
    peak = max(quarters.values()) * FEEDS / SAMPLE / (QUARTER / SECOND)
    return Day(quarters.total() * scale, peak, changed * scale, entries)


def limits(day: Day, costs: Costs, people: People, world: World) -> Sequence[Limit]:
    """What one of each bears, by what was measured or is known of it."""
    requests = _requests(people)
    fan_out = day.entries * PEOPLE * people.follow / FEEDS
    database = (
        day.checks * costs.db_check
        + day.changed * costs.db_changed
        + day.entries * costs.db_entry
        + fan_out * costs.db_unread
    ) / 1_000 + requests * costs.db_request / 1_000
    streams = PEOPLE * people.online
    web = _web_cores(day, costs, people)
    return (
        Limit(
            "checks of the largest host, paced at one a second",
            day.checks * world.largest_host,
            1.0,
            "/s",
            "agree on a faster pace with that host, or on hubs; its feeds are checked less often meanwhile",
        ),
        Limit(
            "hints heard by every stream",
            day.changed * costs.hint / 1_000 * streams,
            web * BUSY,
            "cores",
            "give each hint only to the followers' processes: channels by feed in Redis",
        ),
        Limit(
            "one PostgreSQL, CPU",
            database,
            64 * BUSY,
            "cores",
            "read lists from replicas first; then put people on several instances that share the crawl",
        ),
        Limit(
            "one PostgreSQL, room",
            _room(costs, people, world) / 1e12,
            8.0,
            "TB",
            "keep less, or entries by month in partitions with the old ones on slow disks",
        ),
        Limit(
            "connections to PostgreSQL",
            (web + _worker_cores(day, costs)) / BUSY * 10,
            500,
            "",
            "PgBouncer in session mode, smaller pools",
        ),
        Limit("one Redis, hints", day.changed * (1 + web / BUSY), 100_000, "/s", "a Redis for hints alone"),
    )


def _needs(day: Day, costs: Costs, people: People, world: World) -> Sequence[tuple[str, float, str]]:
    web, workers = _web_cores(day, costs, people), _worker_cores(day, costs)
    streams = PEOPLE * people.online
    return (
        ("checks", day.checks, "/s"),
        ("checks in the busiest quarter of an hour", day.peak, "/s"),
        ("of them with news", day.changed, "/s"),
        ("new entries", day.entries, "/s"),
        ("requests in the busiest hour", _requests(people), "/s"),
        ("open streams", streams, ""),
        ("memory of streams", streams * costs.stream_kb / 1e6, "GB"),
        ("worker cores", workers, ""),
        (f"worker machines of {CORES} cores", ceil(workers / CORES / BUSY), ""),
        ("web cores", web, ""),
        (f"web machines of {CORES} cores", ceil(web / CORES / BUSY), ""),
        ("database", _room(costs, people, world) / 1e12, "TB"),
    )


def _worker_cores(day: Day, costs: Costs) -> float:
    quiet = (day.checks - day.changed) * costs.unchanged
    return (quiet + day.changed * costs.changed + day.entries * costs.entry) / 1_000


def _web_cores(day: Day, costs: Costs, people: People) -> float:
    hints = day.changed * costs.hint * PEOPLE * people.online
    return (_requests(people) * costs.request + hints) / 1_000


def _requests(people: People) -> float:
    return PEOPLE * people.requests_a_day * people.peak / (DAY / SECOND)


def _room(costs: Costs, people: People, world: World) -> float:
    entries = FEEDS * (1 - world.dead) * world.kept * costs.entry_bytes
    each = costs.person_bytes + people.follow * costs.follow_bytes + people.unread * costs.unread_bytes
    return entries + FEEDS * costs.feed_bytes + PEOPLE * each


def _feed(chance: random.Random, world: World) -> tuple[PublishPattern, float, bool]:
    posts = world.posts_a_day * exp(chance.gauss(0, world.spread))
    gap = int(DAY / posts)
    times = [NOW - place * gap for place in range(10)]
    return (PublishPattern(times=times, pushed=chance.random() < world.pushed), posts, chance.random() < world.dead)


def _next(at: Instant, publish_pattern: PublishPattern, chance: random.Random, *, dead: bool) -> Instant:
    hints = CacheHeaders()
    if dead:
        return next_check_after_failure(at, publish_pattern, hints, failures=9, jitter=chance.random()).at
    return next_check_after_success(at, publish_pattern, hints, jitter=chance.random()).at
