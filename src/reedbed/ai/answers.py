"""Answers without a model: what a question asks for, and the sentences that say it. Pure functions."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from reedbed.ai import answer_words as words_of
from reedbed.ai.answer_stems import BEGINNING, StemSet, stems_of
from reedbed.ai.answer_types import (
    Inquiry,
    counts_people,
    is_only_demanded,
    may_measure_it,
    names_another_person,
    names_other_of_kind,
    says_when_and_who_is_new,
    search_terms,
    type_bonus,
)
from reedbed.ai.extractive import sentences
from reedbed.ai.responses import bounded
from reedbed.domain.digests import Sentence
from reedbed.domain.questions import CitablePassage
from reedbed.domain.records import record
from reedbed.domain.stopwords import BACK_REFERENCES, NOT_PROSE

MAX_QUOTES = 5
MAX_SOURCES = 10
MAX_TEXT = 20_000
MAX_SENTENCES = 150
MAX_QUOTE_LENGTH = 400
READ_CLOSELY = 30
"""The entries whose sentences are compared."""
NEAREST = 3
CONTEXT = 3
"""The number of sentences of the best entry that are quoted, if they have words of the question."""
UNRELATED = 0.3
"""The score that a sentence loses if the verb or role that the question asks about does not stand there."""
HEADLINE = 0.2
"""The score that a headline loses compared with a sentence, unless it holds what is asked for."""

MIN_SENTENCE_SCORE = 0.5
"""The minimum share of the question in a sentence with its title, neighbours and story."""
MIN_SCORE = 0.66
MIN_OF_BEST = 0.6
NEAR = 0.85
STORY_NAME, STORY_WORD = 0.6, 0.4
MIN_WORDS = 4
MIN_OWN, MIN_OWN_TYPED = 0.25, 0.12
"""The minimum share in the sentence alone."""
FROM_TITLE = 0.5
"""The first sentence says this share of what the title says, which it often leaves out."""
SUBJECT = 0.5
"""A sentence that begins with "she" or "it" says this share of what the sentence before says."""
SHORT, NAMED_BEFORE = 5, 3
"""The most sentences of an entry that is about one thing; else a name stands so many sentences before an answer."""
TITLE_OF_PERSON = 0.3
MIN_OTHERS = 0.3
"""The minimum share of the words besides names in a sentence about a number, date or person, or just before it."""
MIN_SUBJECT = 0.5
"""The minimum share of the words besides names in an entry with its story."""
UNKNOWN_WORD = 2.6
"""The weight of a word that no entry found has: the text may use other words."""
FEW = 10
"""Where fewer entries are found, a word is as rare as among so many."""
STRONG = 0.3
MAX_WEIGHT = 2.6
TIME_WEIGHT, COMMON_WEIGHT = 0.6, 1.0
"""The most that the name of a month or of a day weighs, since reports name other days, or none; and a common word."""
_STRICT_KINDS = ("number", "amount", "duration", "date", "person")
"""Without a number, date or person a sentence is no answer to these."""
_RELATED_KINDS = ("date", "person", "place")
"""What happened then or there, or what the person did or is, must stand near an answer to these."""


@record
class Answer:
    claims: tuple[Sentence, ...]
    nearest: tuple[int, ...]
    """Without claims: the entries that come closest."""
    missing: tuple[str, ...]
    """Without claims: words of the question that no entry found has."""


def answer(inquiry: Inquiry, passages: Sequence[CitablePassage], stories: Mapping[int, int]) -> Answer:
    """The best sentences, each with all entries that say it. `stories` are story ids by entry id."""
    if not inquiry.stems:
        return Answer((), (), ())
    library = _Library(inquiry, passages, stories)
    found = sorted(library.candidates(), key=lambda one: -one.score)
    claims: list[Sentence] = []
    seen: list[frozenset[str]] = []
    for one in found:
        if one.score < MIN_OF_BEST * found[0].score:
            break
        same = next((n for n, words in enumerate(seen) if _is_repeat(one.words, words)), None)
        if same is not None:
            claims[same] = _with_source(claims[same], one.passage.entry_id)
        elif len(claims) < MAX_QUOTES and not _is_known_headline(one, claims, seen):
            seen.append(one.words)
            text = bounded(one.text, MAX_QUOTE_LENGTH)
            claims.append(Sentence(text, (one.passage.entry_id,), one.passage.language))
    if claims:
        claims += library.context(found[0], seen)
    nearest = () if claims else tuple(doc.passage.entry_id for doc in library.best[:NEAREST])
    return Answer(tuple(claims), nearest, () if claims else library.missing())


def _is_known_headline(one: "_Found", claims: Sequence[Sentence], seen: Sequence[frozenset[str]]) -> bool:
    """Whether a headline, which stands below each quote of its entry, says little beside such a quote."""
    if one.text != one.passage.title:
        return False
    quoted = [words for claim, words in zip(claims, seen, strict=True) if one.passage.entry_id in claim.entry_ids]
    return any(len(one.words & words) > 0.4 * len(one.words) for words in quoted)


def best_passages(inquiry: Inquiry, passages: Sequence[CitablePassage], limit: int) -> list[CitablePassage]:
    if not inquiry.stems:
        return list(passages[:limit])
    return [doc.passage for doc in _Library(inquiry, passages, {}).best[:limit]]


def excerpt(inquiry: Inquiry, passage: CitablePassage, limit: int) -> str:
    """The beginning of an entry and its most relevant sentences, as input for a model."""
    wanted = set(search_terms(inquiry))
    texts = [text for _, text in islice(sentences(passage.text[:MAX_TEXT]), MAX_SENTENCES)]
    order = sorted(range(len(texts)), key=lambda index: (index > 1, -len(wanted & set(stems_of(texts[index])))))
    chosen: list[int] = []
    remaining = limit
    for index in order:
        if remaining < len(texts[index]) and chosen:
            break
        chosen.append(index)
        remaining -= len(texts[index]) + 1
    return bounded(" ".join(texts[index] for index in sorted(chosen)), limit)


# --- Scoring


@record
class _Found:
    text: str
    score: float
    passage: CitablePassage
    words: frozenset[str]


class _Document:
    def __init__(self, passage: CitablePassage, stems: Sequence[str]) -> None:
        self.passage = passage
        texts = [text for _, text in islice(sentences(passage.text[:MAX_TEXT]), MAX_SENTENCES)]
        # A headline may hold the answer, too. It comes last, because a sentence says it better.
        self.texts = [text for text in (*texts, passage.title) if len(text.split()) >= MIN_WORDS or text.endswith("。")]
        self.words = [stems_of(text) for text in self.texts]
        title = stems_of(passage.title)
        self.counts = Counter(word for words in self.words for word in words)
        self.counts.update(dict.fromkeys(title, 2))
        self.length = sum(self.counts.values())
        self.all_stems = frozenset(self.counts)
        self.hits = StemSet(self.all_stems).hits(stems)
        self.title_hits = StemSet(frozenset(title)).hits(stems)
        self.sentence_hits = [StemSet(frozenset(words)).hits(stems) for words in self.words]


class _Library:
    def __init__(self, inquiry: Inquiry, passages: Sequence[CitablePassage], stories: Mapping[int, int]) -> None:
        self.inquiry = inquiry
        self.documents = [_Document(passage, inquiry.stems) for passage in passages]
        self.weights = self._term_weights()
        self.whole = sum(self.weights) or 1.0
        self.stories = self._story_hits(stories)
        average = sum(doc.length for doc in self.documents) / max(1, len(self.documents)) or 1.0
        self.relevance = {id(doc): self._bm25(doc, average) for doc in self.documents}
        self.best = sorted(
            (doc for doc in self.documents if self.relevance[id(doc)]), key=lambda doc: -self.relevance[id(doc)]
        )

    def missing(self) -> tuple[str, ...]:
        return tuple(
            word for index, word in enumerate(self.inquiry.words) if not any(doc.hits[index] for doc in self.documents)
        )

    def candidates(self) -> Iterator[_Found]:
        top = self.relevance[id(self.best[0])] if self.best else 1.0
        names = [index for index, one in enumerate(self.inquiry.stems) if one in self.inquiry.focus]
        for doc in self.best[:READ_CLOSELY]:
            story = self.stories.get(doc.passage.entry_id, self._nothing)
            if all(max(doc.hits[index], story[index]) >= BEGINNING for index in names) and self._has_subject(
                doc, story
            ):
                yield from self._sentences(doc, story, self.relevance[id(doc)] / top)

    def _has_subject(self, doc: _Document, story: Sequence[float]) -> bool:
        """Whether an entry or its story has enough of the words besides names and common words that any entry has."""
        known = [
            index
            for index, one in enumerate(self.inquiry.stems)
            if one not in self.inquiry.names
            and self.weights[index] > COMMON_WEIGHT
            and any(other.hits[index] for other in self.documents)
        ]
        has = sum(self.weights[index] * max(doc.hits[index], NEAR * story[index]) for index in known)
        return has >= MIN_SUBJECT * sum(self.weights[index] for index in known)

    def context(self, best: _Found, shown: Sequence[frozenset[str]]) -> list[Sentence]:
        """What the best entry says beside the answer: sentences with words of the question, and on "why" the next one.

        There are up to `CONTEXT` sentences in all.
        """
        doc = next(doc for doc in self.best if doc.passage is best.passage)
        after = doc.texts.index(best.text) + 1 if self.inquiry.kind == "cause" else None
        places = [
            place
            for place, text in enumerate(doc.texts)
            if text != best.passage.title
            and _is_statement(text)
            and (place == after or self._covered(doc.sentence_hits[place]) >= MIN_OWN_TYPED)
        ]
        fresh = [
            place for place in places if not any(_is_repeat(frozenset(doc.words[place]), words) for words in shown)
        ]
        fresh.sort(key=lambda place: (place != after, -self._worth(doc, place)))
        chosen = sorted(fresh[: max(0, CONTEXT - len(shown))])
        return [
            Sentence(bounded(doc.texts[place], MAX_QUOTE_LENGTH), (best.passage.entry_id,), best.passage.language)
            for place in chosen
        ]

    def _worth(self, doc: _Document, place: int) -> float:
        bonus = max(0.0, type_bonus(self.inquiry, doc.texts[place]))
        return self._covered(doc.sentence_hits[place]) + bonus - 0.01 * place

    def _sentences(self, doc: _Document, story: Sequence[float], relevance: float) -> Iterator[_Found]:
        first = doc.sentence_hits[0] if doc.sentence_hits else self._nothing
        before = self._nothing
        for place, (text, hits) in enumerate(zip(doc.texts, doc.sentence_hits, strict=True)):
            near = [max(around) for around in zip(doc.title_hits, before, first, strict=True)]
            near_before, before = before, hits
            if not _is_statement(text):
                continue
            own = self._own(doc, place, near_before)
            together = self._covered(self._around(hits, near, story))
            score = sentence_score(self.inquiry, text, own, together)
            if self._must_be_related() and not self._has_predicate(doc, hits, near_before):
                continue
            if not says_when_and_who_is_new(self.inquiry, f"{text} {doc.passage.title}"):
                continue
            if not own and not may_measure_it(self.inquiry, text):
                continue
            is_headline = text == doc.passage.title
            if score is None or not self._says_what(self._around(hits, self._just_before(near_before, doc), story)):
                continue
            if self._is_about_another(doc, text) or not self._is_near_a_name(doc, place, near):
                continue
            if is_headline and not self._is_typed(text):
                score -= HEADLINE
            if not self._has_predicate(doc, hits, near_before):
                score -= UNRELATED
            score += 0.1 * relevance - 0.004 * place - 0.05 * (text.split()[0].lower() in BACK_REFERENCES)
            if score >= MIN_SCORE:
                yield _Found(text, score, doc.passage, frozenset(doc.words[place]))

    def _own(self, doc: _Document, place: int, before: Sequence[float]) -> float:
        """The share of the question in the sentence itself, or in what "she" or "it" at its beginning stands for."""
        hits, predicate = doc.sentence_hits[place], self.inquiry.predicate
        own = self._covered(hits)
        if place == 0:
            return max(own, FROM_TITLE * self._covered(doc.title_hits))
        leans = doc.texts[place].split()[0].lower() in BACK_REFERENCES
        if not leans or predicate is None or not hits[self.inquiry.stems.index(predicate)]:
            return own
        return max(own, self._covered([max(hit, SUBJECT * known) for hit, known in zip(hits, before, strict=True)]))

    def _just_before(self, sentence: Sequence[float], doc: _Document) -> list[float]:
        """What the sentence before and the title say. A title says less about who did something."""
        share = TITLE_OF_PERSON if self.inquiry.kind == "person" else 1.0
        return [max(hit, share * in_title) for hit, in_title in zip(sentence, doc.title_hits, strict=True)]

    def _is_typed(self, text: str) -> bool:
        return self.inquiry.kind in _STRICT_KINDS and type_bonus(self.inquiry, text) >= STRONG

    def _must_be_related(self) -> bool:
        return self.inquiry.kind in _RELATED_KINDS or counts_people(self.inquiry)

    def _has_predicate(self, doc: _Document, *near: Sequence[float]) -> bool:
        """Whether the verb or role that the question asks about stands there, or in the title."""
        if self.inquiry.predicate is None:
            return True
        index = self.inquiry.stems.index(self.inquiry.predicate)
        return any(hits[index] for hits in (*near, doc.title_hits))

    def _is_near_a_name(self, doc: _Document, place: int, near: Sequence[float]) -> bool:
        """Whether one of the names asked for stands there, in the title or first sentence, or a little before.

        A short entry is about one thing.
        """
        names = [index for index, one in enumerate(self.inquiry.stems) if one in self.inquiry.focus]
        if not names or self.inquiry.kind not in _STRICT_KINDS or len(doc.texts) <= SHORT:
            return True
        around = (near, *doc.sentence_hits[max(0, place - NAMED_BEFORE) : place + 1])
        return any(hits[index] for hits in around for index in names)

    def _is_about_another(self, doc: _Document, text: str) -> bool:
        """Whether a sentence is about another one of a kind, or somebody else while only the story has the name."""
        if self.inquiry.kind == "person" or not self.inquiry.focus:
            return False
        if names_other_of_kind(self.inquiry, text):
            return True
        names = [index for index, one in enumerate(self.inquiry.stems) if one in self.inquiry.focus]
        if any(doc.hits[index] for index in names):
            return False
        return names_another_person(self.inquiry, text) or any(
            names_other_of_kind(self.inquiry, other) for other in (doc.passage.title, *doc.texts[:2])
        )

    def _says_what(self, around: Sequence[float]) -> bool:
        """Whether enough of a question about a number, date or person stands around there, besides names."""
        if self.inquiry.kind not in _STRICT_KINDS:
            return True
        others = [index for index, one in enumerate(self.inquiry.stems) if one not in self.inquiry.names]
        near = sum(self.weights[index] * around[index] for index in others)
        return near >= MIN_OTHERS * sum(self.weights[index] for index in others)

    @property
    def _nothing(self) -> list[float]:
        return [0.0] * len(self.inquiry.stems)

    def _covered(self, hits: Sequence[float]) -> float:
        return sum(weight * hit for weight, hit in zip(self.weights, hits, strict=True)) / self.whole

    def _around(self, hits: Sequence[float], near: Sequence[float], story: Sequence[float]) -> list[float]:
        """What a sentence says with its title, its neighbours and its story."""
        shares = (STORY_NAME if one in self.inquiry.focus else STORY_WORD for one in self.inquiry.stems)
        return [
            max(hit, NEAR * neighbour, share * in_story)
            for hit, neighbour, in_story, share in zip(hits, near, story, shares, strict=True)
        ]

    def _term_weights(self) -> list[float]:
        size = max(FEW, len(self.documents))
        counts = [sum(doc.hits[index] > 0 for doc in self.documents) for index in range(len(self.inquiry.stems))]
        return [
            min(
                _most(word),
                UNKNOWN_WORD
                if not count and one not in self.inquiry.focus
                else 0.6 + math.log(1 + (size + 0.5) / (count + 0.5)),
            )
            for one, word, count in zip(self.inquiry.stems, self.inquiry.words, counts, strict=True)
        ]

    def _story_hits(self, stories: Mapping[int, int]) -> dict[int, list[float]]:
        by_story: dict[int, list[float]] = {}
        for doc in self.documents:
            if (story := stories.get(doc.passage.entry_id)) is not None:
                known = by_story.get(story, doc.hits)
                by_story[story] = list(map(max, known, doc.hits))
        return {entry_id: by_story[story] for entry_id, story in stories.items() if story in by_story}

    def _bm25(self, doc: _Document, average: float) -> float:
        score = 0.0
        for one, weight, hit in zip(self.inquiry.stems, self.weights, doc.hits, strict=True):
            count: float = doc.counts.get(one, 0) or hit
            score += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * doc.length / average)) if count else 0.0
        return score


def _most(word: str) -> float:
    return TIME_WEIGHT if word in words_of.TIMES else COMMON_WEIGHT if word in words_of.COMMON_WORDS else MAX_WEIGHT


def _is_statement(text: str) -> bool:
    return NOT_PROSE.search(text) is None and not text.rstrip().endswith(("?", ":"))


def _is_repeat(words: frozenset[str], shown: frozenset[str]) -> bool:
    return len(words & shown) > 0.7 * min(len(words), len(shown))


def sentence_score(inquiry: Inquiry, text: str, own: float, together: float) -> float | None:
    """How well a sentence answers, from the share of the question in it and around it; None: not at all."""
    if inquiry.kind in ("thing", "any"):
        return 0.6 * own + 0.5 * together if together >= MIN_SENTENCE_SCORE and own >= MIN_OWN else None
    bonus = type_bonus(inquiry, text)
    if inquiry.kind in _STRICT_KINDS and (bonus < 0 or is_only_demanded(inquiry, text)):
        return None
    if together < MIN_SENTENCE_SCORE or (own < MIN_OWN_TYPED and bonus < STRONG):
        return None
    return 0.35 * own + 0.65 * together + bonus


def _with_source(claim: Sentence, entry_id: int) -> Sentence:
    ids = tuple(dict.fromkeys((*claim.entry_ids, entry_id)))[:MAX_SOURCES]
    return Sentence(claim.text, ids, claim.language)
