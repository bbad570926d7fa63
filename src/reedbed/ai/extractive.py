"""The built-in summary: the sentences that say most of an article, in its own words and its own language.

No model, no network. A sentence is worth what its words are worth, and a word is worth how often the article
returns to it. News says the important thing first, so early sentences weigh more; a sentence that leans on
the one before ("But he …") reads badly alone and weighs less.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from reedbed.ai.sentences import sentences
from reedbed.domain.folding import CJK
from reedbed.domain.records import record
from reedbed.domain.small_words import LEANING, LEANING_EAST, NO_PROSE, SMALL

MOST_SENTENCES = 3
LONGEST_TEXT = 700
LONGEST_LINE = 140
MAX_READ = 60_000
"""Characters looked at: the rest of a longer text is not what it is about."""
MOST_CANDIDATES = 250

_WORD = re.compile(f"[{CJK}]|[^\\W\\d_{CJK}]+(?:['’][^\\W\\d_]+)?|\\d[\\d.,]*")
_WIDE = re.compile(f"[{CJK}]")
_ENDS = re.compile(r"[.!?…。！？؟۔।:][\"'”’»›)\]」』]*$")
_QUOTE = re.compile(r"^[\"“„«‘'「『]")
_ASIDE = re.compile(r"\s?[(\[][^()\[\]]{0,120}[)\]]")
_CLAUSE = re.compile(r"[,;:–—，、；]\s?")
# "CAIRO — ", "SEOUL, South Korea (AP) — ", "Feb. 23, 2015 -- "
_DATELINE = re.compile(
    r"(?:[A-ZÀ-Ý][A-ZÀ-Ý.'-]{2,}(?: [A-ZÀ-Ý.'-]{2,}){0,3}(?:, [^—–-]{2,30})?(?: \([^)]{2,20}\))?"
    r"|[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4})\s(?:[—–]|--?)\s"
)
_LEAST_WORDS = 6
_MOST_WORDS = 45
_LEAST_WIDE = 12
_MOST_WIDE = 130


@record
class Extract:
    text: str
    one_line: str


@record
class _Sentence:
    place: int
    block: int
    text: str
    words: tuple[str, ...]
    length: int
    """Words, or signs where words are not written apart."""
    is_first: bool
    """Of its block."""


def extract(title: str, text: str) -> Extract:
    """At most three sentences and one line; of an empty text nothing, of a short one the text itself."""
    found = _read(text[:MAX_READ])
    good = [one for one in found if _is_prose(one)]
    if not good:
        plain = " ".join(text[: 4 * LONGEST_TEXT].split())
        return Extract(_cut(plain, LONGEST_TEXT), _cut(plain, LONGEST_LINE))
    scores = _scores(title, good)
    chosen = _choose(good, scores)
    return Extract(_joined(chosen), _one_line(title, good, scores, chosen))


def _without_dateline(text: str) -> str:
    line = _DATELINE.match(text)
    return text if line is None else text[line.end() :]


def _read(text: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    block_before = -1
    for place, (block, whole) in enumerate(sentences(text)):
        if place == MOST_CANDIDATES:
            break
        sentence = _without_dateline(whole) if place < 5 else whole
        all_words = _WORD.findall(sentence.lower())
        wide = len(_WIDE.findall(sentence))
        words = tuple(_pairs(all_words) if wide * 2 > len(sentence) else _content(all_words))
        length = wide if wide * 2 > len(sentence) else len(all_words)
        found.append(_Sentence(place, block, sentence, words, length, block != block_before))
        block_before = block
    return found


def _content(words: Sequence[str]) -> list[str]:
    return [_stem(word) for word in words if len(word) > 2 and word not in SMALL]


def _stem(word: str) -> str:
    """Endings differ more than beginnings, in every language with endings."""
    return word if len(word) < 7 or word[0].isdigit() else word[: max(6, len(word) - 3)]


def _pairs(signs: Sequence[str]) -> list[str]:
    return [first + second for first, second in pairwise(signs)]


def _is_prose(one: _Sentence) -> bool:
    wide = _is_wide(one)
    if one.length < (_LEAST_WIDE if wide else _LEAST_WORDS) or not one.words:
        return False
    if not _ENDS.search(one.text) or one.text.endswith((":", "：")):
        return False
    letters = sum(sign.isalpha() or sign.isspace() for sign in one.text)
    return letters * 10 >= len(one.text) * 7 and not NO_PROSE.search(one.text)


def _is_wide(one: _Sentence) -> bool:
    return one.length > 0 and _WIDE.search(one.text) is not None and " " not in one.text[:20]


def _scores(title: str, good: Sequence[_Sentence]) -> dict[int, float]:
    weights = _word_weights(title, good)
    return {one.place: _worth(one, weights, order) for order, one in enumerate(good)}


def _word_weights(title: str, good: Sequence[_Sentence]) -> dict[str, float]:
    """How many sentences return to a word; one of the title counts double."""
    counted = Counter(word for one in good for word in set(one.words))
    lowered = _WORD.findall(title.lower())
    titled = {*_content(lowered), *_pairs(lowered)}
    return {word: math.log1p(count) * (2.0 if word in titled else 1.0) for word, count in counted.items()}


def _worth(one: _Sentence, weights: dict[str, float], order: int) -> float:
    inner = sum(weights[word] for word in set(one.words)) / (7 + len(one.words)) ** 0.7
    early = 1.0 + 1.6 / (1 + order * 0.55)
    return inner * early * (1.1 if one.is_first else 1.0) * _manner(one)


def _manner(one: _Sentence) -> float:
    """How well it stands alone."""
    factor = 1.0
    if _leans(one.text):
        factor *= 0.45
    if _QUOTE.search(one.text) or _is_torn(one.text):
        factor *= 0.6
    if one.text.rstrip("\"'”’»)").endswith(("?", "？", "!", "！")):
        factor *= 0.4
    if one.text[0].islower():
        factor *= 0.3  # the rest of a torn line
    if one.length > (_MOST_WIDE if _is_wide(one) else _MOST_WORDS):
        factor *= 0.5
    first = one.text[:2].lower()
    return factor * (0.8 if first in ("i ", "i'", "i’") else 1.0)


def _is_torn(text: str) -> bool:
    """A quotation begins or ends elsewhere."""
    pairs = ("“”", "„“", "«»", "「」", "『』", "()", "（）")
    return any(text.count(first) != text.count(last) for first, last in pairs if first in text) or (
        text.count('"') % 2 == 1
    )


def _leans(text: str) -> bool:
    if text.startswith(LEANING_EAST):
        return True
    words = _WORD.findall(text[:40].lower())
    return bool(words) and words[0] in LEANING


def _choose(good: Sequence[_Sentence], scores: dict[int, float]) -> list[_Sentence]:
    """The best first, each next one for what it adds; then in the order of the article.

    None leans on a sentence that is not there, as long as there are others.
    """
    chosen: list[_Sentence] = []
    length = 0
    alone = [one for one in good if not _leans(one.text)] or good
    rest = sorted(alone, key=lambda one: -scores[one.place])[:25]
    while rest and len(chosen) < MOST_SENTENCES:
        best = max(rest, key=lambda one: scores[one.place] * (1 - _overlap(one, chosen)))
        rest.remove(best)
        if chosen and (length + len(best.text) > LONGEST_TEXT or _overlap(best, chosen) > 0.6):
            continue
        if len(chosen) > 1 and scores[best.place] < 0.3 * scores[chosen[0].place]:
            break
        chosen.append(best)
        length += len(best.text) + 1
    return sorted(chosen, key=lambda one: one.place)


def _overlap(one: _Sentence, others: Sequence[_Sentence]) -> float:
    mine = set(one.words)
    return max(
        (len(mine & set(other.words)) / (1 + min(len(mine), len(other.words))) for other in others), default=0
    )


def _joined(chosen: Sequence[_Sentence]) -> str:
    text = ""
    for one in chosen:
        gap = "" if not text or _is_wide(one) else " "
        text += gap + one.text
    return _cut(text, LONGEST_TEXT)


def _one_line(
    title: str, good: Sequence[_Sentence], scores: dict[int, float], chosen: Sequence[_Sentence]
) -> str:
    """The best sentence that fits and says more than the title; else the best one, shortened at a clause."""
    told = set(_content(_WORD.findall(title.lower())))
    fits = [one for one in good if len(_tight(one.text)) <= LONGEST_LINE and not _leans(one.text)]
    fits = [one for one in fits if set(one.words) - told]
    best = max(chosen, key=lambda one: scores[one.place])
    short = max(fits, key=lambda one: scores[one.place], default=None)
    if short is not None and scores[short.place] >= 0.55 * scores[best.place]:
        return _tight(short.text)
    return _clause(_tight(best.text))


def _tight(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else _ASIDE.sub("", text)


def _clause(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    cuts = [
        cut.start()
        for cut in _CLAUSE.finditer(text, 0, LONGEST_LINE - 1)
        if cut.start() > LONGEST_LINE * 3 // 4
    ]
    return f"{text[: cuts[-1]]}…" if cuts else _cut(text, LONGEST_LINE)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    blank = head.rfind(" ")
    return f"{head[:blank] if blank > limit // 2 else head}".rstrip(" ,;:.–—-") + "…"
