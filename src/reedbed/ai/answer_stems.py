"""The words of questions and entries as stems that can be compared, also in other words for the same."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from reedbed.ai import answer_words as words_of
from reedbed.domain.stopwords import SMALL
from reedbed.domain.stories.places import COUNTRIES
from reedbed.domain.text import index_text, is_cjk

SYNONYM, BEGINNING, END = 0.7, 0.55, 0.5
"""Weights of a word with the same meaning, beginning or end, compared with the word itself."""
NEAR_WORD, FAR_WORD, SAME_PLACE = 0.6, 0.4, 0.8
"""Weights of an English word with a near or related meaning, and of the other names of a country and its people."""
_BEGINNING, _END, _COMPOUND = 6, 4, 8
_NO_STEMS: frozenset[str] = frozenset()

_TOKEN = re.compile(
    r"[^\W\d_]+(?:-?\d+(?:\.\d+)?[^\W\d_]*)+|\d[\d.,\u202f\u00a0]*\d[^\W\d_]*|\d[^\W\d_]*"
    r"|[^\W\d_]+(?:['’-][^\W\d_]+)*"
)
_PARTICLES = (
    "ab|an|auf|aus|bei|ein|fest|frei|herunter|heraus|her|hin|los|mit|nach|nieder|statt|teil|unter|vor|weg|zuruck"
    "|zusammen|zu"
)
_PARTED_VERB = re.compile(rf"({_PARTICLES})(ge\w{{4,}})")
_OF_VERB = re.compile(rf"(?:(?:{_PARTICLES})(?:ge)?|ge)(\w{{4,}})")
"""The stem of a German participle or of a verb with a particle."""
_DIGITS = re.compile(r"\d[\d.,\u202f\u00a0]*\d|\d")
_CAPITALS = re.compile(r"\b[A-ZÀ-Ý][a-zß-ÿ]+(?: (?:of |the )?[A-ZÀ-Ý][a-zß-ÿ]+){1,4}\b")
_SUFFIX = re.compile(
    r"(.{3,}?)(?:ungen|ung|ings?|ments?|ations?|ions?|edly|ed|erinnen|innen|erin|ern|ers?|en|em|ies|es|(?<!s)s|e|n|iez|os|as|o|a|ly"
    r"|lich|y|ie|te?|et"
    r"|ieron|aron|idos?|ados?|idas?|adas?)\Z"
)
_OF_FOUNDERS = frozenset(("founded", "founder", "founders", "founding"))
"""Excluded because "found" has the same stem."""
_DOUBLED = frozenset("bdgmnprt")
"""Consonants that some forms double: "cut" and "cutting"."""
_OTHER_SUFFIX = re.compile(
    r"(.{3,}?)(?:иями|ями|ами|иях|ях|ах|ого|его|ому|ему|ыми|ими|ой|ей|ый|ий|ыи|ои|еи|ии|ая|яя|ую|юю|ое|ее|ые|ие|ов|ев|ем|ом|ам|ям|ию|ия"
    r"|ила|или|ил|ала|али|ал|ить|ать|еть|[аяоеыиуюьй])\Z"
)


@lru_cache(50_000)
def stem(word: str) -> str:
    """A crude stem that forms of a word share in several languages; `word` is folded."""
    word = _verb_of(word)
    if len(word) < 4 or not word.isalpha() or is_cjk(word):
        return word
    if word in _OF_FOUNDERS:
        return "founder"
    match = (_SUFFIX if word.isascii() else _OTHER_SUFFIX).match(word)
    found = match[1] if match is not None else word
    return found[:-1] if len(found) > 3 and found[-1] == found[-2] and found[-1] in _DOUBLED else found


def _verb_of(form: str) -> str:
    """The verb of an irregular form, also of a participle with an ending, or with a particle: `festgenommen`."""
    verbs = _verbs()
    if (parted := _PARTED_VERB.match(form)) is not None and (verb := _verb_of(parted[2])) != parted[2]:
        return f"{parted[1]}{verb}"
    endings = ("", "s", "e", "es", "en", "er", "em")
    found = (verbs.get(form.removesuffix(ending)) for ending in endings if form.endswith(ending))
    return next(filter(None, found), form)


def stems_of(text: str) -> list[str]:
    """The stems of a text, its numbers whole and in parts, and the initials of its names."""
    found: list[str] = []
    for raw in _TOKEN.findall(one_word_each(text)):
        folded = index_text(raw).split()
        if raw[0].isdigit():
            found += ["".join(folded), *folded]
            if not raw[-1].isdigit():
                found += ["".join(index_text(number).split()) for number in _DIGITS.findall(raw)]
        else:
            found += [stem(word) for word in folded if word != "s"]
            if raw[0].isupper() and folded:
                found.append(place_root(stem(folded[0])))
    found += ["".join(word[0] for word in run.split() if word[0].isupper()).lower() for run in _CAPITALS.findall(text)]
    return found


def one_word_each(text: str) -> str:
    """Replace phrases by the single word that means the same: `takes over` becomes `succeeds`."""
    return words_of.PHRASE.sub(_one_word, text)


def _one_word(phrase: re.Match[str]) -> str:
    return next(word for word, found in zip(words_of.PHRASES, phrase.groups(), strict=True) if found)


def verb_forms(one: str) -> tuple[str, ...]:
    """The irregular forms of the verb with this stem."""
    return _forms_of_verbs().get(one, ())


def place_forms(one: str) -> tuple[str, ...]:
    """All stems of a country and its people, given the stem of one of them; empty for other words."""
    return _forms_of_countries().get(_countries().get(one, ""), ())


@lru_cache(20_000)
def place_root(one: str) -> str:
    """What the stems of a country and of its people share: Japan and Japanese, France and French."""
    before = ""
    while before != one and one not in _countries():
        before, match = one, words_of.OF_PLACE.match(one)
        one = stem(match[1] if match is not None else one)
    return f"@{_countries().get(one, one)}"


class StemSet:
    """Stems, with their beginnings and ends to compare."""

    __slots__ = ("beginnings", "ends", "stems")

    def __init__(self, stems: frozenset[str]) -> None:
        self.stems = stems
        self.beginnings = frozenset(one[:_BEGINNING] for one in stems if len(one) > _BEGINNING)
        self.ends = frozenset(one[-_END:] for one in stems if len(one) >= _END)

    def has(self, wanted: str) -> float:
        if wanted in self.stems:
            return 1.0
        if not self.stems.isdisjoint(synonyms().get(wanted, _NO_STEMS)):
            return SYNONYM
        if (near := _near_words().get(wanted)) is not None and not self.stems.isdisjoint(near):
            return max(closeness for one, closeness in near.items() if one in self.stems)
        if place_root(wanted) in self.stems:
            return SAME_PLACE
        if len(wanted) >= _BEGINNING and wanted[:_BEGINNING] in self.beginnings:
            return BEGINNING
        if len(wanted) >= _END and wanted[-_END:] in self.ends and self._has_end(wanted):
            return END
        verb = _OF_VERB.fullmatch(wanted)
        return 0.0 if verb is None else min(BEGINNING, self.has(verb[1]))

    def _has_end(self, wanted: str) -> bool:
        """Sperrung in Brückensperrung and the reverse, but not Finanzminister in Umweltminister, or rain in train."""
        return any(
            (one.endswith(wanted) and (len(wanted) > _END or len(one) >= _COMPOUND))
            or (wanted.endswith(one) and len(wanted) > _COMPOUND and len(one) > _END)
            for one in self.stems
            if len(one) >= _END
        )

    def hits(self, stems: Sequence[str]) -> list[float]:
        return list(map(self.has, stems))


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for group in _lines("synonyms.txt"):
        # A noun of one language may be a function word of another: "but" is a goal in French.
        stems = {stem(index_text(word)) for word in group if "-" not in word and word not in SMALL}
        for one in stems:
            groups.setdefault(one, set()).update(stems)
    return {one: frozenset(others - {one}) for one, others in groups.items()}


@cache
def question_words() -> frozenset[str]:
    """Words of questions that say nothing about their subject."""
    return frozenset(word for line in _lines("question_words.txt") for word in line)


@cache
def _verbs() -> Mapping[str, str]:
    """The verb of each irregular form, both folded."""
    verbs = (list(map(index_text, line)) for line in _lines("irregular_verbs.txt"))
    return {form: verb for verb, *forms in verbs for form in forms}


@cache
def _forms_of_verbs() -> Mapping[str, tuple[str, ...]]:
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for form, verb in _verbs().items():
        forms[stem(verb)].append(form)
    return {verb: tuple(found) for verb, found in forms.items()}


@cache
def _countries() -> Mapping[str, str]:
    return {stem(form): first for form, first in COUNTRIES.items()}


@cache
def _forms_of_countries() -> Mapping[str, tuple[str, ...]]:
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for one, country in _countries().items():
        forms[country].append(one)
    return {country: tuple(stems) for country, stems in forms.items()}


@cache
def _near_words() -> Mapping[str, Mapping[str, float]]:
    """English words that may stand for each other, from WordNet: stems, and how much the other counts."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for first, *others in _lines("near_words.txt"):
        one = stem(first)
        for written in others:
            other, closeness = stem(written.rstrip("+")), NEAR_WORD if written.endswith("+") else FAR_WORD
            if one != other and {one, other} != {"found", "founder"}:
                found[one][other] = max(closeness, found[one].get(other, 0.0))
                found[other][one] = max(closeness, found[other].get(one, 0.0))
    return found


def _lines(file: str) -> list[list[str]]:
    lines = files("reedbed.ai").joinpath(file).read_text("utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]
