"""The bus of a single process."""

from dataclasses import replace

from reedbed.domain.hints import Hint
from reedbed.events.bus import LocalHub, new_hint_id


class MemoryBus(LocalHub):
    async def publish(self, hint: Hint) -> None:
        self.deliver(replace(hint, id=new_hint_id()))

    async def close(self) -> None:
        """Nothing to let go of."""
