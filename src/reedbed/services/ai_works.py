"""What the queue can hold: each kind of work knows what to ask, how to read the answer, where it is kept."""

from collections.abc import Sequence
from typing import Any, Protocol

from reedbed.ai.model import Prompt
from reedbed.domain.budget import Usage
from reedbed.domain.framing import is_framing
from reedbed.domain.times import Instant
from reedbed.services import framing_work, summary_work
from reedbed.services.runtime import Runtime
from reedbed.store.database import Tx
from reedbed.store.summary_queue import Queued

Told = Sequence[tuple[int, int]]
"""Entries, each with its feed, whose readers should look again."""


class Work(Protocol):
    @property
    def name(self) -> str:
        """As events call it."""
        ...

    @property
    def prompt(self) -> Prompt | None:
        """None: it is written without a model."""
        ...

    @property
    def user_id(self) -> int | None:
        """Whose budget it is; None for the instance's own."""
        ...

    def write(self) -> Any:
        """Without a model, in a thread; a `Trouble` where that fails."""
        ...

    def read(self, answer: str, model: str) -> Any:
        """What the model wrote, or the `Trouble` with it."""
        ...

    async def keep(self, tx: Tx, runtime: Runtime, written: Any, used: Usage, now: Instant) -> Told: ...

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        """The model failed: have what can be written without one written meanwhile."""
        ...

    async def readers(self, tx: Tx) -> Told:
        """Whom to tell that nothing comes."""
        ...


async def find_work(tx: Tx, runtime: Runtime, row: Queued) -> Work | None:
    """None when it needs no writing any more, or whoever asked would not have it sent."""
    kind = framing_work if is_framing(row.variant) else summary_work
    return await kind.find(tx, runtime, row)
