"""What a question asks for, and whether a sentence holds it: a number, a sum, a date, a person. Pure functions."""

import re
from collections.abc import Collection, Iterator
from functools import cache

from reedbed.ai import answer_words as words_of
from reedbed.ai.answer_stems import (
    StemSet,
    one_word_each,
    place_forms,
    question_words,
    stem,
    stems_of,
    synonyms,
    verb_forms,
)
from reedbed.domain.records import record
from reedbed.domain.stopwords import SMALL
from reedbed.domain.text import index_text, is_cjk, query_tokens

SEARCHED = 4
"""A shorter stem is searched for as the word that it comes from."""

_SEPARATED = re.compile(
    r"\b(?:ab|an|auf|aus|bei|ein|frei|her|hin|los|mit|nach|nieder|statt|teil|fest|heraus|vor|weg|zu|zurück"
    r"|zusammen)\W*$"
)
"""The end of a German question whose verb is parted: "gab ... auf"."""
_LIGHT_VERBS = frozenset(("be", "become", "come", "get", "go", "happen", "keep", "make", "take"))
"""Verbs that an answer need not say: "Where did the probe come down?"."""
_GERMAN_QUESTION = re.compile(
    r"\b(?:wer|wem|wen|was|wann|warum|wieso|weshalb|wie|wo|wohin|welche[rsnm]?|der|die|das|den|dem|des|ist"
    r"|wird|und|gab|gibt|wieviele?|werden|wurden?|wo(?:ran|rum|mit|von|für|durch|gegen)|hat|haben|sind|im"
    r"|am|beim|zum|zur)\b",
    re.IGNORECASE,
)
# Before a common noun in German, where all nouns are capitalised.
_GERMAN_ARTICLES = re.compile(
    r"(?:der|die|das|den|dem|des|ein|eine[rmns]?|im|am|beim|zum|zur|vom|ins|ans|viele?|welche[rsnm]?"
    r"|kein\w*|sein\w*|ihr\w*|\w{3,}(?:en|er|es|em|e))\Z",
    re.IGNORECASE,
)


@record
class Inquiry:
    """A question: its stems, those that must occur (names and numbers), what it asks for, and its numbers."""

    question: str
    """With what it asks for at the beginning: "how much does it cost: orbit phone price"."""
    kind: str
    stems: tuple[str, ...]
    words: tuple[str, ...]
    """The words of the stems."""
    focus: frozenset[str]
    names: frozenset[str]
    """The focus, and words that are part of a name and need not occur: `Firma` of "Firma Kessler"."""
    numbers: tuple[str, ...]
    predicate: str | None
    """The stem of the word that relates the answer to the subject: "died", "verletzt", "governor"."""


def inquire(question: str) -> Inquiry:
    question = re.sub(r"^(\W*(?:what|who|where|when|how))['’]s\b", r"\1 is", question, flags=re.IGNORECASE)
    terms: dict[str, str] = {}
    focus: set[str] = set()
    names: set[str] = set()
    is_german = _GERMAN_QUESTION.search(question) is not None and not _is_english(question)
    before, is_capital_before = "", False
    for place, (raw, words) in enumerate(_words_asked(question)):
        is_number, is_capital = raw[:1].isdigit(), place > 0 and raw[:1].isupper()
        # In German all nouns are capitalised, but only names stand side by side: "Firma Kessler", "Gabriele Münter".
        is_name = is_number or (is_capital and not (is_german and _is_noun(before) and not is_capital_before))
        if is_german and is_capital and is_capital_before:
            names.update(map(stem, query_tokens(before)))
        for word in words:
            terms.setdefault(stem(word), word)
            if is_name and word not in words_of.TIMES:
                focus.add(stem(word))
        before, is_capital_before = raw, is_capital
    which = words_of.WHICH.match(question)
    if which is not None and _kind(question) in ("thing", "person"):
        names.update(map(stem, query_tokens(which[1])))
    elif which is not None:  # the answer holds a city or a date, not the word
        for word in query_tokens(which[1]):
            terms.pop(stem(word), None)
            focus.discard(stem(word))
    question = _as_asked(question)
    return Inquiry(
        question,
        _kind(question),
        tuple(terms),
        tuple(terms.values()),
        frozenset(focus),
        frozenset(focus | names),
        tuple(re.findall(r"\d[\d.,]*\d|\d", question)),
        _predicate(question, terms.keys() - focus - names - _common_stems(), is_german=is_german),
    )


def _as_asked(question: str) -> str:
    """Ask who somebody is, not for a name, and put what is asked for first: "tarrano quake how many dead"."""
    for named, who in words_of.NAME_OF_ROLE:
        if named.match(question) is not None:
            return named.sub(who, question, count=1)
    if _kind(question) not in ("any", "thing") or words_of.YES_OR_NO.match(question):
        return question
    for asked, noun in words_of.MEASURE_NOUNS.items():
        if (found := noun.search(question)) is not None and not (asked[0] == "w" and _kind(question) == "thing"):
            rest = f"{question[found.end() :].strip()} {question[: found.start()].strip()}"
            return f"{asked} {rest}".strip()
    return question


def _words_asked(question: str) -> Iterator[tuple[str, list[str]]]:
    """Each word as it is written, and its parts that say something."""
    text = one_word_each(question)
    for match in re.finditer(r"[^\W_][\w.,’'-]*[^\W_]|[^\W_]", text):
        bare = re.sub(r"[’'](?:s)?$", "", match[0])
        bare = re.sub(r"^(?:l|d|qu|s|n|j|m|t|c)[’']", "", bare, flags=re.IGNORECASE)
        if bare[:1].isdigit():
            yield bare, ["".join(index_text(bare).split())]
            continue
        # A letter alone may be a name, as in "line E", but not an initial.
        is_letter = match.start() > 0 and bare.isupper() and not text[match.end() :].startswith(". ")
        words = [word for word in query_tokens(bare) if word not in _stopwords()]
        yield bare, [word for word in words if len(word) > 1 or is_cjk(word) or (is_letter and len(bare) == 1)]


def _predicate(question: str, stems: Collection[str], *, is_german: bool) -> str | None:
    """The word that relates the answer to the subject: "built", "verletzt", or "governor" after "who is the"."""
    opening = words_of.ASKING.match(question)
    if opening is None or (is_german and _SEPARATED.search(question)):
        return None
    words = re.findall(r"[^\W_](?:[\w.,’'-]*[^\W_])?", question[opening.end() :])
    marked = [next((one for one in map(stem, index_text(word).split()) if one in stems), None) for word in words]
    helpers = [place for place, word in enumerate(words) if word.lower() in words_of.AUXILIARIES]
    has_helper = bool(helpers) and helpers[0] == 0
    is_inverted = has_helper and (
        words[0].lower() in words_of.INVERTING or words_of.ASKS_CIRCUMSTANCE.match(question) is not None
    )
    if is_inverted and _is_english(question):
        # The verb stands after the subject: "When was the dam built?", "Why did the minister of trade resign?"
        if not _LIGHT_VERBS.isdisjoint(words):
            return None
        free = [
            place for place, one in enumerate(marked) if one and words[place - 1].lower() not in words_of.BEFORE_NOUNS
        ]
        if words[0].lower() not in words_of.INVERTING:  # "When was the ferry pulled free?"
            free = [place for place in free if words[place].endswith("ed")] or free
        return marked[free[-1]] if free else next(filter(None, marked), None)
    asked = next((n for n, word in enumerate(words) if re.search(r"-(?:ils?|elles?|on)\Z", word, re.IGNORECASE)), None)
    if asked is not None:  # "dure-t-elle", "a-t-il été battu"
        return next(filter(None, marked[asked:]), None) or next(filter(None, marked), None)
    participles = [one for one, word in zip(marked, words, strict=True) if one and word.endswith(("ed", "ing"))]
    if has_helper and _is_english(question) and participles:
        return participles[-1]
    if has_helper and is_german and words[-1].islower() and marked[-1]:
        return marked[-1]
    start = helpers[-1] if helpers and not _is_english(question) and not is_german else 0
    return next(filter(None, marked[start:]), None) or next(filter(None, marked), None)


def says_when_and_who_is_new(inquiry: Inquiry, text: str) -> bool:
    """Whether a text names a time before that of the reports, or says that somebody is new, if the question does."""
    if words_of.PAST_TIME.search(inquiry.question) and not words_of.PAST_TIME.search(text):
        return False
    return not words_of.NEW_IN_OFFICE.match(inquiry.question) or words_of.NEWLY.search(text) is not None


def search_terms(inquiry: Inquiry) -> tuple[str, ...]:
    """Words to search for: the stems, then words of the same meaning."""
    own = (one if len(one) >= SEARCHED else word for one, word in zip(inquiry.stems, inquiry.words, strict=True))
    places = (form for one in inquiry.focus for form in place_forms(one))
    verbs = (form for one in inquiry.stems for form in verb_forms(one))
    others = (other for one in inquiry.stems for other in sorted(synonyms().get(one, frozenset())))
    return tuple(dict.fromkeys((*own, *places, *verbs, *others)))


def type_bonus(inquiry: Inquiry, text: str) -> float:
    """Whether a sentence holds what the question asks for: a number, a date, a person."""
    for number in inquiry.numbers:
        text = re.sub(rf"(?<![\d.,]){re.escape(number)}(?![\d.,]*\d)", " ", text)
    text = words_of.NUMBER_OF_NAME.sub(" ", text)
    if words_of.GERMAN_TEXT.search(text) is None:
        text = words_of.NUMBER_AFTER_NAME.sub(" ", text)
    for asked, wanted in words_of.MEASURES:
        if inquiry.kind == "number" and asked.match(inquiry.question):
            if wanted.search(_without_other_dimensions(inquiry, text)):
                return 0.45
            return 0.2 if words_of.AGE.match(inquiry.question) and words_of.SINCE.search(text) else -0.3
    match inquiry.kind:
        case "number":
            if counts_people(inquiry) and words_of.ZERO.search(text):
                return 0.4
            counted = words_of.COUNTED.match(inquiry.question) and not words_of.VOTES.match(inquiry.question)
            if not words_of.NUMBER.search(_without_other_numbers(inquiry, text) if counted else text):
                return -0.45
            return 0.4 if _counts_what_is_asked(inquiry, text) else -0.2
        case "amount":
            return _amount_bonus(inquiry, text)
        case "duration":
            is_length = words_of.LONG.match(inquiry.question) and words_of.LENGTH.search(text)
            return 0.45 if is_length or words_of.DURATION.search(text) else -0.3
        case "date":
            if words_of.ASKS_CLOCK.match(inquiry.question):
                return 0.45 if words_of.CLOCK.search(text) else -0.45
            return 0.45 if words_of.EXACT_DATE.search(text) else 0.2 if words_of.DATE.search(text) else -0.45
        case "cause":
            text = _without_event(inquiry, text)
            return 0.6 if words_of.STRONG_CAUSE.search(text) else 0.2 if words_of.CAUSE.search(text) else -0.3
        case "place":
            return 0.3 if _holds_new_name(words_of.PLACE, inquiry, text) else -0.2
        case "person":
            if _holds_new_name(words_of.PERSON, inquiry, text):
                return 0.3
            if words_of.NAMELESS_SUBJECT.search(text):
                return 0.1
            is_german = words_of.GERMAN_TEXT.search(text) is not None  # where every noun is capitalised
            return 0.0 if not is_german and _holds_new_name(words_of.NAME, inquiry, text) else -0.35
        case _:
            return 0.0


def _without_event(inquiry: Inquiry, text: str) -> str:
    """Without "a day after Marten resigned" if the question is why Marten resigned."""
    clauses = list(words_of.AFTER.finditer(text))
    for clause in reversed(clauses):
        if inquiry.predicate is not None and StemSet(frozenset(stems_of(clause[0]))).has(inquiry.predicate):
            text = text[: clause.start()] + text[clause.end() :]
    return text


def _without_other_dimensions(inquiry: Inquiry, text: str) -> str:
    """Without "forty centimetres high" if the question is how deep something is."""
    for asked, others in words_of.OTHER_DIMENSIONS:
        if asked.search(inquiry.question):
            return others.sub(" ", text)
    return text


def _without_other_numbers(inquiry: Inquiry, text: str) -> str:
    """Without sums, measures and times, if the question counts something else."""
    text = words_of.COUNTS_OTHERS.sub(" ", text)
    for other in (words_of.MONEY, words_of.QUANTITY):
        if other.search(f"3 {inquiry.question}") is None:
            text = other.sub(" ", text)
    return text


def _amount_bonus(inquiry: Inquiry, text: str) -> float:
    if words_of.HIGH.match(inquiry.question):
        is_high = any(one.search(text) for one in (words_of.MONEY, words_of.SHARE, words_of.LENGTH, words_of.QUANTITY))
        return 0.45 if is_high else -0.45
    is_cost = words_of.COSTS.search(inquiry.question) and not words_of.MUCH_MORE.match(inquiry.question)
    if not is_cost and words_of.MUCH_OF.match(inquiry.question) and words_of.QUANTITY.search(text):
        return 0.45
    wanted = words_of.MONEY if is_cost else words_of.SHARE
    is_other = words_of.MONEY.search(text) or words_of.SHARE.search(text)
    if wanted.search(text):
        return 0.45
    if is_cost:
        return -0.45
    is_number = wanted is words_of.SHARE and words_of.NUMBER.search(text)
    return 0.2 if is_other else 0.1 if is_number else -0.45


def is_only_demanded(inquiry: Inquiry, text: str) -> bool:
    """Whether the number is demanded or threatened, and the question does not ask for that."""
    if inquiry.kind not in ("number", "amount", "duration") or words_of.DEMANDED.search(inquiry.question):
        return False
    return words_of.DEMANDED.search(text) is not None


def may_measure_it(inquiry: Inquiry, text: str) -> bool:
    """Whether a measure or price in a sentence without a word of the question may be that of what was named before."""
    if inquiry.kind == "amount" and words_of.COSTS.search(inquiry.question):
        return words_of.OTHER_SUBJECT.match(text) is None or words_of.COSTS.search(text) is not None
    is_measure = any(asked.match(inquiry.question) for asked, _ in words_of.MEASURES)
    return (
        inquiry.kind != "number"
        or not is_measure
        or words_of.AGE.match(inquiry.question) is not None
        or words_of.MEASURES_IT.search(text) is not None
    )


def _counts_what_is_asked(inquiry: Inquiry, text: str) -> bool:
    """Whether the word after "how many" stands there, too. Some words, such as "people", need not."""
    counted = words_of.COUNTED.match(inquiry.question)
    stems = [one for word in index_text(counted[1]).split() if (one := stem(word)) in inquiry.stems] if counted else []
    words = StemSet(frozenset(stems_of(text)))
    return not stems or any(map(words.has, stems))


def counts_people(inquiry: Inquiry) -> bool:
    """Whether "how many people" is asked, which zero answers as well."""
    counted = words_of.COUNTED.match(inquiry.question)
    return counted is not None and not any(stem(word) in inquiry.stems for word in index_text(counted[1]).split())


def names_other_of_kind(inquiry: Inquiry, text: str) -> bool:
    """Whether a sentence names another thing of the kind that is asked for: Klinik Torhafen for Klinik Kronau."""
    words = frozenset(stems_of(text))
    asked = [(kind, name) for kind, name in _kinds_and_names(inquiry.question) if name in inquiry.focus]
    others = _kinds_and_names(text)
    return any(
        name not in words and any(kind == other_kind and other != name for other_kind, other in others)
        for kind, name in asked
    )


def _kinds_and_names(text: str) -> list[tuple[str, str]]:
    """Words of which a name says which one is meant: "hospital of Kronau", "pont de Villeneuve", "Klinik Torhafen"."""
    return [(stem(index_text(kind)), stem(index_text(name))) for kind, name in words_of.NAMED.findall(text)]


def names_another_person(inquiry: Inquiry, text: str) -> bool:
    """Whether a sentence names a person whom the question does not name."""
    return _holds_new_name(words_of.PERSON, inquiry, text)


def _holds_new_name(pattern: re.Pattern[str], inquiry: Inquiry, text: str) -> bool:
    """Whether a name stands there that has words besides those of the question."""
    known, asked = _known_capitals(), frozenset(inquiry.stems)
    minimum = 2 if pattern is words_of.PERSON else 1
    return any(
        sum(word not in known and stem(word) not in asked for word in index_text(name).split()) >= minimum
        for name in pattern.findall(text)
        if pattern is words_of.PLACE or words_of.NO_PERSON.search(name) is None
    )


def _kind(question: str) -> str:
    return next((kind for kind, pattern in words_of.KINDS.items() if pattern.match(question)), "any")


def _is_english(question: str) -> bool:
    return (
        re.search(r"\b(?:the|what|who|how|of|did|does|is|are|which|why|when|where)\b", question, re.IGNORECASE)
        is not None
    )


def _is_noun(before: str) -> bool:
    return _GERMAN_ARTICLES.match(before) is not None


@cache
def _known_capitals() -> frozenset[str]:
    """Words that may be capitalised and are no names."""
    return _stopwords() | frozenset(map(index_text, words_of.CAPITALISED))


@cache
def _common_stems() -> frozenset[str]:
    """Words that do not relate an answer to its subject: "new", and "begin", because dates are those of a beginning."""
    words = words_of.COMMON_WORDS - {"won"} | words_of.BEGINNINGS
    return frozenset(stem(index_text(word)) for word in words)


@cache
def _stopwords() -> frozenset[str]:
    general = SMALL - words_of.CONTENT_WORDS
    listed = general | question_words() | words_of.QUESTION_WORDS
    return frozenset(token for word in listed for token in index_text(word).split()) - {"won"}  # of "won't"
