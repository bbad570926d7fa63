"""Who holds which token, remembered for a moment: a page full of requests asks the database once.

Whatever changes an account says so on the bus, and every process forgets that account at once. The moment is
shorter than a second, so that a revoked session is dead everywhere even when the hint was lost, or when there
is no bus between the processes at all.
"""

import time
from collections.abc import Callable

from reedbed.domain.accounts import Caller
from reedbed.domain.records import record

KEPT_SECONDS = 0.8
MOST = 10_000


@record
class _Known:
    caller: Caller
    until: float


@record
class Look:
    """The moment before a caller is looked up, which may take a while."""

    age: int
    at: float


class CallerCache:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._age = 0
        """Grows whenever something is forgotten: what was read before must not be remembered after."""

    def look(self) -> Look:
        return Look(self._age, self._clock())

    def get(self, token_hash: str) -> Caller | None:
        known = self._known.get(token_hash)
        if known is None:
            return None
        if known.until <= self._clock():
            del self._known[token_hash]
            return None
        return known.caller

    def remember(self, token_hash: str, caller: Caller, look: Look) -> None:
        """For a moment since the look: a slow answer of the database makes it no longer."""
        if look.age != self._age:
            return
        if len(self._known) >= MOST:
            self._make_room()
        self._known[token_hash] = _Known(caller, look.at + KEPT_SECONDS)

    def forget_user(self, user_id: int) -> None:
        self._age += 1
        for token_hash in [key for key, known in self._known.items() if known.caller.user_id == user_id]:
            del self._known[token_hash]

    def forget_all(self) -> None:
        self._age += 1
        self._known.clear()

    def _make_room(self) -> None:
        """Dictionaries keep their order: the first are the oldest."""
        for token_hash in list(self._known)[: MOST // 10]:
            del self._known[token_hash]
