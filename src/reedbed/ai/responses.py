"""Parsing the responses of a model: summaries, digests, answers, framing, translations. Nothing in them is trusted."""

import html
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, cast

import orjson

from reedbed.domain.framing import (
    CATEGORIES,
    CORRECTION_WORDS,
    MAX_QUOTE_LENGTH,
    OTHER,
    OVERALL_WORDS,
    REASON_WORDS,
    SCORES,
    Analysis,
    Score,
    comparable,
    first_words,
    verified_quote,
)
from reedbed.domain.records import record
from reedbed.domain.stories.corrections import Verdict
from reedbed.domain.text import fold

MAX_TEXT_LENGTH = 1_200
MAX_LINE_LENGTH = 140
MAX_SENTENCE_LENGTH = 400
MAX_PARAGRAPHS = 5
MAX_SENTENCES = 40
MAX_SOURCES = 10
MAX_CLAIMS = 8

_CODE_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,500}>")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
_URL = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,10}://|www\.|javascript:|data:|mailto:)\S*", re.IGNORECASE)
_MARKDOWN = re.compile(r"(?:^|(?<=\s))#{1,6}\s|\*\*|__|`+")
_CITATION = re.compile(r"\s*\[\d+(?:,\s*\d+)*\]")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=\W*[^\W\da-z_])")
_NUMBER = re.compile(r"\d(?:[\d.,'’\u202f\u00a0]*\d)?")
_NAME = re.compile(r"(?<!\A)(?<![.!?…:“„«»\"] )(?<![“„«»\"])\b[A-ZÀ-ÞА-Я][\w’'-]+")
_FULL_NAME = re.compile(r"\b[A-ZÀ-Þ][\w’'-]+(?: [A-ZÀ-Þ][\w’'-]+)+")
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


@record
class SummaryText:
    one_line: str
    text: str


@record
class CitedSentence:
    text: str
    numbers: tuple[int, ...]
    quote: str = ""


@record
class DigestDraft:
    sentences: tuple[CitedSentence, ...]
    dropped: int
    """The number of sentences without a valid source, or with a number or name that its sources lack."""


@record
class AnswerDraft:
    claims: tuple[CitedSentence, ...]
    """Empty if the entries do not answer the question."""
    dropped: int


def read_summary(response: str, article: str) -> SummaryText | None:
    """None if the response does not have the requested form. Sentences with numbers not in the article are dropped."""
    fields = json_object(response)
    one_line, text = fields.get("one_line"), fields.get("summary")
    if not isinstance(one_line, str) or not isinstance(text, str):
        return None
    given = numbers_of(article)
    sentences = _SENTENCE_END.split(plain(text, MAX_TEXT_LENGTH))
    summary = " ".join(sentence for sentence in sentences if numbers_of(sentence) <= given)
    if not summary:
        return None
    line = plain(one_line, MAX_LINE_LENGTH)
    return SummaryText(line if line and numbers_of(line) <= given else bounded(summary, MAX_LINE_LENGTH), summary)


def read_digest(response: str, sources: Mapping[int, str], *, skip_single_names: bool = False) -> DigestDraft | None:
    """`sources` are the texts that the model was given. A sentence with a number or a name that they do not have is
    dropped. `skip_single_names`: names of one word are not compared, because they are written differently in another
    language, and German nouns have capitals.
    """
    sentences = [
        _sentence(mapping(item), sources)
        for paragraph in items_of(json_object(response).get("paragraphs"))[:MAX_PARAGRAPHS]
        for item in items_of(mapping(paragraph).get("sentences"))[:MAX_SENTENCES]
    ]
    cited = tuple(
        sentence for sentence in sentences if _rests_on(sentence, sources, skip_single_names=skip_single_names)
    )
    return DigestDraft(cited, len(sentences) - len(cited)) if cited else None


def _rests_on(sentence: CitedSentence, sources: Mapping[int, str], *, skip_single_names: bool) -> bool:
    source_text = " ".join(sources[number] for number in sentence.numbers)
    if not sentence.text or not sentence.numbers or not numbers_of(sentence.text) <= numbers_of(source_text):
        return False
    folded = fold(source_text)
    return all(
        fold(name)[: max(4, len(name) - 2)] in folded
        for name in _names_of(sentence.text, skip_single_names=skip_single_names)
    )


def _names_of(text: str, *, skip_single_names: bool) -> list[str]:
    """Capitalised words that begin no sentence, or only the last ones of names of several words."""
    if skip_single_names:
        return [run.rpartition(" ")[2] for run in _FULL_NAME.findall(text)]
    return [name for name in _NAME.findall(text) if len(name) > 1]


def read_answer(response: str, passages: Mapping[int, str]) -> AnswerDraft | None:
    """`passages` are the texts that the model was given. What they do not say is dropped."""
    fields = json_object(response)
    if not isinstance(fields.get("answered"), bool) or not isinstance(fields.get("claims"), list):
        return None
    if not fields["answered"]:
        return AnswerDraft((), 0)
    claims = [_claim(mapping(item), passages) for item in items_of(fields["claims"])[:MAX_CLAIMS]]
    supported = tuple(claim for claim in claims if claim is not None)
    return AnswerDraft(supported, len(claims) - len(supported))


def _claim(raw: Mapping[str, Any], passages: Mapping[int, str]) -> CitedSentence | None:
    """None if no passage has its quote, or the cited ones lack one of its numbers."""
    sentence = _sentence(raw, passages)
    cited = " ".join(passages[number] for number in sentence.numbers)
    quote = verified_quote(plain(text_of(raw.get("quote")), MAX_SENTENCE_LENGTH), comparable(cited))
    if not sentence.text or not quote or not numbers_of(sentence.text) <= numbers_of(cited):
        return None
    return CitedSentence(sentence.text, sentence.numbers, quote)


def read_list_choice(response: str, count: int) -> int | None:
    """The number of the list, 0 for none; None if there is no such list."""
    number = json_object(response).get("list")
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= count else None


def read_verdicts(response: str, count: int) -> list[Verdict] | None:
    """The verdict on each pair, in their order. None if the response has another form."""
    fields = json_object(response)
    if not any(str(number) in fields for number in range(1, count + 1)):
        return None
    return [_verdict(fields.get(str(number))) for number in range(1, count + 1)]


def _verdict(raw: Any) -> Verdict:
    return raw if raw in ("same", "different") else "unsure"


def read_translation(response: str, ids: Collection[str]) -> Mapping[str, str] | None:
    """The texts by their ids, without what was not asked for; None if the response has another form."""
    items = json_object(response).get("translations")
    if not isinstance(items, list):
        return None
    pairs = [(text_of(item.get("id")), text_of(item.get("text"))) for item in map(mapping, items_of(items))]
    counts = Counter(id_ for id_, _ in pairs)
    return {id_: text.strip() for id_, text in pairs if id_ in ids and counts[id_] == 1}


def numbers_of(text: str) -> set[str]:
    """The numbers of a text without separators, so that 4,200 and 4.200 are one."""
    return {re.sub(r"\D", "", number) for number in _NUMBER.findall(text)}


def plain(text: str, limit: int) -> str:
    """Plain text without tags, URLs, Markdown and invisible characters."""
    text = _LINK.sub(r"\1", html.unescape(text[: 8 * limit]))
    text = _URL.sub("", _TAG.sub(" ", text))
    text = _INVISIBLE.sub("", _MARKDOWN.sub("", text)).replace("<", "‹").replace(">", "›")
    return bounded(text, limit)


def bounded(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut between words."""
    line = " ".join(text[: 8 * limit].split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip(" ,;:–—-") + "…"


def _sentence(raw: Mapping[str, Any], source_numbers: Collection[int]) -> CitedSentence:
    numbers = [number for number in items_of(raw.get("sources")) if type(number) is int and number in source_numbers]
    text = plain(_CITATION.sub("", text_of(raw.get("text"))), MAX_SENTENCE_LENGTH)
    return CitedSentence(text, tuple(dict.fromkeys(numbers))[:MAX_SOURCES])


def json_object(response: str) -> Mapping[str, Any]:
    """Empty if the response is not a JSON object."""
    text = _THINKING.sub("", response, count=1)
    fenced = _CODE_FENCE.match(text)
    try:
        return mapping(orjson.loads(fenced[1] if fenced else text))
    except ValueError:
        return {}


def mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def items_of(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


MAX_TITLE_LENGTH = 300
MAX_DESCRIPTION_LENGTH = 800
MAX_PARAGRAPH_LENGTH = 1_500
MAX_FRAMING_PARAGRAPHS = 4
MAX_REASON_LENGTH = 200


def read_framing(response: str, quotable: str, *, model: str, language: str, last_try: bool = False) -> Analysis | None:
    """None if the response does not have the requested form. `quotable` is the text that the model may quote.

    On the last try an unknown category becomes `other`; a score out of range is never accepted.
    """
    fields = json_object(response)
    category = fields.get("category")
    if category not in CATEGORIES:
        if not last_try:
            return None
        category = OTHER
    article = comparable(quotable)
    parsed_scores = [_score(fields.get(name), name, REASON_WORDS, article) for name in SCORES]
    scores = tuple(score for score in parsed_scores if score is not None)
    overall = _score(fields.get("overall"), "overall", OVERALL_WORDS, article)
    title = plain(text_of(fields.get("title_corrected")), MAX_TITLE_LENGTH)
    if not title or overall is None or len(scores) < len(SCORES):
        return None
    return Analysis(
        title=title,
        title_reason=_reason(fields, "title_correction_reason", CORRECTION_WORDS),
        description=plain(text_of(fields.get("description_corrected")), MAX_DESCRIPTION_LENGTH),
        description_reason=_reason(fields, "description_correction_reason", CORRECTION_WORDS),
        text=_paragraphs(text_of(fields.get("text_corrected"))),
        category=category,
        scores=scores,
        overall=overall,
        model=model,
        language=language,
    )


def _score(raw: Any, name: str, max_words: int, article: str) -> Score | None:
    fields = mapping(raw)
    value = fields.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    quote = verified_quote(plain(text_of(fields.get("quote")), MAX_QUOTE_LENGTH + 10), article)
    return Score(name, round(float(value), 3), _reason(fields, "reason", max_words), quote)


def _reason(fields: Mapping[str, Any], name: str, max_words: int) -> str:
    return first_words(plain(text_of(fields.get(name)), MAX_REASON_LENGTH), max_words)


def _paragraphs(text: str) -> str:
    paragraphs = (plain(part, MAX_PARAGRAPH_LENGTH) for part in text.split("\n") if part.strip())
    return "\n\n".join([part for part in paragraphs if part][:MAX_FRAMING_PARAGRAPHS])
