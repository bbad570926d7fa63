"""Reading what a model answered about an article's framing. Pure; as suspicious as `answers`."""

import html
import re
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
    found_quote,
)
from reedbed.domain.records import record

MAX_TEXT_LENGTH = 1_200
MAX_LINE_LENGTH = 140
MAX_HEADING_LENGTH = 80
MAX_SENTENCE_LENGTH = 400
MAX_PARAGRAPHS = 5
MAX_SENTENCES = 12
MAX_SOURCES = 10
MAX_CLAIMS = 8

_CODE_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,500}>")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
_ADDRESS = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,10}://|www\.|javascript:|data:|mailto:)\S*", re.IGNORECASE)
_MARKS = re.compile(r"(?:^|(?<=\s))#{1,6}\s|\*\*|__|`+")
_CITED = re.compile(r"\s*\[\d+(?:,\s*\d+)*\]")
_UNSEEN = re.compile(
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


@record
class CitedParagraph:
    heading: str
    sentences: tuple[CitedSentence, ...]


@record
class DigestDraft:
    paragraphs: tuple[CitedParagraph, ...]
    dropped: int
    """Sentences that named no source they were given."""


@record
class AnswerDraft:
    claims: tuple[CitedSentence, ...]
    """None: what was read does not tell."""
    dropped: int


def read_summary(answer: str) -> SummaryText | None:
    """None for anything but what was asked for."""
    said = json_object(answer)
    one_line, text = said.get("one_line"), said.get("summary")
    if not isinstance(one_line, str) or not isinstance(text, str):
        return None
    words = plain(text, MAX_TEXT_LENGTH)
    if not words:
        return None
    return SummaryText(plain(one_line, MAX_LINE_LENGTH) or bounded(words, MAX_LINE_LENGTH), words)


def read_digest(answer: str, known: Collection[int]) -> DigestDraft | None:
    dropped = 0
    paragraphs: list[CitedParagraph] = []
    for raw in _list(json_object(answer).get("paragraphs"))[:MAX_PARAGRAPHS]:
        paragraph = mapping(raw)
        found = [_sentence(mapping(one), known) for one in _list(paragraph.get("sentences"))[:MAX_SENTENCES]]
        kept = tuple(one for one in found if one.text and one.numbers)
        dropped += len(found) - len(kept)
        if kept:
            heading = plain(text_of(paragraph.get("heading")), MAX_HEADING_LENGTH)
            paragraphs.append(CitedParagraph(heading, kept))
    return DigestDraft(tuple(paragraphs), dropped) if paragraphs else None


def read_answer(answer: str, known: Collection[int]) -> AnswerDraft | None:
    said = json_object(answer)
    if not isinstance(said.get("answered"), bool) or not isinstance(said.get("claims"), list):
        return None
    found = [_sentence(mapping(one), known) for one in _list(said["claims"])[:MAX_CLAIMS]]
    kept = tuple(one for one in found if one.text and one.numbers) if said["answered"] else ()
    return AnswerDraft(kept, len(found) - len(kept) if said["answered"] else 0)


def plain(text: str, limit: int) -> str:
    """Words only: no tags, no addresses, no marks of layout, no signs that cannot be seen."""
    text = _LINK.sub(r"\1", html.unescape(text[: 8 * limit]))
    text = _ADDRESS.sub("", _TAG.sub(" ", text))
    text = _UNSEEN.sub("", _MARKS.sub("", text)).replace("<", "‹").replace(">", "›")
    return bounded(text, limit)


def bounded(text: str, limit: int) -> str:
    """One line of at most so many characters, cut between words."""
    line = " ".join(text[: 8 * limit].split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    blank = head.rfind(" ")
    return (head[:blank] if blank > limit // 2 else head).rstrip(" ,;:–—-") + "…"


def _sentence(raw: Mapping[str, Any], known: Collection[int]) -> CitedSentence:
    numbers = [one for one in _list(raw.get("sources")) if type(one) is int and one in known]
    text = plain(_CITED.sub("", text_of(raw.get("text"))), MAX_SENTENCE_LENGTH)
    return CitedSentence(text, tuple(dict.fromkeys(numbers))[:MAX_SOURCES])


def json_object(answer: str) -> Mapping[str, Any]:
    """Empty for what is no JSON object."""
    text = _THINKING.sub("", answer, count=1)
    fenced = _CODE_FENCE.match(text)
    try:
        return mapping(orjson.loads(fenced[1] if fenced else text))
    except ValueError:
        return {}


def mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


MAX_TITLE_LENGTH = 300
MAX_DESCRIPTION_LENGTH = 800
MAX_PARAGRAPH_LENGTH = 1_500
MAX_FRAMING_PARAGRAPHS = 4
MAX_REASON_LENGTH = 200


def read_framing(
    answer: str, words: str, *, model: str, language: str, last_try: bool = False
) -> Analysis | None:
    """None for anything but what was asked for. `words` is what the model was given to quote from.

    On the last try an unknown category is `other`; a score out of range is never taken.
    """
    said = json_object(answer)
    category = said.get("category")
    if category not in CATEGORIES:
        if not last_try:
            return None
        category = OTHER
    article = comparable(words)
    found = [_score(said.get(name), name, REASON_WORDS, article) for name in SCORES]
    scores = tuple(score for score in found if score is not None)
    overall = _score(said.get("overall"), "overall", OVERALL_WORDS, article)
    title = plain(text_of(said.get("title_corrected")), MAX_TITLE_LENGTH)
    if not title or overall is None or len(scores) < len(SCORES):
        return None
    return Analysis(
        title=title,
        title_reason=_reason(said, "title_correction_reason", CORRECTION_WORDS),
        description=plain(text_of(said.get("description_corrected")), MAX_DESCRIPTION_LENGTH),
        description_reason=_reason(said, "description_correction_reason", CORRECTION_WORDS),
        text=_paragraphs(text_of(said.get("text_corrected"))),
        category=category,
        scores=scores,
        overall=overall,
        model=model,
        language=language,
    )


def _score(raw: Any, name: str, words: int, article: str) -> Score | None:
    said = mapping(raw)
    value = said.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    quote = found_quote(plain(text_of(said.get("quote")), MAX_QUOTE_LENGTH + 10), article)
    return Score(name, round(float(value), 3), _reason(said, "reason", words), quote)


def _reason(said: Mapping[str, Any], name: str, words: int) -> str:
    return first_words(plain(text_of(said.get(name)), MAX_REASON_LENGTH), words)


def _paragraphs(text: str) -> str:
    found = (plain(part, MAX_PARAGRAPH_LENGTH) for part in text.split("\n") if part.strip())
    return "\n\n".join([part for part in found if part][:MAX_FRAMING_PARAGRAPHS])
