"""Readers with known tastes, simulated: what they choose and pass by in lists of new entries, day by day.

`TUNED_ON` are the kinds of readers that the constants of the model were chosen with; `ASIDE` were looked at only
afterwards, in another world (other words, sources and authors).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log2
from random import Random

from reedbed.domain.interest.features import Candidate, features_of, source_key
from reedbed.domain.interest.model import InterestModel
from reedbed.domain.times import DAY, HOUR

TUNED_ON = ("topic", "source")
ASIDE = ("author", "mixed", "two topics", "changing", "long reads", "writers", "short reads", "drifting", "choosy")
RANDOM = "random"
DAYS, PER_DAY = 40, 24
AFTER = 30
"""Acts before the first list that is judged."""


@dataclass(frozen=True)
class Article:
    entry: Candidate
    topic: int


@dataclass
class World:
    """Thirty sources with two or three of twelve topics each; authors stay with a source, but for a few."""

    random: Random
    topics: int = 12
    sources: int = 30
    words: list[list[str]] = field(default_factory=list[list[str]])
    common: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.words = [[self._word() for _ in range(60)] for _ in range(self.topics)]
        self.common = [self._word() for _ in range(300)]
        self.of_source = [
            self.random.sample(range(self.topics), self.random.choice((2, 3))) for _ in range(self.sources)
        ]
        self.authors = [[f"{self._word()} {self._word()}" for _ in range(3)] for _ in range(self.sources)]
        self.freelancers = [f"{self._word()} {self._word()}" for _ in range(4)]
        self.often = [1 / (1 + place) ** 0.7 for place in range(self.sources)]

    def _word(self) -> str:
        syllables = ("ba", "ke", "li", "mo", "ru", "sa", "te", "vi", "no", "pa", "du", "ge", "hi", "zo", "fe", "la")
        return "".join(self.random.choice(syllables) for _ in range(self.random.choice((3, 3, 4))))

    def day(self, number: int) -> list[Article]:
        articles = [self._article(number, place) for place in range(PER_DAY)]
        return sorted(articles, key=lambda article: -article.entry.sort_at)

    def _article(self, day: int, place: int) -> Article:
        source = self.random.choices(range(self.sources), self.often)[0]
        topic = self.random.choice(self.of_source[source])
        title = [self._zipf(self.words[topic]) for _ in range(self.random.choice((2, 3, 3, 4)))]
        title += [self._zipf(self.common) for _ in range(self.random.choice((2, 3, 4)))]
        self.random.shuffle(title)
        authors = self.freelancers if self.random.random() < 0.2 else self.authors[source]
        number = day * PER_DAY + place + 1
        entry = Candidate(
            id=number,
            feed_id=source + 1,
            title=" ".join(title),
            url=f"https://{source}.example/{'news' if topic % 2 else 'culture'}/{number}",
            author=self.random.choice(authors),
            language="en",
            words=self.random.choice((80, 300, 700, 1500)),
            sort_at=day * DAY + int(self.random.random() * DAY),
        )
        return Article(entry, topic)

    def _zipf(self, words: Sequence[str]) -> str:
        return words[min(len(words) - 1, int(self.random.paretovariate(0.7)) - 1)]


def taste(kind: str, world: World) -> Callable[[Article, int], bool]:
    """Whether a reader of this kind likes an article on a day."""
    random = world.random
    topics = set(random.sample(range(world.topics), 3))
    later = set(random.sample(range(world.topics), 3))
    sources = set(random.sample(range(1, world.sources + 1), 8))
    authors = {author for source in random.sample(range(world.sources), 9) for author in world.authors[source][:2]}
    authors |= set(world.freelancers[:2])
    writers = set(random.sample([*(author for group in world.authors for author in group), *world.freelancers], 22))
    drifting = _drifting(random, world)
    disliked = set(random.sample(range(world.topics), 3))
    tastes: dict[str, Callable[[Article, int], bool]] = {
        "topic": lambda article, _: article.topic in topics,
        "source": lambda article, _: article.entry.feed_id in sources,
        "author": lambda article, _: article.entry.author in authors,
        "mixed": lambda article, _: (
            (article.topic in topics) + (article.entry.feed_id in sources) + (article.entry.author in authors) >= 2
            or article.topic == min(topics)
        ),
        "two topics": lambda article, _: article.topic in sorted(topics)[:2],
        "changing": lambda article, day: article.topic in (topics if day < DAYS // 2 else later),
        "long reads": lambda article, _: article.entry.words > 600 and article.topic % 2 == 1,
        "writers": lambda article, _: article.entry.author in writers,
        "short reads": lambda article, _: article.entry.words < 150,
        "drifting": lambda article, day: article.topic in drifting[day],
        "choosy": lambda article, _: article.topic not in disliked,
        RANDOM: lambda _, __: False,
    }
    return tastes[kind]


def _drifting(random: Random, world: World) -> list[set[int]]:
    """Three topics for each day; every ten days or so one of them is replaced."""
    days = [random.sample(range(world.topics), 3)]
    for _ in range(1, DAYS):
        topics = list(days[-1])
        if random.random() < 0.1:
            topics[random.randrange(3)] = random.randrange(world.topics)
        days.append(topics)
    return [set(topics) for topics in days]


@dataclass
class Metrics:
    auc: list[float] = field(default_factory=list[float])
    ndcg: list[float] = field(default_factory=list[float])

    def note(self, ranked: Sequence[bool]) -> None:
        if any(ranked) and not all(ranked):
            self.auc.append(auc(ranked))
            self.ndcg.append(ndcg(ranked))

    @property
    def means(self) -> tuple[float, float]:
        return sum(self.auc) / len(self.auc), sum(self.ndcg) / len(self.ndcg)


@dataclass
class Replay:
    model: Metrics = field(default_factory=Metrics)
    newest: Metrics = field(default_factory=Metrics)
    rate: Metrics = field(default_factory=Metrics)
    verdicts: list[str] = field(default_factory=list[str])


def replay(kind: str, seeds: Sequence[int]) -> Replay:
    """Predict each day's list, then learn from it; judged are the lists after `AFTER` acts."""
    result = Replay()
    for seed in seeds:
        _replay_one(kind, Random(f"{kind} {seed}"), result)
    return result


def _replay_one(kind: str, random: Random, result: Replay) -> None:
    world = World(random)
    likes = taste(kind, world)
    model, shares, acts = InterestModel(), _Shares(), 0
    for day in range(DAYS):
        articles = world.day(day)
        would = {article.entry.id: _would_choose(kind, likes(article, day), random) for article in articles}
        if acts >= AFTER:
            by_model = sorted(articles, key=lambda one: (-model.score(features_of(one.entry)), -one.entry.sort_at))
            by_rate = sorted(articles, key=lambda one: (-shares.of(one.entry.feed_id), -one.entry.sort_at))
            for metrics, order in ((result.model, by_model), (result.newest, articles), (result.rate, by_rate)):
                metrics.note([would[article.entry.id] for article in order])
        for place, article in enumerate(articles):
            if random.random() > 1 / (1 + 0.06 * place):
                continue  # rows further down are looked at less often
            chosen = would[article.entry.id]
            now = (day + 1) * DAY + HOUR
            model.learn(article.entry, f"Source {article.entry.feed_id}", "read" if chosen else "passed", now)
            shares.note(article.entry.feed_id, chosen=chosen)
            acts += 1
    result.verdicts.append(model.verdict())


def _would_choose(kind: str, liked: bool, random: Random) -> bool:
    """With noise: some of what a reader likes is passed by, some of the rest is opened."""
    if kind == RANDOM:
        return random.random() < 0.25
    return random.random() < (0.75 if liked else 0.07)


class _Shares:
    """The smoothed share of what was shown of a source that was opened."""

    def __init__(self) -> None:
        self.shown: dict[int, int] = {}
        self.opened: dict[int, int] = {}

    def note(self, feed_id: int, *, chosen: bool) -> None:
        self.shown[feed_id] = self.shown.get(feed_id, 0) + 1
        self.opened[feed_id] = self.opened.get(feed_id, 0) + chosen

    def of(self, feed_id: int) -> float:
        shown, opened = sum(self.shown.values()), sum(self.opened.values())
        share = (opened + 1) / (shown + 4)
        return (self.opened.get(feed_id, 0) + 4 * share) / (self.shown.get(feed_id, 0) + 4)


def auc(ranked: Sequence[bool]) -> float:
    """The share of pairs of a chosen and another entry in which the chosen one stands first."""
    chosen = sum(ranked)
    right, others = 0, len(ranked) - chosen
    for is_chosen in ranked:
        if is_chosen:
            right += others
        else:
            others -= 1
    return right / (chosen * (len(ranked) - chosen))


def ndcg(ranked: Sequence[bool], first: int = 10) -> float:
    gained = sum(1 / log2(place + 2) for place, is_chosen in enumerate(ranked[:first]) if is_chosen)
    best = sum(1 / log2(place + 2) for place in range(min(first, sum(ranked))))
    return gained / best


def source_keys(entries: Sequence[Candidate]) -> Iterator[int]:
    for entry in entries:
        yield source_key(entry.feed_id)
