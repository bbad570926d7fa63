"""Whose data changed a moment ago: they read from the database that knows it, not from one that follows."""

import asyncio
import time
from collections.abc import Callable

from reedbed.events.bus import Bus

WINDOW_SECONDS = 5.0
"""How far a replica may lag before somebody could miss their own change."""
MOST = 100_000


class RecentChanges:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}

    def note(self, user_id: int) -> None:
        now = self._clock()
        if len(self._until) >= MOST:
            self._until = {user: until for user, until in self._until.items() if until > now}
        self._until[user_id] = now + WINDOW_SECONDS

    def of(self, user_id: int) -> bool:
        return self._until.get(user_id, 0.0) > self._clock()


async def watch_changes(bus: Bus, recent: RecentChanges) -> None:
    """What other processes changed is told on the bus; runs as long as the process."""
    with bus.listen() as listener:
        async for hint in listener:
            if hint.user_id is not None:
                recent.note(hint.user_id)
            await asyncio.sleep(0)
