"""Access to the AI model: budget, circuit breaker and rate limit for each call, privacy, and admin status."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from reedbed.ai.model import Completion, Model, ModelError, Prompt
from reedbed.domain.ai import (
    Breaker,
    BreakerPolicy,
    BreakerWait,
    Budget,
    Price,
    Usage,
    admit,
    day_start,
    effective_state,
    failed,
    is_spent,
    limited,
    month_start,
    refusal,
    succeeded,
)
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.summaries import BUILT_IN, EXTRACT, Variant
from reedbed.domain.times import DAY, MINUTE, SECOND, Instant
from reedbed.domain.users import Preferences, User
from reedbed.services.runtime import Metrics, Runtime
from reedbed.services.users import preferences_of
from reedbed.store import ai as ai_state
from reedbed.store import summaries
from reedbed.store.ai import Sizes
from reedbed.store.engine.database import Tx

Updated = Sequence[tuple[int, int]]
"""Pairs of entry id and feed id whose readers get an update event."""
SaveResult = Callable[[Tx, Runtime, Usage, Instant], Awaitable[Updated]]
"""Stores what was written, and what the model used for it."""

log = structlog.get_logger()


# --- Calling the model


@record
class AvailableModel:
    """A model that may be called now, if the budget allows the prompt."""

    model: Model
    breaker: Breaker
    """The breaker state after this call is counted."""


@record
class ModelUnavailable:
    until: Instant
    why: Failure
    away: bool = True
    """True: the model is not called for a while. False: only the rate limit applies."""


@record
class Permit:
    model: Model
    reserved: Usage
    user_id: int | None
    at: Instant


async def choose_model(tx: Tx, runtime: Runtime, now: Instant) -> AvailableModel | ModelUnavailable:
    """The primary model, or the fallback while the primary's breaker is open."""
    return await _choose(tx, runtime, now, (runtime.ai.model, runtime.ai.fallback))


async def choose_translator(tx: Tx, runtime: Runtime, now: Instant) -> AvailableModel | ModelUnavailable:
    """The translation service, which has a breaker of its own."""
    return await _choose(tx, runtime, now, (runtime.ai.translator,))


async def _choose(
    tx: Tx, runtime: Runtime, now: Instant, candidates: Sequence[Model | None]
) -> AvailableModel | ModelUnavailable:
    models = [model for model in candidates if model is not None]
    if not models:
        return ModelUnavailable(now + DAY, Failure(FailureCode.MODEL_MISSING))
    admitted = await admit_call(tx, runtime, [model.name for model in models], runtime.ai.breaker, now)
    return admitted if isinstance(admitted, ModelUnavailable) else AvailableModel(models[admitted[0]], admitted[1])


async def admit_call(
    tx: Tx, runtime: Runtime, names: Sequence[str], policy: BreakerPolicy, now: Instant
) -> tuple[int, Breaker] | ModelUnavailable:
    """The first of these that may be called, and its breaker after the call is counted."""
    if await ai_state.is_paused(tx):
        return ModelUnavailable(now + MINUTE, Failure(FailureCode.MODEL_PAUSED))
    breakers = await ai_state.lock_breakers(tx, names)
    if is_spent(runtime.ai.budget, await ai_state.spent_today(tx, None, now)):
        return ModelUnavailable(day_start(now) + DAY, Failure(FailureCode.BUDGET_SPENT))
    wait: BreakerWait | None = None
    for number, name in enumerate(names):
        decision = admit(breakers[name], policy, now)
        if isinstance(decision, Breaker):
            return number, decision
        wait = wait or decision
        if decision.why != "open":
            break
    assert wait is not None
    why = Failure(FailureCode.MODEL_NO_ANSWER if wait.why == "open" else FailureCode.MODEL_BUSY)
    return ModelUnavailable(wait.until, why, away=wait.why != "pace")


async def enter(
    tx: Tx, runtime: Runtime, available: AvailableModel, prompt: Prompt, user_id: int | None, now: Instant
) -> Permit | ModelUnavailable:
    """Reserve the maximum cost of the prompt and record the call, or return which budget forbids it."""
    reserved = _price(runtime, available.model).usage(prompt.estimate, prompt.most_tokens)
    refused = await book(tx, runtime, available.model.name, available.breaker, reserved, user_id, now)
    return refused or Permit(available.model, reserved, user_id, now)


async def book(
    tx: Tx, runtime: Runtime, name: str, breaker: Breaker, reserved: Usage, user_id: int | None, now: Instant
) -> ModelUnavailable | None:
    """Charge a call before it is made, or return which budget forbids it."""
    exceeded = refusal(runtime.ai.budget, await ai_state.spent_today(tx, user_id, now), reserved)
    if exceeded is not None:
        why = Failure(FailureCode.BUDGET_EXCEEDED, cause=Failure(exceeded))
        return ModelUnavailable(day_start(now) + DAY, why)
    await ai_state.save_breaker(tx, name, breaker)
    await ai_state.add_usage(tx, reserved, user_id, now)
    return None


async def settle(
    tx: Tx, runtime: Runtime, permit: Permit, outcome: Completion | ModelError, now: Instant, *, readable: bool
) -> Usage:
    """Replace the reserved cost by the real one and update the breaker; return the usage.

    An unreadable response still costs money, and counts as a failure of the model.
    """
    # Lock the model's row first, as in `choose_model`: another order could deadlock.
    before = (await ai_state.lock_breakers(tx, [permit.model.name]))[permit.model.name]
    used = _actual_usage(runtime, permit, outcome)
    _count_call(runtime.metrics, permit.model.name, outcome, readable=readable)
    # Book on the day of the reservation, so that calls across midnight are counted correctly.
    await ai_state.add_usage(tx, used - permit.reserved, permit.user_id, permit.at)
    after = _next_breaker(before, runtime.ai.breaker, outcome, now, readable=readable)
    if after != before:
        await ai_state.save_breaker(tx, permit.model.name, after)
        _log_breaker_change(permit.model.name, before, after)
    return used


def _count_call(metrics: Metrics, model: str, outcome: Completion | ModelError, *, readable: bool) -> None:
    label = "answered" if readable else "unreadable"
    metrics.ai_calls.add(model, label if isinstance(outcome, Completion) else outcome.kind)
    metrics.ai_tokens.add(model, "in", by=outcome.tokens_in)
    metrics.ai_tokens.add(model, "out", by=outcome.tokens_out)


def _actual_usage(runtime: Runtime, permit: Permit, outcome: Completion | ModelError) -> Usage:
    """The usage the model reports, or the reserved maximum if it reports none."""
    if isinstance(outcome, Completion) and not outcome.tokens_in + outcome.tokens_out:
        return permit.reserved
    return _price(runtime, permit.model).usage(outcome.tokens_in, outcome.tokens_out)


def _price(runtime: Runtime, model: Model) -> Price:
    is_service = model is runtime.ai.translator and model is not runtime.ai.model
    return runtime.ai.translator_price if is_service else runtime.ai.price


def _next_breaker(
    breaker: Breaker, policy: BreakerPolicy, outcome: Completion | ModelError, now: Instant, *, readable: bool
) -> Breaker:
    match outcome:
        case ModelError(kind="limited"):
            return limited(breaker, now, outcome.rest)
        case ModelError(kind="permanent"):
            return breaker  # the model works: only this prompt was rejected
        case Completion() if readable:
            return succeeded(breaker, policy, now)
        case _:
            return failed(breaker, policy, now)


def _log_breaker_change(model: str, before: Breaker, after: Breaker) -> None:
    if after.state == before.state:
        return
    if after.state == "OPEN":
        log.warning("model paused after failures", model=model, was=before.state, failures=after.failures)
    else:
        log.info("model answers again", model=model, was=before.state)


TRIES = 2
TRY_AGAIN_SECONDS = 2.0
PATIENCE = MINUTE

Read = TypeVar("Read")


async def ask_model(
    runtime: Runtime, user_id: int | None, prompt: Prompt, read: Callable[[str], Read | None]
) -> Read | None:
    """The response parsed by `read`. Retried once after two seconds, then None.

    Without a user, the budget of the instance pays.
    """
    for attempt in range(TRIES):
        if attempt:
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        permit = await _wait_for_permit(runtime, user_id, prompt)
        if permit is None:
            break
        outcome = await permit.model.ask(prompt)
        result = read(outcome.text) if isinstance(outcome, Completion) else None
        async with runtime.db.write() as tx:
            await settle(tx, runtime, permit, outcome, runtime.now(), readable=result is not None)
        if result is not None:
            return result
    return None


async def _wait_for_permit(runtime: Runtime, user_id: int | None, prompt: Prompt) -> Permit | None:
    """Wait for the rate limit, but not for an open breaker."""
    deadline = runtime.now() + PATIENCE
    while True:
        now = runtime.now()
        async with runtime.db.write() as tx:
            choice = await choose_model(tx, runtime, now)
            result = (
                choice
                if isinstance(choice, ModelUnavailable)
                else await enter(tx, runtime, choice, prompt, user_id, now)
            )
        if isinstance(result, Permit):
            return result
        if result.until >= deadline:
            return None
        await asyncio.sleep(max(0.05, (result.until - now) / SECOND))


# --- Summary variants and privacy


def variant_for(runtime: Runtime, user: User) -> Variant:
    """The summary variant for this user's preferences."""
    return variant_of(runtime, preferences_of(user))


def variant_of(runtime: Runtime, preferences: Preferences) -> Variant:
    model = runtime.ai.model
    if model is None or not may_send(runtime, preferences):
        return BUILT_IN
    return Variant(model.name, preferences.summary_language or runtime.ai.language)


async def variant_for_feed(tx: Tx, runtime: Runtime, user: User, feed_id: int) -> Variant:
    """The summary variant for this user and feed."""
    variant = variant_for(runtime, user)
    if variant.model != EXTRACT and feed_id in await must_stay_local(tx, runtime, user.id):
        return BUILT_IN
    return variant


async def must_stay_local(tx: Tx, runtime: Runtime, user_id: int) -> frozenset[int]:
    """The feeds whose texts this user does not want sent to a remote model. Empty if the model is local."""
    model = runtime.ai.model
    if model is None or not model.is_remote:
        return frozenset()
    return await ai_state.local_only_feeds(tx, user_id)


def may_send(runtime: Runtime, preferences: Preferences) -> bool:
    """Texts are sent to a remote model only after the user has allowed it."""
    model = runtime.ai.model
    return model is not None and (preferences.remote_ai or not model.is_remote)


# --- Administration

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
    """The last `DAYS_SHOWN` days, for a chart; days without a call are left out."""


async def ai_status(runtime: Runtime) -> AiStatus:
    ai, now = runtime.ai, runtime.now()
    name = ai.model.name if ai.model else EXTRACT
    async with runtime.db.read() as tx:
        breaker = await ai_state.get_breaker(tx, name)
        return AiStatus(
            model=name,
            fallback=ai.fallback.name if ai.fallback else None,
            paused=await ai_state.is_paused(tx),
            state=effective_state(breaker, ai.breaker, now),
            breaker=breaker,
            queue=await ai_state.queue_sizes(tx, now, now - ai.lease),
            failures=await summaries.count_failures(tx),
            today=await ai_state.usage_since(tx, day_start(now)),
            month=await ai_state.usage_since(tx, month_start(now)),
            budget=ai.budget,
            days=await ai_state.usage_by_day(tx, day_start(now) - (DAYS_SHOWN - 1) * DAY),
        )


async def set_paused(runtime: Runtime, *, paused: bool) -> None:
    """While paused, the model is not called; built-in extracts continue."""
    async with runtime.db.write() as tx:
        await ai_state.set_paused(tx, runtime.now(), paused=paused)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))


async def retry_all(runtime: Runtime) -> int:
    """Retry everything in backoff after failures; return the queue length."""
    async with runtime.db.write() as tx:
        count = await ai_state.retry_all(tx)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))
    return count


async def reprocess(runtime: Runtime, content_hash: str) -> bool:
    """Delete the summaries of this text. They are generated again when an entry is opened."""
    async with runtime.db.write() as tx:
        deleted = await summaries.delete_old(tx, content_hash)
        return deleted + await summaries.clear_failures_of_text(tx, content_hash) > 0
