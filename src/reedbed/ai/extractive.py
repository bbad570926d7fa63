"""Answers without a model: the sentences of the entries that name what was asked about. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from reedbed.ai.responses import bounded
from reedbed.domain.digests import Sentence
from reedbed.domain.questions import CitablePassage, coverage, padded
from reedbed.domain.records import record
from reedbed.domain.stopwords import LEANING, LEANING_EAST, NO_PROSE, SMALL
from reedbed.domain.text import CJK

# A quotation may end inside the sentence that quotes it: 「…。」と言った。
_WIDE_END = re.compile(
    r"(?<=[。！？｡])(?![」』”’）)】》〉。！？])|(?<=[。！？][」』”’）)】》〉])(?!と|って|など)"
)
_END = re.compile(r"[.!?…؟۔।]+[\"'”’»›)\]]*\s+(?=[\"'“‘«‹(\[¿¡„–—-]*\s?[^\W_])")
_LAST_WORD = re.compile(r"([^\s(\[\"'“‘«„]+)$")
_NEXT_SIGN = re.compile(r"[^\W_]")
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
    """Each sentence with the number of its block."""
    for number, line in enumerate(text.split("\n")):
        for part in _WIDE_END.split(line.strip()):
            for sentence in _narrow(part):
                if sentence:
                    yield number, sentence


def _narrow(line: str) -> Iterator[str]:
    """Scripts that end a sentence with a dot and a blank: a dot may also end an abbreviation or a number."""
    start = 0
    for end in _END.finditer(line):
        if _is_end(line, end.start(), end.end(), end.group()):
            yield line[start : end.end()].strip()
            start = end.end()
    yield line[start:].strip()


def _is_end(line: str, dot: int, after: int, signs: str) -> bool:
    following = _NEXT_SIGN.search(line, after)
    starts_small = following is not None and following.group().islower()
    if starts_small:
        return False
    if signs[0] != "." or signs.startswith(".."):
        return True
    word = _LAST_WORD.search(line, max(0, dot - 40), dot)
    if word is None:
        return True
    last = word.group(1)
    # "3. Mai", "J. Smith", "Dr. Who", "U.S. Senate"
    is_ordinal = bool(last.isdigit() and len(last) <= 2 and _MONTH.match(line, after))
    is_initial = len(last) == 1 and last.isalpha() and last.isupper()
    return not (is_ordinal or is_initial or last.lower() in _ABBREVIATIONS)


MAX_SENTENCES = 3
MAX_TEXT_LENGTH = 700
MAX_LINE_LENGTH = 140
MAX_READ = 60_000
"""Characters looked at: the rest of a longer text is not what it is about."""
MAX_CANDIDATES = 250

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
        plain = " ".join(text[: 4 * MAX_TEXT_LENGTH].split())
        return Extract(_cut(plain, MAX_TEXT_LENGTH), _cut(plain, MAX_LINE_LENGTH))
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
        if place == MAX_CANDIDATES:
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
    if one.length < (_MIN_WIDE if wide else _MIN_WORDS) or not one.words:
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
    if one.length > (_MAX_WIDE if _is_wide(one) else _MAX_WORDS):
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
    while rest and len(chosen) < MAX_SENTENCES:
        best = max(rest, key=lambda one: scores[one.place] * (1 - _overlap(one, chosen)))
        rest.remove(best)
        if chosen and (length + len(best.text) > MAX_TEXT_LENGTH or _overlap(best, chosen) > 0.6):
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
    return _cut(text, MAX_TEXT_LENGTH)


def _one_line(
    title: str, good: Sequence[_Sentence], scores: dict[int, float], chosen: Sequence[_Sentence]
) -> str:
    """The best sentence that fits and says more than the title; else the best one, shortened at a clause."""
    told = set(_content(_WORD.findall(title.lower())))
    fits = [one for one in good if len(_tight(one.text)) <= MAX_LINE_LENGTH and not _leans(one.text)]
    fits = [one for one in fits if set(one.words) - told]
    best = max(chosen, key=lambda one: scores[one.place])
    short = max(fits, key=lambda one: scores[one.place], default=None)
    if short is not None and scores[short.place] >= 0.55 * scores[best.place]:
        return _tight(short.text)
    return _clause(_tight(best.text))


def _tight(text: str) -> str:
    return text if len(text) <= MAX_LINE_LENGTH else _ASIDE.sub("", text)


def _clause(text: str) -> str:
    if len(text) <= MAX_LINE_LENGTH:
        return text
    cuts = [
        cut.start()
        for cut in _CLAUSE.finditer(text, 0, MAX_LINE_LENGTH - 1)
        if cut.start() > MAX_LINE_LENGTH * 3 // 4
    ]
    return f"{text[: cuts[-1]]}…" if cuts else _cut(text, MAX_LINE_LENGTH)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    blank = head.rfind(" ")
    return f"{head[:blank] if blank > limit // 2 else head}".rstrip(" ,;:.–—-") + "…"


MAX_QUOTES = 5
MAX_SOURCES = 10
MAX_QUOTED_TEXT = 20_000
MAX_QUOTED_SENTENCES = 150
MAX_QUOTE_LENGTH = 400
LEAST = 0.6
"""Of what was asked about, a sentence and the title above it must name so much."""
OF_ITS_OWN = 0.34
"""And the sentence alone so much: a title does not make every sentence below it an answer."""
MIN_WORDS = 4
"""Less is a heading or a caption."""


@record
class _Quote:
    text: str
    score: float
    passage: CitablePassage
    words: str


def quote(worth: Mapping[str, float], passages: Sequence[CitablePassage]) -> tuple[Sentence, ...]:
    """The best sentences, each once with all the entries that hold it; none where nothing fits."""
    found = [one for passage in passages for one in _fitting(worth, passage)]
    claims: dict[str, Sentence] = {}
    for one in sorted(found, key=lambda one: -one.score):
        known = claims.get(one.words)
        if known is not None:
            claims[one.words] = _seen_again(known, one.passage.entry_id)
        elif len(claims) < MAX_QUOTES:
            text = bounded(one.text, MAX_QUOTE_LENGTH)
            claims[one.words] = Sentence(text, (one.passage.entry_id,), one.passage.language)
    return tuple(claims.values())


def excerpt(worth: Mapping[str, float], passage: CitablePassage, limit: int) -> str:
    """The beginning of an entry and what it says of the matter, for a model to read."""
    whole = [text for _, text in sentences(passage.text[:MAX_QUOTED_TEXT])][:MAX_QUOTED_SENTENCES]
    order = sorted(range(len(whole)), key=lambda place: (place > 1, -coverage(padded(whole[place]), worth)))
    chosen: list[int] = []
    left = limit
    for place in order:
        if left < len(whole[place]) and chosen:
            break
        chosen.append(place)
        left -= len(whole[place]) + 1
    return bounded(" ".join(whole[place] for place in sorted(chosen)), limit)


def _fitting(worth: Mapping[str, float], passage: CitablePassage) -> Iterator[_Quote]:
    title = padded(passage.title)
    for number, (_, text) in enumerate(sentences(passage.text[:MAX_QUOTED_TEXT])):
        if number == MAX_QUOTED_SENTENCES:
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
    return len(text.split()) >= MIN_WORDS or text.endswith(("。", "！", "？"))


def _seen_again(claim: Sentence, entry_id: int) -> Sentence:
    ids = tuple(dict.fromkeys((*claim.entry_ids, entry_id)))[:MAX_SOURCES]
    return Sentence(claim.text, ids, claim.language)
