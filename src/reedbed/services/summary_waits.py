"""Why a summary waits for a model that nobody asks at the moment."""

from dataclasses import dataclass
from typing import Literal

from reedbed.domain.accounts import User
from reedbed.domain.breaker import shown_state
from reedbed.domain.budget import is_spent_for_user
from reedbed.domain.summaries import EXTRACT, SummaryState
from reedbed.domain.times import Instant
from reedbed.services.runtime import Runtime
from reedbed.store import ai_state


@dataclass(frozen=True, slots=True)
class Wait:
    cause: Literal["paused", "budget", "silence"]
    """The operator has paused all, the budget is used up, or the model stopped answering."""
    since: Instant | None = None
    until: Instant | None = None
    """The next try, where it is known."""


async def why_waiting(runtime: Runtime, user: User, state: SummaryState) -> Wait | None:
    """None for what is ready, has failed, or is simply being written."""
    if state.status != "pending" or state.model == EXTRACT:
        return None
    policy, now = runtime.ai.breaker, runtime.now()
    async with runtime.db.read() as tx:
        if await ai_state.is_paused(tx):
            return Wait("paused")
        if is_spent_for_user(runtime.ai.budget, await ai_state.spent(tx, user.id, now)):
            return Wait("budget")
        breaker = await ai_state.breaker_of(tx, state.model)
    if shown_state(breaker, policy, now) != "OPEN" or breaker.last_failure_at is None:
        return None
    return Wait("silence", breaker.last_failure_at, breaker.last_failure_at + policy.recovery)
