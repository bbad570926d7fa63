"""Which way to go through a search: the cheaper one, by what each has found so far, and never too far.

Every way meets the matches in the same order and loses none, so whichever fills the page first has the page.
When what a page may cost is spent, the way that has come farthest answers: a short page, and the place where
the next one goes on.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from reedbed.domain.paging import Cursor
from reedbed.domain.records import record
from reedbed.store.search.places import Hit, Span, ids_of

SHORTEST = 20
"""Of all steps."""
STEP_COST = 500.0
"""µs for a few statements, whatever they ask."""


@record
class Found:
    ids: tuple[int, ...]
    """In the order asked for."""
    next: Cursor | None
    """Where the next page goes on; None when nothing is left."""


@record
class Stepped:
    hits: Sequence[Hit]
    """What lies next on the way; fewer than asked for where it ends."""
    good: set[int]
    """Which of them are matches this user can see."""
    cost: float
    """About so many µs."""


@dataclass(slots=True)
class Way:
    step: Callable[[Span, int], Awaitable[Stepped]]
    span: Span
    guess: float
    """µs for each match, as long as nothing is known."""
    size: int
    """Of the first step, if it can be afforded."""
    toll: Callable[[], float] = lambda: 0.0
    """µs for a step of any length."""
    weigh: Callable[[], Awaitable[float]] | None = None
    """µs for each entry, asked for before the first step."""
    found: list[Hit] = field(default_factory=list[Hit])
    looked: int = 0
    spent: float = 0.0
    ended: bool = False

    def price(self, limit: int) -> float:
        """What the rest of the page will cost, if it goes on as it went."""
        each = self.spent / (len(self.found) + 0.5) if self.looked else self.guess
        return self._missing(limit) * each + self.toll()

    async def go_on(self, limit: int, purse: float) -> float:
        if self.looked:
            size = self._next_size(limit, purse)
        else:
            each = await self.weigh() if self.weigh else self.guess
            size = max(SHORTEST, min(max(self.size, limit + 1), int(purse / each)))
        stepped = await self.step(self.span, size)
        self.found += [hit for hit in stepped.hits if hit.entry_id in stepped.good]
        self.looked += len(stepped.hits)
        cost = stepped.cost + STEP_COST
        self.spent += cost
        self.ended = len(stepped.hits) < size
        if stepped.hits:
            self.span = replace(self.span, beyond=stepped.hits[-1].place)
        return cost

    def _next_size(self, limit: int, purse: float) -> int:
        likely = self._missing(limit) * self.looked / (len(self.found) + 0.5)
        affordable = purse / (self.spent / self.looked)
        return max(SHORTEST, int(min(likely * 1.4, affordable, self.looked * 3)))

    def _missing(self, limit: int) -> int:
        return limit + 1 - len(self.found)


async def first_to_fill(ways: Sequence[Way], limit: int, purse: float) -> Found:
    least = purse / 20
    while purse > least:
        affordable = [way for way in ways if way.toll() < purse]
        if not affordable and any(way.looked for way in ways):
            break
        way = min(affordable or ways, key=lambda each: each.price(limit))
        purse -= await way.go_on(limit, purse)
        if way.ended or len(way.found) > limit:
            last = way.found[limit - 1].place if len(way.found) > limit else None
            return Found(ids_of(way.found[:limit]), last)
    farthest = max(ways, key=_progress)
    return Found(ids_of(farthest.found), farthest.span.beyond)


def _progress(way: Way) -> tuple[int, float]:
    """How many it found; of ways that found as many, how far it came."""
    if way.span.beyond is None:
        return 0, float("-inf")
    moment = way.span.beyond.sort_at
    return len(way.found), -moment if way.span.order == "newest" else moment
