"""The order by interest: rare sources are lifted, a source is capped at first, every eighth row is from elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import exp, log2

from reedbed.domain.interest.features import Candidate, features_of
from reedbed.domain.interest.model import InterestModel
from reedbed.domain.records import record
from reedbed.domain.times import DAY, Instant

RARITY = 0.8
"""Log odds that the rarest source of a list gains over the most frequent one."""
AGE_PER_DAY, OLDEST = 0.12, 14
FIRST, PER_SOURCE = 20, 4
"""Among this many first rows, the limit for one source, if there are enough other sources."""
EVERY = 8
"""One row of this many is from outside the user's taste."""
WORTH_IT = 0.9
"""An entry is marked in lists if its log odds exceed those of an average entry by this much."""


@record
class RankedEntry:
    id: int
    outside: bool = False


@record
class OrderTerms:
    """What the order adds to the score of an entry."""

    rarity: float
    age: float


def rank(candidates: Sequence[Candidate], model: InterestModel, now: Instant) -> list[RankedEntry]:
    """All candidates, none twice: the order never filters."""
    frequency = frequency_of(candidates)
    scored = sorted(
        (_placed(entry, model, frequency, now) for entry in candidates), key=lambda one: (-one[0], -one[1].sort_at)
    )
    entries = [entry for _, entry in scored]
    return _with_others(_capped(entries, len(frequency)), model)


def frequency_of(candidates: Sequence[Candidate]) -> Mapping[int, int]:
    """How many of the listed entries each source has."""
    return Counter(entry.feed_id for entry in candidates)


def order_terms(entry: Candidate, frequency: Mapping[int, int], now: Instant) -> OrderTerms:
    most = max(frequency.values(), default=1)
    own = frequency.get(entry.feed_id, 1)
    rarity = RARITY * (1 - log2(1 + own) / log2(1 + most)) if most > 1 else 0.0
    return OrderTerms(rarity, -AGE_PER_DAY * min(OLDEST, max(0, now - entry.sort_at) / DAY))


def is_worth_it(entry: Candidate, model: InterestModel) -> bool:
    return model.score(features_of(entry)) - model.base >= WORTH_IT


def care(entry: Candidate, model: InterestModel, most: float) -> float:
    """How much the user cares, from 0 to `most`, for the importance of an entry in a digest."""
    return most / (1 + exp(-(model.score(features_of(entry)) - model.base)))


def _placed(
    entry: Candidate, model: InterestModel, frequency: Mapping[int, int], now: Instant
) -> tuple[float, Candidate]:
    terms = order_terms(entry, frequency, now)
    return model.score(features_of(entry)) + terms.rarity + terms.age, entry


def _capped(entries: Sequence[Candidate], sources: int) -> list[Candidate]:
    """Limit each source to its share of the first rows; entries beyond it follow right after them."""
    most = max(PER_SOURCE, -(-FIRST // max(1, sources)) + 1)
    first: list[Candidate] = []
    later: list[Candidate] = []
    of_source: defaultdict[int, int] = defaultdict(int)
    for place, entry in enumerate(entries):
        if len(first) == FIRST:
            later += entries[place:]
            break
        if of_source[entry.feed_id] < most:
            of_source[entry.feed_id] += 1
            first.append(entry)
        else:
            later.append(entry)
    return first + later


def _with_others(entries: Sequence[Candidate], model: InterestModel) -> list[RankedEntry]:
    """Each eighth row is an entry of the lower half that the model knows least about."""
    if len(entries) < 2 * EVERY:
        return [RankedEntry(entry.id) for entry in entries]
    places = len(entries) // EVERY
    least_known = sorted(entries[len(entries) // 2 :], key=lambda entry: (_evidence(entry, model), -entry.sort_at))
    others = [entry.id for entry in _one_per_source_first(least_known)[: places // 2]]
    apart = set(others)
    rows: list[RankedEntry] = []
    waiting = iter(others)
    for entry in entries:
        if entry.id in apart:
            continue
        if len(rows) % EVERY == EVERY - 1 and (other := next(waiting, None)) is not None:
            rows.append(RankedEntry(other, outside=True))
        rows.append(RankedEntry(entry.id))
    return rows + [RankedEntry(other, outside=True) for other in waiting]


def _evidence(entry: Candidate, model: InterestModel) -> float:
    return model.seen.get(features_of(entry).source, 0.0)


def _one_per_source_first(entries: Sequence[Candidate]) -> list[Candidate]:
    turns: Counter[int] = Counter()
    placed: list[tuple[int, Candidate]] = []
    for entry in entries:
        placed.append((turns[entry.feed_id], entry))
        turns[entry.feed_id] += 1
    return [entry for _, entry in sorted(placed, key=lambda one: one[0])]
