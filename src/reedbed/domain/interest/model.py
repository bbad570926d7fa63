"""The model of what one user reads: an online logistic regression (AdaGrad) over hashed features.

score = base + source + the weights of the other features. `base` and `source` are not learnt by descent but counted:
the smoothed share of what was shown that the user chose, of all sources and of this one. So the model knows as
much as that share from the beginning, and the weights learn what the share does not explain. A weight counts
n / (n + `PRIOR`) after n acts. The score is a sum, so its terms are the explanation.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field
from math import exp, log, sqrt
from typing import Any, Literal, get_args

from reedbed.domain.errors import Conflict
from reedbed.domain.interest.features import Candidate, Feature, Features, features_of, named_features
from reedbed.domain.records import record
from reedbed.domain.times import HOUR, Instant

# --- Whether it is better than time order
#
# Each entry is predicted before it is learnt. Every pair of a chosen entry and one that was passed by on the screen in
# the same session counts once: the model is right where the score of the chosen one is higher, time order is right
# where the chosen one is newer. Sessions are samples: whether the model is ahead is judged by how much they differ.

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


# --- The model


Act = Literal["passed", "read", "app", "later", "starred", "saved", "highlighted", "shared"]
ACTS: tuple[Act, ...] = get_args(Act)
STRENGTH: Mapping[Act, float] = {
    "passed": 0.3,
    "read": 1.0,
    "app": 0.5,
    "later": 1.0,
    "starred": 3.0,
    "saved": 3.0,
    "highlighted": 3.0,
    "shared": 3.0,
}
"""How much an act says. `app`: marked read alone by another app, which does not know how long it was open."""

PINS: Mapping[str, float] = {"more": 1.5, "less": -1.5, "never": 0.0}

MAX_FEATURES = 12_000
MAX_KNOWN = 2_000
"""Entries whose acts are remembered, so that each act teaches once."""
MAX_PINS = 500

RATE = 0.7
PRIOR = 2.0
SMOOTHING = 2.0
"""Acts that the share of all sources counts as, in the share of one."""
FADE_AT = 60.0
"""Counts are halved here, so that they follow a change of taste."""
MAX_STEP, MAX_WEIGHT = 2.0, 8.0
MAX_START = 6.0
"""Acts that the history of a source counts as when the model begins."""


@record
class ScoreTerm:
    """One summand of a score."""

    feature: Feature
    value: float
    seen: float = 0.0
    liked: float = 0.0
    pin: str = ""


@record
class Belief:
    """What the model believes about a feature."""

    kind: str
    value: str
    label: str
    weight: float
    seen: float
    liked: float
    pin: str = ""


class InterestModel:
    """What is kept of one user. Counts are weighted by the strength of acts."""

    __slots__ = (
        "_raw", "_squares", "chosen", "hits", "known", "liked", "liked_of_all", "names", "passed", "pins", "seen",
        "seen_of_all", "sources", "weights",
    )  # fmt: skip

    def __init__(self) -> None:
        # By feature; all five have the same keys in the same order.
        self.weights: dict[int, float] = {}
        """What the feature adds to a score, less after few acts; of a source: what its share adds. 0 if pinned."""
        self._raw: dict[int, float] = {}
        self._squares: dict[int, float] = {}
        self.seen: dict[int, float] = {}
        self.liked: dict[int, float] = {}
        self.names: dict[int, str] = {}
        """Kind, value and label of a feature with tabs between them. Not loaded for scores."""
        self.pins: dict[int, tuple[Feature, str]] = {}
        self.known: dict[int, int] = {}
        """The acts on each of the latest entries, as bits."""
        self.seen_of_all = 0.0
        self.liked_of_all = 0.0
        self.chosen = 0
        """Entries that the user chose, and passed by."""
        self.passed = 0
        self.sources = 0
        """Sources with an entry that the user chose."""
        self.hits = HitRate()

    # --- Scores

    @property
    def base(self) -> float:
        return _logit(self._rate)

    @property
    def _rate(self) -> float:
        return (self.liked_of_all + 1.0) / (self.seen_of_all + 4.0)

    def score(self, features: Features) -> float:
        """The log odds that the user chooses the entry once it is on the screen."""
        get = self.weights.get
        total = self.base + get(features.source, 0.0)
        for key in features.others:
            total += get(key, 0.0)
        topics = 0.0
        for key in features.topics:
            topics += get(key, 0.0)
        total += topics * features.share
        return total + self._pinned(features) if self.pins else total

    def _pinned(self, features: Features) -> float:
        keys = {features.source, *features.others, *features.topics} & self.pins.keys()
        return sum(PINS[self.pins[key][1]] for key in keys)

    def explain(self, entry: Candidate, source: str) -> list[ScoreTerm]:
        """The summands of the score; the first one is the base, then the largest."""
        features = features_of(entry)
        topics = set(features.topics)
        named = {feature.key: feature for feature in reversed(named_features(entry, source))}
        terms = [self._term(feature, features.share if key in topics else 1.0) for key, feature in named.items()]
        base = ScoreTerm(Feature("base", "", ""), self.base, self.seen_of_all, self.liked_of_all)
        return [base, *sorted(terms, key=lambda term: -abs(term.value))]

    def _term(self, feature: Feature, share: float) -> ScoreTerm:
        key = feature.key
        pin = self.pins[key][1] if key in self.pins else ""
        value = PINS[pin] if pin else self.weights.get(key, 0.0) * share
        return ScoreTerm(feature, value, self.seen.get(key, 0.0), self.liked.get(key, 0.0), pin)

    def verdict(self) -> Verdict:
        """Whether lists may be ordered by it."""
        return verdict_on(self.hits, chosen=self.chosen, passed=self.passed, sources=self.sources)

    # --- Learning

    def learn(self, entry: Candidate, source: str, act: Act, now: Instant, *, strength: float = 1.0) -> bool:
        """Learn from an act; False if it adds nothing. `strength` is that of this act among acts of its kind."""
        bit, acts = 1 << ACTS.index(act), self.known.pop(entry.id, 0)
        self.known[entry.id] = acts | bit
        if acts & bit or (act == "passed" and acts):
            return False
        while len(self.known) > MAX_KNOWN:
            del self.known[next(iter(self.known))]
        features = features_of(entry)
        score = self.score(features)
        liked = act != "passed"
        if not acts & ~1:  # its first act, but for being passed by
            self.hits.note(score - self.base, entry.sort_at, now, chosen=liked)
            self.chosen += liked
            self.passed += not liked
            self.sources += liked and not self.liked.get(features.source, 0.0)
        self._descend(features, score, STRENGTH[act] * strength, liked=liked)
        for feature in named_features(entry, source):
            self.names[feature.key] = f"{feature.kind}\t{feature.value}\t{_line(feature.label)}"
        if len(self.weights) > MAX_FEATURES:
            self._drop_rare()
        return True

    def _descend(self, features: Features, score: float, strength: float, *, liked: bool) -> None:
        slope = (1 / (1 + exp(-max(-30.0, min(30.0, score)))) - liked) * min(strength, MAX_STEP)
        for key in features.others:
            self._step(key, slope, strength, liked=liked)
        for key in features.topics:
            self._step(key, slope * features.share, strength, liked=liked)
        half = 0.5 if self.seen_of_all > 10 * FADE_AT else 1.0
        self.seen_of_all = (self.seen_of_all + strength) * half
        self.liked_of_all = (self.liked_of_all + strength * liked) * half
        self._count(features.source, strength, liked=liked)
        self._update_source_weight(features.source)

    def _step(self, key: int, slope: float, strength: float, *, liked: bool) -> None:
        self._count(key, strength, liked=liked)
        squares = self._squares[key] = self._squares[key] + slope * slope
        raw = self._raw[key] - RATE * slope / sqrt(squares + 1)
        self._raw[key] = max(-MAX_WEIGHT, min(MAX_WEIGHT, raw))
        self._update_weight(key)

    def _count(self, key: int, strength: float, *, liked: bool) -> None:
        if key not in self.seen:
            self._add(key)
        half = 0.5 if self.seen[key] > FADE_AT else 1.0
        self.seen[key] = (self.seen[key] + strength) * half
        self.liked[key] = (self.liked[key] + strength * liked) * half

    def _add(self, key: int) -> None:
        for column in self._columns():
            column[key] = 0.0

    def _columns(self) -> tuple[dict[int, float], ...]:
        return self.weights, self._raw, self._squares, self.seen, self.liked

    def _update_weight(self, key: int) -> None:
        seen = self.seen[key]
        self.weights[key] = 0.0 if key in self.pins else self._raw[key] * seen / (seen + PRIOR)

    def _update_source_weight(self, key: int) -> None:
        share = (self.liked[key] + SMOOTHING * self._rate) / (self.seen[key] + SMOOTHING)
        self.weights[key] = 0.0 if key in self.pins else _logit(share) - self.base

    def start_with(self, sources: Iterable[tuple[Feature, int, int]]) -> None:
        """Start with what is known from before: how many entries each source brought, and how many were opened."""
        keys: list[int] = []
        for feature, came, opened in sources:
            seen = min(MAX_START, STRENGTH["passed"] * came + opened)
            self._add(feature.key)
            self.seen[feature.key], self.liked[feature.key] = seen, seen * min(1.0, opened / max(1, came))
            self.seen_of_all += seen
            self.liked_of_all += self.liked[feature.key]
            self.names[feature.key] = f"{feature.kind}\t{feature.value}\t{_line(feature.label)}"
            keys.append(feature.key)
        for key in keys:
            self._update_source_weight(key)

    def _drop_rare(self) -> None:
        """Drop a tenth of the features: those with the least evidence."""
        rare = sorted((key for key in self.weights if key not in self.pins), key=self._evidence)
        for key in rare[: MAX_FEATURES // 10]:
            for column in self._columns():
                del column[key]
            self.names.pop(key, None)

    def _evidence(self, key: int) -> tuple[float, float]:
        return self.seen[key], abs(self.weights[key])

    # --- What the user says

    def pin(self, feature: Feature, pin: str) -> str:
        """Set or, with an empty text, remove a pin; returns the one before."""
        key = feature.key
        before = self.pins.pop(key, (feature, ""))[1]
        if pin and len(self.pins) >= MAX_PINS:
            raise Conflict("There can be at most %(limit)s choices. Remove one first.", limit=MAX_PINS)
        if pin:
            known = self.names.get(key, "").rpartition("\t")[2]
            self.pins[key] = (Feature(feature.kind, feature.value, known or feature.label), pin)
        if key in self.weights:
            (self._update_source_weight if feature.kind == "source" else self._update_weight)(key)
        return before

    def beliefs(self) -> list[Belief]:
        """Every named feature with what it adds to a score, the strongest likes first."""
        found = [
            Belief(*_named(line), self.weights[key], self.seen[key], self.liked[key])
            for key, line in self.names.items()
            if key not in self.pins and key in self.weights
        ]
        for key, (feature, pin) in self.pins.items():
            counts = (self.seen.get(key, 0.0), self.liked.get(key, 0.0))
            found.append(Belief(feature.kind, feature.value, feature.label, PINS[pin], *counts, pin))
        return sorted(found, key=lambda belief: -belief.weight)

    # --- How it is stored

    def dump(self) -> "StoredInterest":
        numbers = array("I", self.seen).tobytes()
        numbers += b"".join(array("f", column.values()).tobytes() for column in self._columns())
        numbers += array("q", self.known).tobytes() + bytes(self.known.values())
        rest = {
            "features": len(self.seen),
            "known": len(self.known),
            "seen": self.seen_of_all,
            "liked": self.liked_of_all,
            "chosen": self.chosen,
            "passed": self.passed,
            "sources": self.sources,
            "pins": [[feature.kind, feature.value, feature.label, pin] for feature, pin in self.pins.values()],
            "hits": self.hits.dump(),
        }
        return StoredInterest(numbers, "\n".join(self.names.get(key, "") for key in self.seen), rest)

    @classmethod
    def load(cls, stored: "StoredInterest") -> "InterestModel":
        """Without names it can only compute scores."""
        model, numbers, rest = cls(), stored.numbers, stored.rest
        count, known = int(rest.get("features", 0)), int(rest.get("known", 0))
        if len(numbers) != count * 24 + known * 9:
            return model
        keys = _array("I", numbers[: 4 * count])
        model.weights, model._raw, model._squares, model.seen, model.liked = (
            dict(zip(keys, _array("f", numbers[4 * count * n : 4 * count * (n + 1)]), strict=True)) for n in range(1, 6)
        )
        ids = _array("q", numbers[24 * count : 24 * count + 8 * known])
        model.known = dict(zip(ids, numbers[24 * count + 8 * known :], strict=True))
        lines = stored.names.split("\n") if stored.names else ()
        model.names = {key: line for key, line in zip(keys, lines, strict=False) if line}
        model.seen_of_all, model.liked_of_all = float(rest.get("seen", 0.0)), float(rest.get("liked", 0.0))
        model.chosen, model.passed = int(rest.get("chosen", 0)), int(rest.get("passed", 0))
        model.sources = int(rest.get("sources", 0))
        for kind, value, label, pin in rest.get("pins", ()):
            feature = Feature(kind, value, label)
            model.pins[feature.key] = (feature, pin)
        model.hits = HitRate.load(rest.get("hits", {}))
        return model


@record
class StoredInterest:
    """The numbers of features and known entries, the names of features, and the rest as JSON."""

    numbers: bytes = b""
    names: str = ""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])


def _array(kind: str, data: bytes) -> "array[Any]":
    numbers: array[Any] = array(kind)
    numbers.frombytes(data)
    return numbers


def _named(line: str) -> tuple[str, str, str]:
    kind, _, rest = line.partition("\t")
    value, _, label = rest.partition("\t")
    return kind, value, label


def _line(text: str) -> str:
    return " ".join(text.split())


def _logit(share: float) -> float:
    share = max(0.001, min(0.999, share))
    return log(share / (1 - share))
