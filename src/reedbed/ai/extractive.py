"""Extractive summaries and answers without a model: the best sentences of the text itself. Pure functions."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from reedbed.domain.records import record
from reedbed.domain.stopwords import BACK_REFERENCES, CJK_BACK_REFERENCES, NOT_PROSE, SMALL
from reedbed.domain.summaries import MIN_WORDS as MIN_TEXT_WORDS
from reedbed.domain.text import CJK

# --- Sentences

# A quotation may end in the middle of a sentence: 「…。」と言った。
_WIDE_END = re.compile(r"(?<=[。！？｡])(?![」』”’）)】》〉。！？])|(?<=[。！？][」』”’）)】》〉])(?!と|って|など)")
_END = re.compile(r"[.!?…؟۔।]+[\"'”’»›)\]]*\s+(?=[\"'“‘«‹(\[¿¡„–—-]*\s?[^\W_])")
_LAST_WORD = re.compile(r"([^\s(\[\"'“‘«„]+)$")
_NEXT_CHAR = re.compile(r"[^\W_]")
_SHORT_FORMS = """
mr mrs ms dr prof sr jr st vs etc e.g i.e cf al no nos vol fig approx dept est inc ltd co corp gen col sen rep
gov lt sgt capt rev hon jan feb mar apr jun jul aug sept sep oct nov dec u.s u.k u.n a.m p.m
z.b d.h u.a s.o bzw ca usw evtl ggf inkl nr str mio mrd tel abs art bd vgl sog jh hl hrsg
mm mme mlle env p.ex av boul sra sres ud uds ee.uu pág núm exmo dna sig sigg dott dr.ssa ing avv ecc
bijv o.a d.w.z blz bl.a t.ex osv m.m s.k dvs f.eks mv kl ul np tzw m.in tj г гг т.е т.д др стр ул им
"""
_ABBREVIATIONS = frozenset(_SHORT_FORMS.split())
_MONTH = re.compile(r"(?:Jan|Feb|Mär|Mar|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Platz)")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence with the number of its block (line)."""
    for number, line in enumerate(text.split("\n")):
        for part in _WIDE_END.split(line.strip()):
            for sentence in _split_at_dots(part):
                if sentence:
                    yield number, sentence


def _split_at_dots(line: str) -> Iterator[str]:
    """Split text in scripts that use a dot and a space; a dot may also end an abbreviation or a number."""
    start = 0
    for end in _END.finditer(line):
        if _is_end(line, end.start(), end.end(), end.group()):
            yield line[start : end.end()].strip()
            start = end.end()
    yield line[start:].strip()


def _is_end(line: str, dot: int, after: int, punctuation: str) -> bool:
    next_char = _NEXT_CHAR.search(line, after)
    starts_lower = next_char is not None and next_char.group().islower()
    if starts_lower:
        return False
    if punctuation[0] != "." or punctuation.startswith(".."):
        return True
    word = _LAST_WORD.search(line, max(0, dot - 40), dot)
    if word is None:
        return True
    last = word.group(1)
    # "3. Mai", "J. Smith", "Dr. Who", "U.S. Senate"
    is_ordinal = bool(last.isdigit() and len(last) <= 2 and _MONTH.match(line, after))
    is_initial = len(last) == 1 and last.isalpha() and last.isupper()
    return not (is_ordinal or is_initial or last.lower() in _ABBREVIATIONS)


def clean_sentences(text: str) -> list[str]:
    """The first sentences that can stand alone, for a digest."""
    first = (_without_dateline(sentence) for _, sentence in islice(sentences(text[:1_500]), 4))
    return [sentence for sentence in first if _is_clean(sentence)]


def _is_clean(text: str) -> bool:
    words = len(text.split())
    is_long_enough = words >= 7 or len(_WIDE.findall(text)) >= _MIN_WIDE
    return (
        is_long_enough
        and words <= 38
        and len(text) <= 260
        and text.endswith((".", ".”", '."', "。", ".“", ".»"))
        and not (text[0].islower() or _QUOTE.search(text) or "!" in text or text.startswith("…"))
        and not (_refers_back(text) or is_torn(text) or NOT_PROSE.search(text))
    )


# --- Summaries

MAX_SENTENCES = 3
MAX_TEXT_LENGTH = 700
MAX_LINE_LENGTH = 140
MAX_READ = 60_000
"""Only this many characters are read; the rest of a longer text rarely matters."""
MAX_CANDIDATES = 250
MIN_PROSE = 8
"""The number of sentences of prose that a summary needs to choose from."""
MAX_SHARE = 0.35
"""A longer summary is left out: one can as well read the text."""
OPENING = 3
LONG_PROSE = 18
"""From so many sentences of prose on, an extract takes sentences from the whole text, not from its beginning."""
MAIN_POINT = 10
"""Among so many sentences an article says what it is about, after the scene with which it opens."""
MAX_SPREAD_LENGTH = 450
"""The length of an extract from the whole text."""
NUMBER_WORTH = 0.2
"""What a figure adds to the worth of a sentence: results and decisions have figures more often than scenes."""
_MOST_END = 0.75
"""Where this share of the sentences stands in blocks that end with a full stop, the other blocks are captions."""
CHARS_PER_WORD = 2
"""In scripts without spaces."""

_WORD = re.compile(f"[{CJK}]|[^\\W\\d_{CJK}]+(?:['’][^\\W\\d_]+)?|\\d[\\d.,]*")
_WIDE = re.compile(f"[{CJK}]")
_SENTENCE_END = re.compile(r"[.!?…。！？؟۔।:][\"'”’»›)\]」』]*$")
_PERSONS_TEXT = "he she they them er ihm ihnen il elle ils elles eux él ella ellos ellas esos esas those"
_PERSONS = frozenset(_PERSONS_TEXT.split())
"""Near the beginning of a sentence these words refer to somebody in an earlier one."""
_FIGURE = re.compile(r"(?<![\w-])[$€£]?\d[\d.,\u202f ]*\d|(?<![\w-])\d+(?![\w-])")
_QUOTE = re.compile(r"^[\"“„«‘'「『]")
_ASIDE = re.compile(r"\s?[(\[][^()\[\]]{0,120}[)\]]")
_CLAUSE = re.compile(r"[,;:–—，、；]\s?")
# "CAIRO — ", "SEOUL, South Korea (AP) — ", "Feb. 23, 2015 -- "
_DATELINE = re.compile(
    r"(?:[A-ZÀ-Ý][A-ZÀ-Ý.'-]{2,}(?: [A-ZÀ-Ý.'-]{2,}){0,3}(?:, [^—–-]{2,30})?(?: \([^)]{2,20}\))?"
    r"|[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4})\s(?:[—–]|--?)\s"
)
_MIN_WORDS = 6
_MAX_WORDS = 45
_MIN_WIDE = 12
_MAX_WIDE = 130


@record
class Extract:
    text: str
    one_line: str


@record
class _Sentence:
    index: int
    block: int
    text: str
    words: tuple[str, ...]
    length: int
    """Words, or characters in scripts without spaces."""
    is_first: bool
    """The first sentence of its block."""


def saves_reading(text: str) -> bool:
    """Whether a text is long enough for a summary."""
    beginning = text[:MAX_READ]
    spaceless = len(_WIDE.findall(beginning))
    if len(beginning.split()) + spaceless // CHARS_PER_WORD < MIN_TEXT_WORDS:
        return False
    return sum(map(_is_prose, _read(beginning))) >= MIN_PROSE


def summarise(title: str, text: str) -> Extract:
    """An extract. Its text is empty if reading it would save no time."""
    extracted = extract(title, text)
    saves = saves_reading(text) and len(extracted.text) <= MAX_SHARE * len(text)
    if saves and not _is_opening(extracted.text, text):
        return extracted
    return Extract("", extracted.one_line)


def extract(title: str, text: str) -> Extract:
    """At most three sentences and one line; a text without prose is returned as it is, shortened."""
    all_sentences = _read(text[:MAX_READ])
    good = _without_captions(all_sentences, [sentence for sentence in all_sentences if _is_prose(sentence)])
    if not good:
        plain = " ".join(text[: 4 * MAX_TEXT_LENGTH].split())
        return Extract(_shortened(plain, MAX_TEXT_LENGTH), _shortened(plain, MAX_LINE_LENGTH))
    scores = _scores(title, good)
    chosen = _choose(good, scores)
    is_opening = len(good) >= MIN_PROSE and all(sentence in good[:OPENING] for sentence in chosen)
    if is_opening or len(good) >= LONG_PROSE:
        chosen = _choose_from_all(title, good, scores)
    return Extract(_joined(chosen), _one_line(title, good, scores, chosen))


def _is_opening(summary: str, text: str) -> bool:
    """Whether the extract only repeats the first sentences of the text."""
    first = (_without_dateline(sentence) for _, sentence in islice(sentences(text[:MAX_READ]), OPENING))
    opening = " ".join(first)
    return all(sentence in opening for _, sentence in sentences(summary))


def _without_dateline(text: str) -> str:
    line = _DATELINE.match(text)
    return text if line is None else text[line.end() :]


def _read(text: str) -> list[_Sentence]:
    result: list[_Sentence] = []
    block_before = -1
    for index, (block, raw) in enumerate(sentences(text)):
        if index == MAX_CANDIDATES:
            break
        sentence = _without_dateline(raw) if index < 5 else raw
        all_words = _WORD.findall(sentence.lower())
        wide = len(_WIDE.findall(sentence))
        words = tuple(_pairs(all_words) if wide * 2 > len(sentence) else _content_words(all_words))
        length = wide if wide * 2 > len(sentence) else len(all_words)
        result.append(_Sentence(index, block, sentence, words, length, block != block_before))
        block_before = block
    return result


def _content_words(words: Sequence[str]) -> list[str]:
    return [_stem(word) for word in words if len(word) > 2 and word not in SMALL]


def _stem(word: str) -> str:
    """Crude stemming: in inflected languages endings differ more than beginnings."""
    return word if len(word) < 7 or word[0].isdigit() else word[: max(6, len(word) - 3)]


def _pairs(chars: Sequence[str]) -> list[str]:
    return [first + second for first, second in pairwise(chars)]


def _is_prose(sentence: _Sentence) -> bool:
    wide = _is_wide(sentence)
    if sentence.length < (_MIN_WIDE if wide else _MIN_WORDS) or not sentence.words:
        return False
    if not _SENTENCE_END.search(sentence.text) or sentence.text.endswith((":", "：")):
        return False
    prose = sum(char.isalpha() or char.isspace() for char in sentence.text)
    return prose * 10 >= len(sentence.text) * 7 and not NOT_PROSE.search(sentence.text)


def _without_captions(all_sentences: Sequence[_Sentence], good: list[_Sentence]) -> list[_Sentence]:
    """Without blocks whose last sentence has no full stop: captions, where most blocks of the text have one."""
    last = {sentence.block: sentence for sentence in all_sentences}
    ended = [sentence for sentence in good if _SENTENCE_END.search(last[sentence.block].text)]
    return ended if len(ended) >= _MOST_END * len(good) else good


def _is_wide(sentence: _Sentence) -> bool:
    return sentence.length > 0 and _WIDE.search(sentence.text) is not None and " " not in sentence.text[:20]


def _scores(title: str, good: Sequence[_Sentence]) -> dict[int, float]:
    weights = _word_weights(title, good)
    return {sentence.index: _sentence_score(sentence, weights, order) for order, sentence in enumerate(good)}


def _word_weights(title: str, good: Sequence[_Sentence]) -> dict[str, float]:
    """Log of the number of sentences with the word; words of the title count double."""
    counted = Counter(word for sentence in good for word in set(sentence.words))
    raw_title_words = _WORD.findall(title.lower())
    title_words = {*_content_words(raw_title_words), *_pairs(raw_title_words)}
    return {word: math.log1p(count) * (2.0 if word in title_words else 1.0) for word, count in counted.items()}


def _sentence_score(sentence: _Sentence, weights: dict[str, float], order: int) -> float:
    inner = sum(weights[word] for word in set(sentence.words)) / (7 + len(sentence.words)) ** 0.7
    early = 1.0 + 1.6 / (1 + order * 0.55)
    return inner * early * (1.1 if sentence.is_first else 1.0) * _standalone_factor(sentence)


def _standalone_factor(sentence: _Sentence) -> float:
    """How well the sentence stands alone."""
    factor = 1.0
    if _refers_back(sentence.text):
        factor *= 0.45
    if _QUOTE.search(sentence.text) or is_torn(sentence.text):
        factor *= 0.6
    if sentence.text.rstrip("\"'”’»)").endswith(("?", "？", "!", "！")):
        factor *= 0.4
    if sentence.text.endswith(("…", "...")):
        factor *= 0.3
    if sentence.text[0].islower():
        factor *= 0.3  # the rest of a broken line
    if sentence.length > (_MAX_WIDE if _is_wide(sentence) else _MAX_WORDS):
        factor *= 0.5
    first = sentence.text[:2].lower()
    return factor * (0.8 if first in ("i ", "i'", "i’") else 1.0)


def is_torn(text: str) -> bool:
    """Whether a quotation or bracket begins or ends in another sentence."""
    if any(text.count(first) != text.count(last) for first, last in ("「」", "『』", "()", "（）")):
        return True
    if text.count('"') % 2 == 1 or (text.count("«") + text.count("»")) % 2 == 1:
        return True
    # „German“, „Polish”, “English”, ”Swedish”
    low, six, nine = (text.count(mark) for mark in "„“”")
    if low:
        return low != six + nine
    return six != nine if six else nine % 2 == 1


def _refers_back(text: str) -> bool:
    if text.startswith(CJK_BACK_REFERENCES):
        return True
    words = _WORD.findall(text[:40].lower())
    return bool(words) and words[0] in BACK_REFERENCES


def _choose(good: Sequence[_Sentence], scores: dict[int, float]) -> list[_Sentence]:
    """Pick the best sentence, then those that add most to it; return them in the order of the article.

    Sentences that refer to the one before ("He answered …") are only used if there are no others.
    """
    chosen: list[_Sentence] = []
    length = 0
    candidates = [sentence for sentence in good if not _refers_back(sentence.text)] or good
    remaining = sorted(candidates, key=lambda sentence: -scores[sentence.index])[:25]
    while remaining and len(chosen) < MAX_SENTENCES:
        best = max(remaining, key=lambda sentence: scores[sentence.index] * (1 - _overlap(sentence, chosen)))
        remaining.remove(best)
        if chosen and (length + len(best.text) > MAX_TEXT_LENGTH or _overlap(best, chosen) > 0.6):
            continue
        if len(chosen) > 1 and scores[best.index] < 0.3 * scores[chosen[0].index]:
            break
        chosen.append(best)
        length += len(best.text) + 1
    return sorted(chosen, key=lambda sentence: sentence.index)


def _choose_from_all(title: str, good: Sequence[_Sentence], scores: dict[int, float]) -> list[_Sentence]:
    """The best sentence of the opening, then that which adds most from the first part and from the rest."""
    weights, fits = _word_weights(title, good), [sentence for sentence in good if _stands_alone(sentence)]
    first = max(good[:OPENING], key=lambda sentence: scores[sentence.index])
    chosen, covered, length = [first], set(first.words), len(first.text)

    def gain(sentence: _Sentence) -> float:
        words = set(sentence.words)
        new, known = words - covered, words & covered
        worth = sum(weights[word] for word in new) + 0.4 * sum(weights[word] for word in known)
        factor = _standalone_factor(sentence) * (1.0 if known else 0.6)
        factor *= 1.0 + NUMBER_WORTH * min(2, len(_FIGURE.findall(sentence.text)))
        return worth / (7 + len(sentence.words)) ** 0.7 * factor

    end = good[min(MAIN_POINT, len(good) // 2)].index
    for part in (
        [sentence for sentence in fits if sentence.index < end and sentence is not first],
        [sentence for sentence in fits if sentence.index >= end],
    ):
        fitting = [sentence for sentence in part if length + len(sentence.text) <= MAX_SPREAD_LENGTH]
        if fitting:
            best = max(fitting, key=gain)
            chosen.append(best)
            covered |= set(best.words)
            length += len(best.text) + 1
    return sorted(chosen, key=lambda sentence: sentence.index)


def _stands_alone(sentence: _Sentence) -> bool:
    text = sentence.text
    if not _PERSONS.isdisjoint(_WORD.findall(text[:60].lower())[:4]):
        return False
    return not (_refers_back(text) or is_torn(text) or _QUOTE.search(text)) and not text.endswith(("?", "!"))


def _overlap(sentence: _Sentence, others: Sequence[_Sentence]) -> float:
    words = set(sentence.words)
    return max((len(words & set(other.words)) / (1 + min(len(words), len(other.words))) for other in others), default=0)


def _joined(chosen: Sequence[_Sentence]) -> str:
    text = ""
    for sentence in chosen:
        gap = "" if not text or _is_wide(sentence) else " "
        text += gap + sentence.text
    return _shortened(text, MAX_TEXT_LENGTH)


def _one_line(title: str, good: Sequence[_Sentence], scores: dict[int, float], chosen: Sequence[_Sentence]) -> str:
    """The best sentence that fits and adds to the title; else the best one, shortened at a clause."""
    title_words = set(_content_words(_WORD.findall(title.lower())))
    fits = [
        sentence
        for sentence in good
        if len(_without_asides(sentence.text)) <= MAX_LINE_LENGTH and not _refers_back(sentence.text)
    ]
    fits = [sentence for sentence in fits if set(sentence.words) - title_words]
    best = max(chosen, key=lambda sentence: scores[sentence.index])
    short = max(fits, key=lambda sentence: scores[sentence.index], default=None)
    if short is not None and scores[short.index] >= 0.55 * scores[best.index]:
        return _without_asides(short.text)
    return _shortened_at_clause(_without_asides(best.text))


def _without_asides(text: str) -> str:
    return text if len(text) <= MAX_LINE_LENGTH else _ASIDE.sub("", text)


def _shortened_at_clause(text: str) -> str:
    if len(text) <= MAX_LINE_LENGTH:
        return text
    cuts = [
        cut.start() for cut in _CLAUSE.finditer(text, 0, MAX_LINE_LENGTH - 1) if cut.start() > MAX_LINE_LENGTH * 3 // 4
    ]
    return f"{text[: cuts[-1]]}…" if cuts else _shortened(text, MAX_LINE_LENGTH)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    return f"{head[:space] if space > limit // 2 else head}".rstrip(" ,;:.–—-") + "…"
