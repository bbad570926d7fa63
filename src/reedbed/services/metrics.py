"""What this process has done since it started, and what the whole instance holds, for Prometheus.

Counters are of one process: whoever scrapes adds them up. Gauges read from the database are of the instance
and the same wherever they are asked for.
"""

from collections.abc import Sequence

from reedbed import __version__
from reedbed.domain.errors import Unavailable
from reedbed.domain.metrics import Gauge, exposition
from reedbed.domain.times import DAY, SECOND
from reedbed.services.runtime import Runtime
from reedbed.store import overview, status, summary_queue, users
from reedbed.store.database import Tx

AI_QUEUE, FEED_QUEUE = "ai", "feeds"


async def metrics_text(runtime: Runtime) -> str:
    """Without its database a process still tells what it did."""
    try:
        async with runtime.db.read() as tx:
            instance = await _of_the_instance(tx, runtime)
    except Unavailable:
        instance = ()
    return exposition([*runtime.meters.counted(), *_of_the_process(runtime), *instance])


def _of_the_process(runtime: Runtime) -> Sequence[Gauge]:
    pool = runtime.db.pool_use()
    return [
        Gauge("sse_connections_active", "Open live streams.", {(): runtime.meters.open_streams}),
        Gauge(
            "health_problem",
            "1 for each check that is not well.",
            {(one.check,): 1 for one in runtime.board.problems},
            ("check",),
        ),
        Gauge("db_pool_in_use", "Database connections at work.", {(): pool.in_use}),
        Gauge("db_pool_size", "The most database connections of this process.", {(): pool.size}),
        Gauge("reedbed_info", "What runs.", {(__version__, runtime.db.engine): 1}, ("version", "engine")),
    ]


async def _of_the_instance(tx: Tx, runtime: Runtime) -> Sequence[Gauge]:
    now = runtime.now()
    due, oldest = await overview.due(tx, now)
    queue = await summary_queue.sizes(tx, now, now - runtime.ai.lease)
    jobs = {(one.kind,): one.waiting + one.running for one in await overview.queues(tx)}
    return [
        Gauge(
            "job_queue_depth",
            "What waits or runs, by type.",
            {**jobs, (AI_QUEUE,): queue.all, (FEED_QUEUE,): due},
            ("type",),
        ),
        Gauge(
            "feed_fetch_lag_seconds",
            "How long the longest waiting feed is overdue.",
            {(): max(0, now - oldest) / SECOND if oldest is not None else 0},
        ),
        Gauge(
            "active_users_daily", "People seen within a day.", {(): await users.active_since(tx, now - DAY)}
        ),
        Gauge("db_size_bytes", "The size of the database.", {(): await status.size_in_bytes(tx)}),
    ]
