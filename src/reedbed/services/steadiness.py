"""Whether the clock can be trusted with deleting: after a jump it has to prove itself for an hour.

A clock that is set ten years ahead makes everything look old enough to go. Nothing that compares moments can
tell, but a clock that does not stop counting can: it sees that no ten years have passed.
"""

import time
from collections.abc import Callable

from reedbed.domain.times import HOUR, SECOND, Instant, Millis

JUMP: Millis = HOUR
PROOF: Millis = HOUR


class Steadiness:
    def __init__(self, uptime: Callable[[], float] = time.monotonic) -> None:
        self._uptime = uptime
        self._seen: tuple[Instant, Millis] | None = None
        self._trusted_from: Millis = 0

    def trusts(self, moment: Instant) -> bool:
        """Whether what is old by this moment may go."""
        self.note(moment)
        return self._now() >= self._trusted_from

    def note(self, moment: Instant) -> bool:
        """Look at the clock, often; whether it jumped since the last look."""
        uptime = self._now()
        before, self._seen = self._seen, (moment, uptime)
        if before is None or abs((moment - before[0]) - (uptime - before[1])) <= JUMP:
            return False
        self.doubt()
        return True

    def doubt(self) -> None:
        self._trusted_from = self._now() + PROOF

    def _now(self) -> Millis:
        return int(self._uptime() * SECOND)
