"""The gate before the model, one for all workers: pause, breaker, pace and budget in one transaction.

A call is written down before it is made: its moment for the pace, the most it can cost for the budgets.
After the answer the cost is corrected and the breaker told. A worker that dies in between leaves it counted.
"""

import structlog

from reedbed.ai.model import Answer, Model, Prompt, Trouble
from reedbed.domain.breaker import Breaker, BreakerPolicy, Wait, admit, failed, limited, succeeded
from reedbed.domain.budget import Usage, day_start, is_spent, refusal
from reedbed.domain.records import record
from reedbed.domain.times import DAY, MINUTE, Instant
from reedbed.services.meters import Meters
from reedbed.services.runtime import Runtime
from reedbed.store import ai_state
from reedbed.store.database import Tx

log = structlog.get_logger()


@record
class Door:
    """A model that may be asked now, if the budget allows the question."""

    model: Model
    breaker: Breaker
    """With the call written in."""


@record
class Closed:
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


async def find_door(tx: Tx, runtime: Runtime, now: Instant) -> Door | Closed:
    """The first model, or the second while the first one's breaker is open."""
    models = [model for model in (runtime.ai.model, runtime.ai.fallback) if model is not None]
    if not models:
        return Closed(now + DAY, "There is no model.")
    if await ai_state.is_paused(tx):
        return Closed(now + MINUTE, "Summaries are paused.")
    breakers = await ai_state.lock(tx, [model.name for model in models])
    if is_spent(runtime.ai.budget, await ai_state.spent(tx, None, now)):
        return Closed(day_start(now) + DAY, "The budget is spent.")
    wait: Wait | None = None
    for model in models:
        decision = admit(breakers[model.name], runtime.ai.breaker, now)
        if isinstance(decision, Breaker):
            return Door(model, decision)
        wait = wait or decision
        if decision.why != "open":
            break
    assert wait is not None
    why = "The model does not answer." if wait.why == "open" else "The model is busy."
    return Closed(wait.until, why, away=wait.why != "pace")


async def enter(
    tx: Tx, runtime: Runtime, door: Door, prompt: Prompt, user_id: int | None, now: Instant
) -> Permit | Closed:
    """Reserve the most this question can cost and write the call down, or say which budget forbids it."""
    reserved = runtime.ai.price.usage(prompt.estimate, prompt.most_tokens)
    broken = refusal(runtime.ai.budget, await ai_state.spent(tx, user_id, now), reserved)
    if broken is not None:
        return Closed(day_start(now) + DAY, f"The budget is used up ({broken}).")
    await ai_state.write(tx, door.model.name, door.breaker)
    await ai_state.use(tx, reserved, user_id, now)
    return Permit(door.model, reserved, user_id, now)


async def settle(
    tx: Tx, runtime: Runtime, permit: Permit, outcome: Answer | Trouble, now: Instant, *, readable: bool
) -> Usage:
    """Correct the cost, tell the breaker; what the call used.

    An answer that is not readable has its price, and counts as a failure of the model.
    """
    # The model's row first, as in `find_door`: whoever takes locks in another order waits for us forever.
    before = (await ai_state.lock(tx, [permit.model.name]))[permit.model.name]
    used = _used(runtime, permit, outcome)
    _meter(runtime.meters, permit.model.name, outcome, readable=readable)
    # On the day of the reservation, so that midnight loses nothing.
    await ai_state.use(tx, used - permit.reserved, permit.user_id, permit.at)
    after = _told(before, runtime.ai.breaker, outcome, now, readable=readable)
    if after != before:
        await ai_state.write(tx, permit.model.name, after)
        _log_change(permit.model.name, before, after)
    return used


def _meter(meters: Meters, model: str, outcome: Answer | Trouble, *, readable: bool) -> None:
    answered = "answered" if readable else "unreadable"
    meters.ai_calls.add(model, answered if isinstance(outcome, Answer) else outcome.kind)
    meters.ai_tokens.add(model, "in", by=outcome.tokens_in)
    meters.ai_tokens.add(model, "out", by=outcome.tokens_out)


def _used(runtime: Runtime, permit: Permit, outcome: Answer | Trouble) -> Usage:
    """As the model counted; a model that does not count is taken at its most."""
    if isinstance(outcome, Answer) and not outcome.tokens_in + outcome.tokens_out:
        return permit.reserved
    return runtime.ai.price.usage(outcome.tokens_in, outcome.tokens_out)


def _told(
    breaker: Breaker, policy: BreakerPolicy, outcome: Answer | Trouble, now: Instant, *, readable: bool
) -> Breaker:
    match outcome:
        case Trouble(kind="limited"):
            return limited(breaker, now, outcome.rest)
        case Trouble(kind="permanent"):
            return breaker  # it answered: this question was wrong, not the model
        case Answer() if readable:
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
