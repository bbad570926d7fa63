"""For operators: how summaries are doing, what the model costs, and the switches."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

import structlog

from reedbed.ai.model import Completion, Model, ModelError, Prompt
from reedbed.domain.ai import (
    Breaker,
    BreakerPolicy,
    BreakerWait,
    Budget,
    Usage,
    admit,
    day_start,
    failed,
    is_spent,
    limited,
    month_start,
    refusal,
    shown_state,
    succeeded,
)
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT, Variant
from reedbed.domain.times import DAY, MINUTE, SECOND, Instant
from reedbed.domain.users import Preferences, User
from reedbed.services.runtime import Metrics, Runtime
from reedbed.services.users import preferences_of
from reedbed.store import ai as ai_state
from reedbed.store import ai as summary_queue
from reedbed.store import subscriptions, summaries
from reedbed.store.ai import Sizes
from reedbed.store.engine.database import Tx

log = structlog.get_logger()


@record
class AvailableModel:
    """A model that may be asked now, if the budget allows the question."""

    model: Model
    breaker: Breaker
    """With the call written in."""


@record
class ModelUnavailable:
    until: Instant
    why: str
    away: bool = True
    """The model is not asked at all for a while; False: it is only paced."""


@record
class Permit:
    model: Model
    reserved: Usage
    user_id: int | None
    at: Instant


async def choose_model(tx: Tx, runtime: Runtime, now: Instant) -> AvailableModel | ModelUnavailable:
    """The first model, or the second while the first one's breaker is open."""
    models = [model for model in (runtime.ai.model, runtime.ai.fallback) if model is not None]
    if not models:
        return ModelUnavailable(now + DAY, "There is no model.")
    if await ai_state.is_paused(tx):
        return ModelUnavailable(now + MINUTE, "Summaries are paused.")
    breakers = await ai_state.lock_breakers(tx, [model.name for model in models])
    if is_spent(runtime.ai.budget, await ai_state.spent_today(tx, None, now)):
        return ModelUnavailable(day_start(now) + DAY, "The budget is spent.")
    wait: BreakerWait | None = None
    for model in models:
        decision = admit(breakers[model.name], runtime.ai.breaker, now)
        if isinstance(decision, Breaker):
            return AvailableModel(model, decision)
        wait = wait or decision
        if decision.why != "open":
            break
    assert wait is not None
    why = "The model does not answer." if wait.why == "open" else "The model is busy."
    return ModelUnavailable(wait.until, why, away=wait.why != "pace")


async def enter(
    tx: Tx, runtime: Runtime, door: AvailableModel, prompt: Prompt, user_id: int | None, now: Instant
) -> Permit | ModelUnavailable:
    """Reserve the most this question can cost and write the call down, or say which budget forbids it."""
    reserved = runtime.ai.price.usage(prompt.estimate, prompt.most_tokens)
    broken = refusal(runtime.ai.budget, await ai_state.spent_today(tx, user_id, now), reserved)
    if broken is not None:
        return ModelUnavailable(day_start(now) + DAY, f"The budget is used up ({broken}).")
    await ai_state.save_breaker(tx, door.model.name, door.breaker)
    await ai_state.add_usage(tx, reserved, user_id, now)
    return Permit(door.model, reserved, user_id, now)


async def settle(
    tx: Tx,
    runtime: Runtime,
    permit: Permit,
    outcome: Completion | ModelError,
    now: Instant,
    *,
    readable: bool,
) -> Usage:
    """Correct the cost, tell the breaker; what the call used.

    An answer that is not readable has its price, and counts as a failure of the model.
    """
    # The model's row first, as in `choose_model`: whoever takes locks in another order waits for us forever.
    before = (await ai_state.lock_breakers(tx, [permit.model.name]))[permit.model.name]
    used = _used(runtime, permit, outcome)
    _meter(runtime.meters, permit.model.name, outcome, readable=readable)
    # On the day of the reservation, so that midnight loses nothing.
    await ai_state.add_usage(tx, used - permit.reserved, permit.user_id, permit.at)
    after = _told(before, runtime.ai.breaker, outcome, now, readable=readable)
    if after != before:
        await ai_state.save_breaker(tx, permit.model.name, after)
        _log_change(permit.model.name, before, after)
    return used


def _meter(meters: Metrics, model: str, outcome: Completion | ModelError, *, readable: bool) -> None:
    answered = "answered" if readable else "unreadable"
    meters.ai_calls.add(model, answered if isinstance(outcome, Completion) else outcome.kind)
    meters.ai_tokens.add(model, "in", by=outcome.tokens_in)
    meters.ai_tokens.add(model, "out", by=outcome.tokens_out)


def _used(runtime: Runtime, permit: Permit, outcome: Completion | ModelError) -> Usage:
    """As the model counted; a model that does not count is taken at its most."""
    if isinstance(outcome, Completion) and not outcome.tokens_in + outcome.tokens_out:
        return permit.reserved
    return runtime.ai.price.usage(outcome.tokens_in, outcome.tokens_out)


def _told(
    breaker: Breaker, policy: BreakerPolicy, outcome: Completion | ModelError, now: Instant, *, readable: bool
) -> Breaker:
    match outcome:
        case ModelError(kind="limited"):
            return limited(breaker, now, outcome.rest)
        case ModelError(kind="permanent"):
            return breaker  # it answered: this question was wrong, not the model
        case Completion() if readable:
            return succeeded(breaker, policy, now)
        case _:
            return failed(breaker, policy, now)


def _log_change(model: str, before: Breaker, after: Breaker) -> None:
    if after.state == before.state:
        return
    if after.state == "OPEN":
        log.warning("the model is left alone", model=model, was=before.state, failures=after.failures)
    else:
        log.info("the model is trusted again", model=model, was=before.state)


TRIES = 2
TRY_AGAIN_SECONDS = 2.0
PATIENCE = MINUTE

Read = TypeVar("Read")


async def ask_model(
    runtime: Runtime, user_id: int, prompt: Prompt, read: Callable[[str], Read | None]
) -> Read | None:
    """What `read` makes of the answer; a second try after two seconds, then None."""
    for attempt in range(TRIES):
        if attempt:
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        permit = await _permit(runtime, user_id, prompt)
        if permit is None:
            break
        outcome = await permit.model.ask(prompt)
        said = read(outcome.text) if isinstance(outcome, Completion) else None
        async with runtime.db.write() as tx:
            await settle(tx, runtime, permit, outcome, runtime.now(), readable=said is not None)
        if said is not None:
            return said
    return None


async def _permit(runtime: Runtime, user_id: int, prompt: Prompt) -> Permit | None:
    """Waits for the pace, not for a model that is left alone."""
    deadline = runtime.now() + PATIENCE
    while True:
        now = runtime.now()
        async with runtime.db.write() as tx:
            door = await choose_model(tx, runtime, now)
            found = (
                door
                if isinstance(door, ModelUnavailable)
                else await enter(tx, runtime, door, prompt, user_id, now)
            )
        if isinstance(found, Permit):
            return found
        if found.until >= deadline:
            return None
        await asyncio.sleep(max(0.05, (found.until - now) / SECOND))


def variant_for(runtime: Runtime, user: User) -> Variant:
    """The summary this user wants of any text."""
    return variant_of(runtime, preferences_of(user))


def variant_of(runtime: Runtime, chosen: Preferences) -> Variant:
    model = runtime.ai.model
    if model is None or not may_send(runtime, chosen):
        return Variant(EXTRACT)
    return Variant(model.name, chosen.summary_language or runtime.ai.language)


async def variant_for_feed(tx: Tx, runtime: Runtime, user: User, feed_id: int) -> Variant:
    """The summary this user wants of a text of this feed."""
    variant = variant_for(runtime, user)
    if variant.model != EXTRACT and feed_id in await must_stay_local(tx, runtime, user.id):
        return Variant(EXTRACT)
    return variant


async def must_stay_local(tx: Tx, runtime: Runtime, user_id: int) -> frozenset[int]:
    """The feeds whose texts this user does not want sent; none while the model is nobody else's."""
    model = runtime.ai.model
    if model is None or not model.is_remote:
        return frozenset()
    return await subscriptions.local_only_feeds(tx, user_id)


def may_send(runtime: Runtime, chosen: Preferences) -> bool:
    """Nothing goes to somebody else's model before its user has said so."""
    model = runtime.ai.model
    return model is not None and (chosen.remote_ai or not model.is_remote)


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
        breaker = await ai_state.get_breaker(tx, name)
        return AiStatus(
            model=name,
            fallback=ai.fallback.name if ai.fallback else None,
            paused=await ai_state.is_paused(tx),
            state=shown_state(breaker, ai.breaker, now),
            breaker=breaker,
            queue=await summary_queue.queue_sizes(tx, now, now - ai.lease),
            failures=await summaries.count_failures(tx),
            today=await ai_state.usage_since(tx, day_start(now)),
            month=await ai_state.usage_since(tx, month_start(now)),
            budget=ai.budget,
            days=await ai_state.usage_by_day(tx, day_start(now) - (DAYS_SHOWN - 1) * DAY),
        )


async def set_paused(runtime: Runtime, *, paused: bool) -> None:
    """Nothing is asked of the model meanwhile; the built-in extract goes on."""
    async with runtime.db.write() as tx:
        await ai_state.set_paused(tx, runtime.now(), paused=paused)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))


async def retry_all(runtime: Runtime) -> int:
    """Wake everything that rests after failures; how many wait now."""
    async with runtime.db.write() as tx:
        waiting = await summary_queue.retry_all(tx)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))
    return waiting


async def reprocess(runtime: Runtime, content_hash: str) -> bool:
    """Forget what was written about this text: whoever opens it next has it written anew."""
    async with runtime.db.write() as tx:
        forgotten = await summaries.delete_old(tx, content_hash)
        return forgotten + await summaries.clear_failures_of_text(tx, content_hash) > 0
