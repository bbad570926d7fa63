"""The labelled entries, articles and questions of `bench/data/intelligence`, and what lies in REEDBED_CORPORA."""

import csv
import hashlib
import html
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reedbed.domain.times import DAY, HOUR, MINUTE, Instant

HERE = Path(__file__).parents[1] / "data" / "intelligence"
SPLITS = ("dev", "test", "later", "latest", "later2", "kept", "fresh")
ASKED = "asked"
"""A split for Ask and summaries only. Its questions are asked of the entries of `dev` and `later`, too."""
BEGIN: Instant = 1_793_577_600_000
"""Day 0 of the entries: Monday, 2 November 2026, 00:00 UTC."""


@dataclass(frozen=True, slots=True)
class LabelledEntry:
    id: str
    story: str
    language: str
    outlet: str
    at: Instant
    title: str
    html: str
    key_facts: tuple[str, ...] = ()
    wants_summary: bool = False


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    id: str
    language: str
    text: str
    entries: frozenset[str]
    """The entries that answer it; none, if no entry does."""
    answers: tuple[str, ...]
    """Any one of them must stand in the answer."""


@dataclass(frozen=True, slots=True)
class WordPair:
    language: str
    query: str
    text: str
    """It holds another form of the query's word."""


@dataclass(frozen=True, slots=True)
class ExactnessTrap:
    kind: str
    """`only`: the unwanted text must not be found; `first`: the wanted text must come before it."""
    language: str
    query: str
    wanted: str
    unwanted: str


@dataclass(frozen=True, slots=True)
class ChangedFacts:
    """What the last reports of a story say, and what they have overtaken."""

    story: str
    language: str
    current: tuple[str, ...]
    superseded: tuple[str, ...]

    def are_superseded_in(self, text: str) -> bool:
        """Whether the text tells what no longer holds, and nothing of what does."""
        folded = text.casefold()
        return any(part.casefold() in folded for part in self.superseded) and not any(
            part.casefold() in folded for part in self.current
        )


@dataclass(frozen=True, slots=True)
class RelatedPair:
    article: str
    other: str
    is_related: bool


def labelled_entries(half: str) -> list[LabelledEntry]:
    return [
        LabelledEntry(
            row["id"],
            row["story"],
            row["language"],
            row["outlet"],
            _at(row["at"]),
            html.unescape(row["title"]),
            f"<p>{row['lead']}</p>" if row["lead"] else "",
        )
        for row in _rows("entries.tsv", half)
    ]


def entries_to_ask(half: str) -> list[LabelledEntry]:
    parts = ("dev", "later", ASKED) if half == ASKED else (half,)
    return [entry for part in parts for entry in (*labelled_entries(part), *labelled_articles(part))]


def labelled_articles(half: str) -> list[LabelledEntry]:
    with (HERE / "articles.jsonl").open(encoding="utf-8") as lines:
        articles = [article for line in lines if (article := json.loads(line))["split"] == half]
    return [
        LabelledEntry(
            article["id"],
            article["story"],
            article["language"],
            article["outlet"],
            _at(article["at"]),
            article["title"],
            article["html"],
            tuple(article["key"]),
            article["summary"],
        )
        for article in articles
    ]


def questions(half: str) -> list[AskedQuestion]:
    return [
        AskedQuestion(
            row["id"], row["language"], row["question"], frozenset(row["entries"].split()), _parts(row["answers"])
        )
        for row in _rows("questions.tsv", half)
    ]


def word_pairs(half: str) -> list[WordPair]:
    return [WordPair(row["language"], row["query"], row["text"]) for row in _rows("words.tsv", half)]


def exactness_traps(half: str) -> list[ExactnessTrap]:
    return [
        ExactnessTrap(row["kind"], row["language"], row["query"], row["wanted"], row["unwanted"])
        for row in _rows("traps.tsv", half)
    ]


def changed_facts(half: str) -> list[ChangedFacts]:
    return [
        ChangedFacts(row["story"], row["language"], _parts(row["current"]), _parts(row["superseded"]))
        for row in _rows("facts.tsv", half)
    ]


def related_pairs(half: str) -> list[RelatedPair]:
    return [RelatedPair(row["article"], row["other"], row["related"] == "yes") for row in _rows("related.tsv", half)]


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(part for part in cell.split("; ") if part)


def _rows(file: str, half: str) -> Iterator[dict[str, str]]:
    with (HERE / file).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["split"] == half:
                yield row


def _at(time: str) -> Instant:
    """`3 07:40` is 7:40 on day 3."""
    day, clock = time.split()
    hour, minute = clock.split(":")
    return BEGIN + int(day) * DAY + int(hour) * HOUR + int(minute) * MINUTE


# --- The corpora, which are not part of the program


def corpus(*parts: str) -> Path | None:
    """A file or folder of the corpora; None if it is not there."""
    root = os.environ.get("REEDBED_CORPORA")
    path = Path(root, *parts) if root else None
    return path if path is not None and path.exists() else None


def corpus_entries(file: Path) -> list[LabelledEntry]:
    """A file of story, outlet, title and lead. It has no times: they are spread over two days in no order."""
    chance = random.Random(1)
    lines = [line.split("\t") for line in file.read_text("utf-8").splitlines() if line]
    return [
        LabelledEntry(f"c{number}", story, "en", outlet, BEGIN + chance.randrange(2 * DAY), title, f"<p>{lead}</p>")
        for number, (story, outlet, title, lead) in enumerate(lines)
    ]


def corpus_headlines(file: Path, half: str) -> list[LabelledEntry]:
    """Headlines with the columns TITLE, PUBLISHER and STORY, halved by story; times as above, over five days."""
    chance = random.Random(2)
    found: list[LabelledEntry] = []
    with file.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines)):
            if row["STORY"] and (half == "test") == bool(hashlib.sha256(row["STORY"].encode()).digest()[0] & 1):
                at = BEGIN + chance.randrange(5 * DAY)
                found.append(
                    LabelledEntry(f"h{number}", row["STORY"], "en", row["PUBLISHER"], at, row["TITLE"], html="")
                )
    return found


# --- The orders in which entries arrive


def arrivals(entries: Sequence[LabelledEntry], seed: int) -> list[LabelledEntry]:
    """Even seeds: as published, each up to six hours late. Odd seeds: all at once, in any order."""
    chance = random.Random(seed)
    if seed % 2:
        return chance.sample(entries, len(entries))
    late = {entry.id: entry.at + chance.randrange(6 * HOUR) for entry in entries}
    return sorted(entries, key=lambda entry: late[entry.id])


def sample_by_story(entries: Sequence[LabelledEntry], most: int, seed: int) -> list[LabelledEntry]:
    """Whole stories in random order until there are so many entries."""
    stories = sorted({entry.story for entry in entries})
    random.Random(seed).shuffle(stories)
    rank = {story: number for number, story in enumerate(stories)}
    return sorted(entries, key=lambda entry: rank[entry.story])[:most]


def within_a_day(entries: Sequence[LabelledEntry], end: Instant) -> list[LabelledEntry]:
    """The same entries in the same order, published in the day before `end`."""
    first, last = min(entry.at for entry in entries), max(entry.at for entry in entries)
    start, length = end - DAY + HOUR, DAY - 2 * HOUR
    return [replace(entry, at=start + length * (entry.at - first) // max(1, last - first)) for entry in entries]


def retimed(entries: Sequence[LabelledEntry], end: Instant, seed: int) -> list[LabelledEntry]:
    """The same entries, published at random times of the day before `end`."""
    chance = random.Random(seed)
    return [replace(entry, at=end - MINUTE - chance.randrange(DAY - HOUR)) for entry in entries]
