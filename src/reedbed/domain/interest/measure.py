"""How often the model ranked chosen entries above entries passed by, and how often time order did.

Each entry is predicted before it is learnt. Every pair of a chosen entry and one that was passed by on the screen in
the same session counts once: the model is right where the score of the chosen one is higher, time order is right where
the chosen one is newer. Sessions are samples: whether the model is ahead is judged by how much they differ.
"""

from collections import deque
from collections.abc import Mapping
from math import sqrt
from typing import Any, Literal

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, Instant

PAUSE = HOUR
"""A session ends after this pause."""
COMPARED = 100
"""How many entries of the session a new one is compared with."""
KEEPS = 0.98
"""The weight that a session keeps after the next one; about fifty sessions count."""
MIN_SESSIONS, MIN_PAIRS = 5, 30
"""With less data there is no verdict."""
BETTER, WORSE = 1.0, 0.3
"""How many standard errors the model must be ahead of time order to be used again, and to stay in use."""

Verdict = Literal["learning", "uniform", "unmeasured", "better", "no better"]

ENOUGH_ACTS = 30
MIN_PASSED = 5
MAX_CHOSEN = 0.95


@record
class MeasuredRates:
    pairs: int
    model: float
    """Share of pairs in which the model was right."""
    time: float


class HitRate:
    __slots__ = ("_errors", "_model", "_now", "_recent", "_time", "_weight", "is_better", "pairs", "sessions")

    def __init__(self) -> None:
        self._recent: deque[tuple[float, Instant, bool]] = deque(maxlen=COMPARED)
        """The current session: score and time of each entry, and whether it was chosen."""
        self._now = [0.0, 0.0, 0.0, 0.0]
        """The current session: number of pairs, in how many the model and time order were right, and the last act."""
        self._weight = self._model = self._time = self._errors = 0.0
        self.sessions = self.pairs = 0
        self.is_better = True

    def note(self, score: float, sort_at: Instant, now: Instant, *, chosen: bool) -> None:
        if now - self._now[3] > PAUSE:
            self._close()
        sign = 1 if chosen else -1
        for other, at, was_chosen in self._recent:
            if was_chosen is not chosen:
                self._now[0] += 1
                self._now[1] += _share(sign * (score - other))
                self._now[2] += _share(sign * (sort_at - at))
        self._now[3] = now
        self._recent.append((score, sort_at, chosen))

    def _close(self) -> None:
        """Add the session to the sums."""
        pairs, model, time, _ = self._now
        self._recent.clear()
        self._now = [0.0, 0.0, 0.0, 0.0]
        if not pairs:
            return
        weight = sqrt(pairs)  # the pairs of a session are not independent
        self._weight = self._weight * KEEPS + weight
        self._model = self._model * KEEPS + weight * model / pairs
        self._time = self._time * KEEPS + weight * time / pairs
        mean = (self._model - self._time) / self._weight
        self._errors = self._errors * KEEPS**2 + (weight * ((model - time) / pairs - mean)) ** 2
        self.sessions, self.pairs = self.sessions + 1, self.pairs + int(pairs)
        if self._is_enough():
            error = max(sqrt(self._errors) / self._weight, 1e-3)
            self.is_better = mean / error > (WORSE if self.is_better else BETTER)

    def _is_enough(self) -> bool:
        return self.sessions >= MIN_SESSIONS and self.pairs >= MIN_PAIRS

    def rates(self) -> MeasuredRates | None:
        """The result for ended sessions; None before there are enough."""
        if not self._is_enough():
            return None
        return MeasuredRates(self.pairs, self._model / self._weight, self._time / self._weight)

    def dump(self) -> dict[str, Any]:
        sums = [self._weight, self._model, self._time, self._errors]
        return {
            "recent": list(self._recent),
            "now": self._now,
            "sums": sums,
            "sessions": self.sessions,
            "pairs": self.pairs,
            "better": self.is_better,
        }

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> "HitRate":
        rate = cls()
        if not stored:
            return rate
        rate._recent.extend((score, at, bool(chosen)) for score, at, chosen in stored["recent"])
        rate._now = [float(value) for value in stored["now"]]
        rate._weight, rate._model, rate._time, rate._errors = stored["sums"]
        rate.sessions, rate.pairs, rate.is_better = stored["sessions"], stored["pairs"], stored["better"]
        return rate


def verdict_on(hits: HitRate, *, chosen: int, passed: int, sources: int) -> Verdict:
    """Whether the order by interest may be used; `sources` is the number of sources with a chosen entry."""
    if chosen + passed < ENOUGH_ACTS:
        return "learning"
    if sources < 2 or passed < MIN_PASSED or chosen > MAX_CHOSEN * (chosen + passed):
        return "uniform"
    if hits.rates() is None:
        return "unmeasured"
    return "better" if hits.is_better else "no better"


def _share(difference: float) -> float:
    return 1.0 if difference > 0 else 0.0 if difference < 0 else 0.5
