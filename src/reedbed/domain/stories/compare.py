"""Comparing the outlets of a story without a model: shared and unique sentences, loud words, quotations; and
entries about something similar."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from reedbed.domain.entries import EntryRow
from reedbed.domain.records import record
from reedbed.domain.stories.words import STEM_LENGTH, HeadlineWords, headline_words, telling_words, title_words
from reedbed.domain.text import fold

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


# --- Related entries: what to search for, and which of the matches are near

MAX_RELATED = 6
_MIN_SHARED = 2
_MIN_CLOSENESS = 0.12


def related_search(row: EntryRow) -> str:
    """A search for any of the most telling words; empty if there are none."""
    return " OR ".join(f'"{word}"' for word in telling_words(row.title, row.summary, row.language or ""))


def most_related(row: EntryRow, found: Sequence[EntryRow]) -> list[EntryRow]:
    """The nearest of the found entries, by the words of their titles and first sentences."""
    others = [(other, _row_words(other)) for other in found if other.id != row.id]
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
    weights = {word: weight * math.log(1 + (total + 1) / (counts[word] + 1)) for word, weight in words.weights.items()}
    length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {word: weight / length for word, weight in weights.items()}
