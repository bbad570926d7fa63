"""Tell a user's other devices what changed."""

from collections.abc import Sequence
from typing import Any

from reedbed.domain.entries import Change
from reedbed.domain.hints import Hint
from reedbed.services.runtime import Runtime

MOST_NAMED = 200
"""A hint about more entries names none of them: the list is read again."""


async def announce_states(runtime: Runtime, user_id: int, entry_ids: Sequence[int], change: Change) -> None:
    named = [str(id) for id in entry_ids] if len(entry_ids) <= MOST_NAMED else []
    data: dict[str, Any] = {"ids": named}
    for name in ("read", "starred", "later", "tags"):
        if (value := getattr(change, name)) is not None:
            data[name] = value
    await runtime.bus.publish(Hint("state_changed", user_id=user_id, data=data))
    await announce_counts(runtime, user_id)


async def announce_counts(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(Hint("counts", user_id=user_id))
