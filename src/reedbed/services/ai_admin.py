"""For operators: how summaries are doing, what the model costs, and the switches."""

from collections.abc import Sequence

from reedbed.domain.breaker import Breaker, shown_state
from reedbed.domain.budget import Budget, Usage, day_start, month_start
from reedbed.domain.hints import Hint
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import DAY, Instant
from reedbed.services.runtime import Runtime
from reedbed.store import ai_state, summaries, summary_queue
from reedbed.store.summary_queue import Sizes

DAYS_SHOWN = 30


@record
class AiStatus:
    model: str
    fallback: str | None
    paused: bool
    state: str
    breaker: Breaker
    queue: Sizes
    failures: int
    today: Usage
    month: Usage
    budget: Budget
    days: Sequence[tuple[Instant, Usage]]
    """The last thirty, for a plot; days without a call are left out."""


async def ai_status(runtime: Runtime) -> AiStatus:
    ai, now = runtime.ai, runtime.now()
    name = ai.model.name if ai.model else EXTRACT
    async with runtime.db.read() as tx:
        breaker = await ai_state.breaker_of(tx, name)
        return AiStatus(
            model=name,
            fallback=ai.fallback.name if ai.fallback else None,
            paused=await ai_state.is_paused(tx),
            state=shown_state(breaker, ai.breaker, now),
            breaker=breaker,
            queue=await summary_queue.sizes(tx, now, now - ai.lease),
            failures=await summaries.count_failures(tx),
            today=await ai_state.since(tx, day_start(now)),
            month=await ai_state.since(tx, month_start(now)),
            budget=ai.budget,
            days=await ai_state.days(tx, day_start(now) - (DAYS_SHOWN - 1) * DAY),
        )


async def set_paused(runtime: Runtime, *, paused: bool) -> None:
    """Nothing is asked of the model meanwhile; the built-in extract goes on."""
    async with runtime.db.write() as tx:
        await ai_state.set_paused(tx, runtime.now(), paused=paused)
    await runtime.bus.publish(Hint("wake", data={"for": "ai"}))


async def retry_all(runtime: Runtime) -> int:
    """Wake everything that rests after failures; how many wait now."""
    async with runtime.db.write() as tx:
        waiting = await summary_queue.retry_all(tx)
    await runtime.bus.publish(Hint("wake", data={"for": "ai"}))
    return waiting


async def reprocess(runtime: Runtime, content_hash: str) -> bool:
    """Forget what was written about this text: whoever opens it next has it written anew."""
    async with runtime.db.write() as tx:
        forgotten = await summaries.forget(tx, content_hash)
        return forgotten + await summaries.forgive_content(tx, content_hash) > 0
