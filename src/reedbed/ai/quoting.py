"""Answers without a model: the sentences of the entries that name what was asked about. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from reedbed.ai.answers import bounded
from reedbed.ai.sentences import sentences
from reedbed.domain.cited import Sentence
from reedbed.domain.questions import Passage, coverage, padded
from reedbed.domain.records import record

MOST_QUOTES = 5
MOST_SOURCES = 10
MAX_READ = 20_000
MOST_SENTENCES = 150
LONGEST_QUOTE = 400
LEAST = 0.6
"""Of what was asked about, a sentence and the title above it must name so much."""
OF_ITS_OWN = 0.34
"""And the sentence alone so much: a title does not make every sentence below it an answer."""
LEAST_WORDS = 4
"""Less is a heading or a caption."""


@record
class _Quote:
    text: str
    score: float
    passage: Passage
    words: str


def quote(worth: Mapping[str, float], passages: Sequence[Passage]) -> tuple[Sentence, ...]:
    """The best sentences, each once with all the entries that hold it; none where nothing fits."""
    found = [one for passage in passages for one in _fitting(worth, passage)]
    claims: dict[str, Sentence] = {}
    for one in sorted(found, key=lambda one: -one.score):
        known = claims.get(one.words)
        if known is not None:
            claims[one.words] = _seen_again(known, one.passage.entry_id)
        elif len(claims) < MOST_QUOTES:
            text = bounded(one.text, LONGEST_QUOTE)
            claims[one.words] = Sentence(text, (one.passage.entry_id,), one.passage.language)
    return tuple(claims.values())


def excerpt(worth: Mapping[str, float], passage: Passage, limit: int) -> str:
    """The beginning of an entry and what it says of the matter, for a model to read."""
    whole = [text for _, text in sentences(passage.text[:MAX_READ])][:MOST_SENTENCES]
    order = sorted(range(len(whole)), key=lambda place: (place > 1, -coverage(padded(whole[place]), worth)))
    chosen: list[int] = []
    left = limit
    for place in order:
        if left < len(whole[place]) and chosen:
            break
        chosen.append(place)
        left -= len(whole[place]) + 1
    return bounded(" ".join(whole[place] for place in sorted(chosen)), limit)


def _fitting(worth: Mapping[str, float], passage: Passage) -> Iterator[_Quote]:
    title = padded(passage.title)
    for number, (_, text) in enumerate(sentences(passage.text[:MAX_READ])):
        if number == MOST_SENTENCES:
            return
        if not _says_something(text):
            continue
        words = padded(text)
        alone = coverage(words, worth)
        together = coverage(f"{title}{words}", worth)
        if alone >= OF_ITS_OWN and together >= LEAST:
            yield _Quote(text, alone + together / 2 - number / 1_000, passage, words)


def _says_something(text: str) -> bool:
    """Where words are not written apart, a full stop makes the sentence."""
    return len(text.split()) >= LEAST_WORDS or text.endswith(("。", "！", "？"))


def _seen_again(claim: Sentence, entry_id: int) -> Sentence:
    ids = tuple(dict.fromkeys((*claim.entry_ids, entry_id)))[:MOST_SOURCES]
    return Sentence(claim.text, ids, claim.language)
