"""One question to the model by a job: through the gate, with a second try, read before it is believed."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from reedbed.ai.model import Answer, Prompt
from reedbed.domain.times import MINUTE, SECOND
from reedbed.services.ai_gate import Closed, Permit, enter, find_door, settle
from reedbed.services.runtime import Runtime

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
        said = read(outcome.text) if isinstance(outcome, Answer) else None
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
            door = await find_door(tx, runtime, now)
            found = door if isinstance(door, Closed) else await enter(tx, runtime, door, prompt, user_id, now)
        if isinstance(found, Permit):
            return found
        if found.until >= deadline:
            return None
        await asyncio.sleep(max(0.05, (found.until - now) / SECOND))
