"""How well entries of one event find each other, through the store and the chore that groups new entries."""

import gc
import multiprocessing
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, combinations, count
from pathlib import Path

from bench.judged.data import (
    BEGIN,
    LabelledEntry,
    arrivals,
    corpus,
    corpus_entries,
    corpus_headlines,
    labelled_entries,
    sample_by_story,
)
from bench.judged.figures import Judged
from bench.judged.library import open_library
from reedbed.domain.stories.index import Headline, StoryIndex
from reedbed.domain.times import SECOND
from reedbed.services.stories import StoryGrouper

HEADLINE_HALVES = ("dev", "test")
SMALL, MIXED_ORDERS, LARGE_ORDERS = 50, (0, 1, 2, 3), (0, 1)
STORIES, MEASURED = 20_000, 1_000

Scores = tuple[float, float, float]
PairsAndBCubed = tuple[Scores, Scores]


async def judge_stories(half: str) -> list[Judged]:
    entries = labelled_entries(half)
    titles = [_without_lead(entry) for entry in entries]
    small = [await _scores(sample_by_story(entries, SMALL, seed), seed) for seed in range(6)]
    orders = [await _grouped(arrivals(entries, seed)) for seed in MIXED_ORDERS]
    bare = [await _scores(titles, seed) for seed in MIXED_ORDERS[:2]]
    figures = [
        *_pairs_and_b_cubed(half, "stories, with leads", [score(entries, homes) for homes in orders]),
        *(_by_language(half, language, entries, orders) for language in ("en", "de", "fr", "es")),
        Judged(half, "stories: pairs that two orders of arrival share", _agreement(orders)),
        *_across_languages(half, entries, orders[0]),
        *_pairs_and_b_cubed(half, f"stories, {SMALL} entries", small),
        *_pairs_and_b_cubed(half, "stories, titles only", bare),
    ]
    if half in HEADLINE_HALVES and (file := corpus("headlines", "news.csv")) is not None:
        headlines = corpus_headlines(file, half)
        large = [await _scores(entries, seed, headlines) for seed in LARGE_ORDERS]
        figures += _pairs_and_b_cubed(half, f"stories, among {len(headlines):,} headlines", large)
        alone = [(await _scores(headlines, seed))[1] for seed in (1, 3)]
        figures += _three(half, "headlines: B³", alone)
    return figures


async def judge_corpus_stories(file: Path) -> list[Judged]:
    entries = corpus_entries(file)
    orders = [await _scores(entries, seed) for seed in MIXED_ORDERS]
    return _pairs_and_b_cubed("dev.tsv", "stories, with leads", orders)


def _without_lead(entry: LabelledEntry) -> LabelledEntry:
    return LabelledEntry(entry.id, entry.story, entry.language, entry.outlet, entry.at, entry.title, html="")


async def _scores(entries: Sequence[LabelledEntry], seed: int, others: Sequence[LabelledEntry] = ()) -> PairsAndBCubed:
    """Scores of `entries` when they arrive mixed with the others."""
    return score(entries, await _grouped(arrivals([*entries, *others], seed)))


async def _grouped(entries: Sequence[LabelledEntry]) -> Mapping[str, int]:
    """The story of each entry, after they came in this order and the chore ran again and again."""
    step, now = max(10, len(entries) // 20), 0
    async with open_library() as library:
        grouper = StoryGrouper()
        for first in range(0, len(entries), step):
            arrived = entries[first : first + step]
            now = max(now, *(entry.at for entry in arrived))
            library.set_clock(now)
            await library.receive(arrived)
            await grouper.group_new(library.runtime)
        return await library.stories()


def score(entries: Sequence[LabelledEntry], homes: Mapping[str, int]) -> PairsAndBCubed:
    """Pairs and B³ of the labelled entries, in groups that may hold others too.

    Two entries about one event in different languages are neither right nor wrong together.
    """
    sizes = Counter(homes.values())
    own = Counter(homes[entry.id] for entry in entries)
    events = Counter((homes[entry.id], entry.story) for entry in entries)
    cells = Counter((homes[entry.id], entry.story, entry.language) for entry in entries)
    stories = Counter((entry.story, entry.language) for entry in entries)

    right = sum(map(_pairs, cells.values()))
    neither = sum(map(_pairs, events.values())) - right
    together = sum(_pairs(sizes[home]) - _pairs(sizes[home] - number) for home, number in own.items()) - neither
    precision, recall = right / max(1, together), right / max(1, sum(map(_pairs, stories.values())))

    precisions, recalls = 0.0, 0.0
    for (home, story, language), both in cells.items():
        precisions += both * both / (sizes[home] - events[home, story] + both)
        recalls += both * both / stories[story, language]
    number = len(entries)
    return _with_f1(precision, recall), _with_f1(precisions / number, recalls / number)


def _pairs(number: int) -> int:
    return number * (number - 1) // 2


def _with_f1(precision: float, recall: float) -> Scores:
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _pairs_and_b_cubed(half: str, name: str, orders: Sequence[PairsAndBCubed]) -> list[Judged]:
    pairs, b_cubed = zip(*orders, strict=True)
    return [*_three(half, f"{name}:", pairs), *_three(half, f"{name}: B³", b_cubed)]


def _three(half: str, name: str, orders: Sequence[Scores]) -> list[Judged]:
    means = [statistics.mean(values) for values in zip(*orders, strict=True)]
    return [
        Judged(half, f"{name} {what}", mean) for what, mean in zip(("precision", "recall", "F1"), means, strict=True)
    ]


def _by_language(
    half: str, language: str, entries: Sequence[LabelledEntry], orders: Sequence[Mapping[str, int]]
) -> Judged:
    own = [entry for entry in entries if entry.language == language]
    f1 = statistics.mean(score(own, homes)[0][2] for homes in orders)
    return Judged(half, f"stories, with leads: F1, {language}", f1)


def _agreement(orders: Sequence[Mapping[str, int]]) -> float:
    """The share of pairs found with both of two orders, among those found with one of them at least."""
    together = [
        {pair for pair in combinations(sorted(homes), 2) if homes[pair[0]] == homes[pair[1]]} for homes in orders
    ]
    return statistics.mean(len(one & other) / max(1, len(one | other)) for one, other in combinations(together, 2))


def _across_languages(half: str, entries: Sequence[LabelledEntry], homes: Mapping[str, int]) -> list[Judged]:
    """The share of pairs of one event in two languages that are in one story, if there are such pairs."""
    pairs = [
        homes[first.id] == homes[second.id]
        for first, second in combinations(entries, 2)
        if first.story == second.story and first.language != second.language
    ]
    return [Judged(half, "stories: same event found across languages", statistics.mean(pairs))] if pairs else []


# --- Cost


def judge_story_cost() -> list[Judged]:
    """In a process of its own, so that no memory freed before is used again."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        microseconds, megabytes = pool.apply(_cost)
    return [
        Judged("cost", f"stories: µs an entry at {STORIES:,} stories", microseconds),
        Judged("cost", f"stories: MB at {STORIES:,} stories", megabytes),
    ]


def _cost() -> tuple[float, float]:
    invented, index = _invented(), StoryIndex()
    next(invented)  # makes its words
    gc.collect()
    before = _resident()
    while len(index) < STORIES - 10:
        index.place(next(invented))
    gc.collect()
    megabytes = (_resident() - before) / 1e6
    rounds: list[float] = []
    for _ in range(5):
        headlines = [next(invented) for _ in range(MEASURED)]
        started = time.process_time()
        for headline in headlines:
            index.place(headline)
        rounds.append((time.process_time() - started) / MEASURED * 1e6)
    return min(rounds), megabytes


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _invented() -> Iterator[Headline]:
    """Titles and leads over words as unevenly common as in a language; one in four reports an event of that day."""
    chance = random.Random(7)
    words = [f"w{place:x}q" for place in range(60_000)]
    common = list(accumulate(1 / (place + 10) for place in range(len(words))))
    events: list[list[str]] = []
    for place in count(1):
        title = chance.choices(words, cum_weights=common, k=chance.randint(5, 10))
        if place % 12 == 0 or not events:
            events.append(title[:4])
        if place % 4 == 0:
            title[:3] = chance.sample(events[-1 - min(len(events) - 1, chance.randrange(40))], 3)
        lead = [*title, *chance.choices(words, cum_weights=common, k=20)]
        yield Headline(
            place, chance.randrange(500), _sentence(title), BEGIN + place * SECOND, lead=f"{_sentence(lead)}."
        )


def _sentence(words: Sequence[str]) -> str:
    """One word in five is a name."""
    return " ".join(word.upper() if sum(map(ord, word)) % 5 == 0 else word for word in words)
