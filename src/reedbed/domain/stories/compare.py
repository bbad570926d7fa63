"""Comparing the outlets of a story without a model: shared and unique sentences, loud words, quotations, facts that
later reports have changed; and entries about something similar."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from reedbed.domain.entries import EntryRow
from reedbed.domain.records import record
from reedbed.domain.stories.words import (
    STEM_LENGTH,
    HeadlineWords,
    headline_words,
    is_roundup,
    telling_words,
    title_words,
)
from reedbed.domain.text import fold
from reedbed.domain.times import Instant

MAX_ONLY_HERE = 2
MAX_SHARED = 4

_MIN_SENTENCE = 40
_MAX_SENTENCE_LENGTH = 320
_MAX_SENTENCES = 80
_MIN_NEW_SHARE = 0.6
_MIN_NEW_WORDS = 4
_MAX_COMPARED_SENTENCES = 25
_MIN_COMMON_SHARE = 0.6
_MIN_COMMON_WORDS = 4
_MAX_OPENING = 320
_MIN_QUOTED_WORDS = 4
_LOUD_CAPITALS = 4
_LOUD_CAPITALS_ALONE = 7
"""A single shorter word in capitals is mostly an abbreviation."""


@record
class OutletText:
    """One outlet's entry, split into sentences."""

    entry_id: int
    language: str
    title: str
    sentences: tuple[str, ...]


@record
class SharedSentence:
    """A sentence that several outlets have in nearly the same words."""

    text: str
    language: str
    entry_ids: tuple[int, ...]


@record
class TitlePart:
    text: str
    is_loud: bool = False


# --- Sentences


def only_here(texts: Sequence[OutletText]) -> dict[int, tuple[str, ...]]:
    """For each entry, the sentences most of whose words no other entry in its language has."""
    unique: dict[int, tuple[str, ...]] = {}
    for group in _by_language(texts):
        words_by_text = [{word for sentence in text.sentences for word in _words(sentence)} for text in group]
        if sum(map(bool, words_by_text)) > 1:
            text_counts = Counter(word for words in words_by_text for word in words)
            unique |= {text.entry_id: _own_sentences(text.sentences, text_counts) for text in group}
    return unique


def _own_sentences(sentences: Sequence[str], text_counts: Mapping[str, int]) -> tuple[str, ...]:
    scored: list[tuple[float, int]] = []
    for index, sentence in enumerate(sentences[:_MAX_SENTENCES]):
        if not _MIN_SENTENCE <= len(sentence) <= _MAX_SENTENCE_LENGTH:
            continue
        words = _words(sentence)
        new = sum(text_counts[word] == 1 for word in words)
        if new >= _MIN_NEW_WORDS and new >= _MIN_NEW_SHARE * len(words):
            scored.append((-new / (len(words) + 4), index))
    best = sorted(index for _, index in sorted(scored)[:MAX_ONLY_HERE])
    return tuple(sentences[index] for index in best)


def shared_sentences(texts: Sequence[OutletText]) -> tuple[SharedSentence, ...]:
    """The sentences that most outlets share, each once, in the words of the plainest version."""
    found: list[SharedSentence] = []
    for group in _by_language(texts):
        used: set[tuple[int, str]] = set()
        for text in group:
            for sentence in _comparable(text):
                if (text.entry_id, sentence) in used:
                    continue
                versions = {text.entry_id: sentence} | _versions(sentence, text, group, used)
                if len(versions) > 1:
                    used |= set(versions.items())
                    plainest = min(versions.values(), key=lambda version: (_loudness(version), len(version)))
                    found.append(SharedSentence(plainest, text.language, tuple(versions)))
    found.sort(key=lambda shared: -len(shared.entry_ids))
    return tuple(found[:MAX_SHARED])


def _versions(
    sentence: str, text: OutletText, group: Sequence[OutletText], used: set[tuple[int, str]]
) -> dict[int, str]:
    """The nearest version of the sentence in each other text that has one."""
    words, versions = _words(sentence), dict[int, str]()
    for other in group:
        if other.entry_id == text.entry_id:
            continue
        near = [
            (len(words & _words(candidate)), candidate)
            for candidate in _comparable(other)
            if (other.entry_id, candidate) not in used and _says_the_same(words, _words(candidate))
        ]
        if near:
            versions[other.entry_id] = max(near)[1]
    return versions


def _says_the_same(words: frozenset[str], others: frozenset[str]) -> bool:
    common = len(words & others)
    # Share of the longer sentence: one that says more is not the same.
    return common >= _MIN_COMMON_WORDS and common >= _MIN_COMMON_SHARE * max(len(words), len(others))


def _comparable(text: OutletText) -> list[str]:
    sentences = text.sentences[:_MAX_COMPARED_SENTENCES]
    return [sentence for sentence in sentences if _MIN_SENTENCE // 2 <= len(sentence) <= _MAX_SENTENCE_LENGTH]


def _by_language(texts: Sequence[OutletText]) -> list[list[OutletText]]:
    groups: defaultdict[str, list[OutletText]] = defaultdict(list)
    for text in texts:
        groups[text.language[:2].lower()].append(text)
    return list(groups.values())


def _words(sentence: str) -> frozenset[str]:
    return frozenset(title_words(sentence))


def opening(sentences: Sequence[str]) -> str:
    """The first sentences, as many as fit into a few lines."""
    text = ""
    for sentence in sentences[:3]:
        if len(text) + len(sentence) >= _MAX_OPENING:
            break
        text = f"{text} {sentence}".lstrip()
    return text


def count_quotations(text: str) -> int:
    return sum(_is_quotation(quoted.group()) for quoted in _QUOTED.finditer(text))


def _is_quotation(quoted: str) -> bool:
    """Titles and doubted words are short, and stand within a sentence."""
    words = len(quoted.split())
    return words >= _MIN_QUOTED_WORDS or (words > 1 and quoted[-2] in ",.!?")


_QUOTED = re.compile('“[^“”]{1,600}”|„[^„“”]{1,600}[“”]|«[^«»]{1,600}»|»[^«»]{1,600}«|"[^"]{1,600}"')


# --- Loud words


def title_parts(title: str) -> tuple[TitlePart, ...]:
    """The title with its loud words apart: capitals for emphasis, and words that judge or stir up."""
    parts: list[TitlePart] = []
    shouted, position = _shouted(title), 0
    for match in _WORD.finditer(title):
        if match.group() in shouted or fold(match.group())[: STEM_LENGTH + 1] in _LOUD:
            if match.start() > position:
                parts.append(TitlePart(title[position : match.start()]))
            parts.append(TitlePart(match.group(), is_loud=True))
            position = match.end()
    if position < len(title):
        parts.append(TitlePart(title[position:]))
    return tuple(parts)


def loud_words(title: str) -> tuple[str, ...]:
    return tuple(part.text for part in title_parts(title) if part.is_loud)


def plainest(titles: Sequence[str]) -> int:
    """The index of the calmest title; of several, the one that shares most words with the others."""
    words_by_title = [title_words(title) for title in titles]
    counts = Counter(word for words in words_by_title for word in words)
    shared = [sum(counts[word] - 1 for word in words) / (len(words) + 3) for words in words_by_title]
    return min(range(len(titles)), key=lambda index: (_loudness(titles[index]), -shared[index], index))


def _loudness(text: str) -> int:
    marks = text.count("!") + text.endswith(("?", "…", "..."))
    return len(loud_words(text)) + marks + _is_all_capitals(text)


def _shouted(title: str) -> set[str]:
    if _is_all_capitals(title):
        return set()
    words = {word for word in _WORD.findall(title) if word.isupper() and len(word) >= _LOUD_CAPITALS}
    return words if len(words) > 1 else {word for word in words if len(word) >= _LOUD_CAPITALS_ALONE}


def _is_all_capitals(title: str) -> bool:
    """A title wholly in capitals emphasises no word."""
    return title.isupper() and " " in title


_WORD = re.compile(r"[^\W\d_]+")
_LOUD = frozenset(
    word[: STEM_LENGTH + 1]
    for word in fold(
        """
        agony astonishing bombshell brutal chaos chilling crisis crushing cruel damning deadly desperate devastating
        disgrace disgraceful disaster dramatic explosive fears fiasco fuming furious fury grilled hell heroic horrific
        horrifying horror humiliating humiliation inferno insane jaw madness mayhem meltdown misery miracle nightmare
        outrage outrageous panic plunges ruthless savage scandal scandalous shameful shameless shock shocked shocking
        sighs slammed slams slashed slashes sleazy stunned stunning terrified terrifying terror thug tragic
        unbelievable vicious vile whopping
        blamage brutaler chaos drama dramatisch eklat entsetzen fassungslos hammer horror irre irrsinn katastrophe
        knallhart panik schande schock schockiert skandal skandalös terror tragödie unfassbar wahnsinn wut wutausbruch
        affreux bombe calvaire cauchemar choc choquant colere délirant désastre explosif fiasco fureur hallucinant
        honte horreur hécatombe panique scandale scandaleux stupeur terrible tollé tragédie
        abismal bochorno brutal caos catástrofe demoledor desastre dramático escándalo escalofriante espanto furia
        horror indignante infierno locura pánico pesadilla tragedia vergonzoso
        """
    ).split()
)


# --- Facts that later reports have changed


@record
class Report:
    title: str
    text: str
    at: Instant


def headline_report(reports: Sequence[Report]) -> int:
    """The index of the report with the plainest title, among those that hold what is known last."""
    current = current_reports(reports)
    return current[plainest([reports[index].title for index in current])]


def current_reports(reports: Sequence[Report]) -> list[int]:
    """The indexes of the reports that no later one has overtaken; never none.

    A later one overtakes another by another number of dead, hurt or missing, or by a turn, such as a strike that is
    called off.
    """
    facts = [_Facts.of(report) for report in reports]
    return [
        index
        for index, report in enumerate(reports)
        if not any(
            other.at > report.at and later.overtake(facts[index]) for other, later in zip(reports, facts, strict=True)
        )
    ]


@record
class _Facts:
    counts: Mapping[str, str]
    """The first number of dead, hurt and missing people."""
    is_turn: bool

    @staticmethod
    def of(report: Report) -> "_Facts":
        title = fold(report.title).split()
        words = [*title, *fold(report.text[:_MAX_FACTS_LENGTH]).split()]
        return _Facts(_counts(words), any(word[:_TURN_LENGTH] in _TURNS for word in title))

    def overtake(self, earlier: "_Facts") -> bool:
        if self.is_turn and not earlier.is_turn:
            return True
        return any(count != earlier.counts.get(kind, count) for kind, count in self.counts.items())


def _counts(words: Sequence[str]) -> dict[str, str]:
    counts: dict[str, str] = {}
    for place, word in enumerate(words):
        if (kind := _COUNTED.get(word)) is None or kind in counts:
            continue
        # "Six people were killed", and else "the toll rose to six".
        before = [number for one in words[max(0, place - _MAX_DISTANCE) : place] if (number := _number(one))]
        after = [number for one in words[place + 1 : place + 1 + _MAX_DISTANCE] if (number := _number(one))]
        if before or after:
            counts[kind] = before[-1] if before else after[0]
    return counts


def _number(word: str) -> str:
    return word if word.isdecimal() else _NUMBERS.get(word, "")


_MAX_FACTS_LENGTH = 200
_MAX_DISTANCE = 4
_TURN_LENGTH = 9
_NUMBERS = {
    word: str(value)
    for value, words in enumerate(
        (
            "two zwei deux dos",
            "three drei trois tres",
            "four vier quatre cuatro",
            "five funf cinq cinco",
            "six sechs seis",
            "seven sieben sept siete",
            "eight acht huit ocho",
            "nine neun neuf nueve",
            "ten zehn dix diez",
            "eleven elf onze once",
            "twelve zwolf douze doce",
        ),
        2,
    )
    for word in words.split()
}
_COUNTED = {
    word: kind
    for kind, words in (
        ("dead", "dead died die dies killed kills deaths toll bodies fatalities tote toten todesopfer tot"),
        ("dead", "morts mort tues tuees muertos muertas fallecidos mueren"),
        ("hurt", "injured hurt wounded verletzt verletzte verletzten blesses blessees heridos heridas"),
        ("missing", "missing vermisst vermisste disparus desaparecidos"),
    )
    for word in words.split()
}
# That something has ended, was undone, or did not come about.
_TURNS = frozenset(
    word[:_TURN_LENGTH]
    for word in fold(
        """
        cancelled canceled cancels off corrects corrected correction ends ended lifted
        reopens reopened resumes resumed found rescued freed released restored postponed withdrawn withdraws overturned
        acquitted averted dropped free
        abgesagt beendet endet aufgehoben wieder doch gefunden gerettet freigelassen befreit einigung verschoben lebt
        korrigiert zurückgezogen freigesprochen
        annulé annulée levée lève rouvre reprend retrouvé retrouvés retrouvée libéré libérée maîtrisé reporté reportée
        rectifie acquitté fin
        cancelan cancelada desconvocan desconvocada desconvoca termina reabre hallado hallados encontrado rescatado
        rescatados liberado recuperan aplazan aplazado corrige absuelto fin vuelven
        """
    ).split()
)


# --- Related entries: what to search for, and which of the matches are near

MAX_RELATED = 6
_MIN_SHARED = 2
_MIN_CLOSENESS = 0.12
_SMOOTHING = 60
"""Added to the number of matches: all of them have one of the telling words, which still count."""


def related_search(row: EntryRow) -> str:
    """A search for any of the most telling words; empty if there are none."""
    return " OR ".join(f'"{word}"' for word in telling_words(row.title, row.summary, row.language or ""))


def most_related(row: EntryRow, found: Sequence[EntryRow]) -> list[EntryRow]:
    """The nearest of the found entries, by the words of their titles and first sentences."""
    others = [(other, _row_words(other)) for other in found if other.id != row.id and not is_roundup(other.title)]
    counts = Counter(word for _, words in others for word in words.weights)
    own = _weighted(_row_words(row), counts, len(others))
    scored: list[tuple[float, EntryRow]] = []
    for other, words in others:
        shared = {word for word in words.weights if word in own} - words.numbers
        if len(shared) >= _MIN_SHARED:
            weights = _weighted(words, counts, len(others))
            scored.append((sum(own[word] * weights[word] for word in shared), other))
    scored.sort(key=lambda item: (-item[0], -item[1].sort_at))
    return [other for closeness, other in scored[:MAX_RELATED] if closeness >= _MIN_CLOSENESS]


def _row_words(row: EntryRow) -> HeadlineWords:
    return headline_words(row.title, row.summary, row.language or "")


def _weighted(words: HeadlineWords, counts: Counter[str], total: int) -> dict[str, float]:
    """The words as a unit vector; those that many of the matches have count little."""
    total += _SMOOTHING
    weights = {word: weight * math.log(1 + total / (counts[word] + 1)) for word, weight in words.weights.items()}
    length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {word: weight / length for word, weight in weights.items()}
