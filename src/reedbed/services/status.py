"""How the instance is doing, in the numbers a user or a dashboard asks for."""

from reedbed import __version__
from reedbed.domain.accounts import User
from reedbed.domain.breaker import shown_state
from reedbed.domain.health import Problem
from reedbed.domain.records import record
from reedbed.services.health import reported
from reedbed.services.runtime import Runtime
from reedbed.store import ai_state, app_settings, status, summary_queue

MEGABYTE = 1_000_000


@record
class QueueState:
    """What waits for the model, and whether it is being asked."""

    size: int = 0
    breaker: str = "CLOSED"


@record
class Status:
    feeds_count: int
    posts_count: int
    unread_count: int
    queue_size: int
    circuit_breaker: str
    health_warning: str | None
    db_size_mb: float | None
    """Only for operators."""
    problems: tuple[Problem, ...] | None
    """Only for operators."""
    version: str


async def current_status(runtime: Runtime, user: User) -> Status:
    queue = await queue_state(runtime)
    async with runtime.db.read() as tx:
        counts = await status.counts(tx, user.id)
        warning = await app_settings.get(tx, "health_warning") or await app_settings.get(
            tx, "db_size_warning"
        )
        size = await status.size_in_bytes(tx) if user.operates else None
        problems = await reported(tx) if user.operates else None
    return Status(
        feeds_count=counts.feeds,
        posts_count=counts.posts,
        unread_count=counts.unread,
        queue_size=queue.size,
        circuit_breaker=queue.breaker,
        health_warning=warning or None,
        db_size_mb=None if size is None else round(size / MEGABYTE, 1),
        problems=problems,
        version=__version__,
    )


async def queue_state(runtime: Runtime) -> QueueState:
    now = runtime.now()
    async with runtime.db.read() as tx:
        sizes = await summary_queue.sizes(tx, now, now - runtime.ai.lease)
        if runtime.ai.model is None:
            return QueueState(sizes.all)
        breaker = await ai_state.breaker_of(tx, runtime.ai.model.name)
    return QueueState(sizes.all, shown_state(breaker, runtime.ai.breaker, now))
