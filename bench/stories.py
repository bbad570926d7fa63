"""How well entries of one event find each other, and what that costs as a collection grows.

Quality is measured on headlines that are not part of the program: set BENCH_HEADLINES to a CSV file with the
columns TITLE, PUBLISHER and STORY (the UCI News Aggregator data has them). Stories, not headlines, are dealt
into a half to tune on and a half to test with. They come in a random order: in the file each story stands
together, which would be half the answer.
"""

import csv
import hashlib
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.table import record
from reedbed.domain.stories.index import Headline, StoryIndex
from reedbed.domain.times import SECOND

DESCRIPTION = "stories: B-cubed on labelled headlines, and the cost of a new entry"

BEGIN = 1_700_000_000_000
ORDERS = (1, 2, 3)
MIN_PRECISION = 0.85
MIN_F1 = 0.70
MAX_CPU = 30.0
MEASURED = 500
ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Labelled:
    title: str
    publisher: str
    story: str


def main() -> None:
    file = os.environ.get("BENCH_HEADLINES")
    if file:
        _measure_quality(Path(file))
    else:
        print("BENCH_HEADLINES is not set: quality is not measured.\n")
    _measure_cost()


def _measure_quality(file: Path) -> None:
    halves: dict[str, list[Labelled]] = {"tune": [], "test": []}
    for one in _read(file):
        halves["test" if hashlib.sha256(one.story.encode()).digest()[0] & 1 else "tune"].append(one)
    for half, headlines in halves.items():
        scores = [_score(headlines, order) for order in ORDERS]
        precision, recall, f1 = (sum(values) / len(values) for values in zip(*scores, strict=True))
        record(f"{half} half: precision", precision, "B³", compared_to="at least", other=MIN_PRECISION)
        record(f"{half} half: recall", recall, "B³", compared_to="(no promise)", other=1.0)
        record(f"{half} half: F1", f1, "B³", compared_to="at least", other=MIN_F1)


def _read(file: Path) -> Iterable[Labelled]:
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["STORY"]:
                yield Labelled(row["TITLE"], row["PUBLISHER"], row["STORY"])


def _score(headlines: Sequence[Labelled], order: int) -> tuple[float, float, float]:
    shuffled = list(headlines)
    random.Random(order).shuffle(shuffled)
    numbers: dict[str, int] = {}
    feeds = [numbers.setdefault(one.publisher, len(numbers) + 1) for one in shuffled]
    given = [
        Headline(place, feed, one.title, BEGIN + place * SECOND)
        for place, (one, feed) in enumerate(zip(shuffled, feeds, strict=True), 1)
    ]
    return b_cubed(_group(given), [one.story for one in shuffled])


def _group(headlines: Iterable[Headline]) -> list[int]:
    index, became, homes = StoryIndex(), dict[int, int](), list[int]()
    for headline in headlines:
        placed = index.place(headline)
        became |= dict.fromkeys(placed.merged, placed.story_id)
        homes.append(placed.story_id)
    return [_last(home, became) for home in homes]


def _last(home: int, became: dict[int, int]) -> int:
    while home in became:
        home = became[home]
    return home


def b_cubed(found: Sequence[int], truth: Sequence[str]) -> tuple[float, float, float]:
    """Precision, recall and F1: for each entry, how much of its group and of its story is the same."""
    cells = Counter(zip(found, truth, strict=True))
    groups, stories, number = Counter(found), Counter(truth), len(found)
    precision = sum(both * both / groups[group] for (group, _), both in cells.items()) / number
    recall = sum(both * both / stories[story] for (_, story), both in cells.items()) / number
    return precision, recall, 2 * precision * recall / (precision + recall)


def _measure_cost() -> None:
    started = time.process_time()
    _group(_invented(10_000))
    took = time.process_time() - started
    record("10,000 entries grouped", took, "s", compared_to="at most", other=MAX_CPU, cpu_seconds=took)
    first = None
    for size in (1_000, 10_000, 100_000):
        cost = _cost_after(size)
        first = first or cost
        record(f"a new entry after {size:,}", cost, "µs", compared_to="after 1,000", other=first)


def _cost_after(size: int) -> float:
    """Of one more entry, in a collection of so many from three days: the best of a few rounds."""
    headlines = iter(_invented(size + ROUNDS * MEASURED))
    index = StoryIndex()
    for headline in islice(headlines, size):
        index.place(headline)
    return min(_round(index, list(islice(headlines, MEASURED))) for _ in range(ROUNDS)) / MEASURED * 1e6


def _round(index: StoryIndex, headlines: Iterable[Headline]) -> float:
    started = time.process_time()
    for headline in headlines:
        index.place(headline)
    return time.process_time() - started


def _invented(number: int) -> Iterable[Headline]:
    """Titles over words as unevenly common as in a language; a third report an event of that day."""
    chance = random.Random(7)
    words = [f"w{place:x}q" for place in range(60_000)]
    common = [1 / (place + 10) for place in range(len(words))]
    drawn = iter(chance.choices(words, common, k=number * 9))
    events = [[next(drawn) for _ in range(4)]]
    for place in range(1, number + 1):
        said = [next(drawn) for _ in range(chance.randint(4, 8))]
        if place % 12 == 0:
            events.append(said[:4])
        if place % 3 == 0:
            said[:3] = chance.sample(events[-1 - min(len(events) - 1, chance.randrange(40))], 3)
        yield Headline(place, chance.randrange(500), " ".join(said), BEGIN + place * SECOND)
