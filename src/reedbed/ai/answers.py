"""Reading what a model answered. Pure.

The model has read strangers' texts and may have obeyed them, so its answer is not trusted: it must fit the
schema, becomes plain text of bounded length, and may point to nothing but the entries it was made from.
"""

import html
import re
from collections.abc import Collection, Mapping
from typing import Any, cast

import orjson

from reedbed.domain.records import record

LONGEST_TEXT = 1_200
LONGEST_LINE = 140
LONGEST_HEADING = 80
LONGEST_SENTENCE = 400
MOST_PARAGRAPHS = 5
MOST_SENTENCES = 12
MOST_SOURCES = 10
MOST_CLAIMS = 8

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
class DigestText:
    paragraphs: tuple[CitedParagraph, ...]
    dropped: int
    """Sentences that named no source they were given."""


@record
class AnswerText:
    claims: tuple[CitedSentence, ...]
    """None: what was read does not tell."""
    dropped: int


def read_summary(answer: str) -> SummaryText | None:
    """None for anything but what was asked for."""
    said = json_object(answer)
    one_line, text = said.get("one_line"), said.get("summary")
    if not isinstance(one_line, str) or not isinstance(text, str):
        return None
    words = plain(text, LONGEST_TEXT)
    return (
        SummaryText(plain(one_line, LONGEST_LINE) or bounded(words, LONGEST_LINE), words) if words else None
    )


def read_digest(answer: str, known: Collection[int]) -> DigestText | None:
    dropped = 0
    paragraphs: list[CitedParagraph] = []
    for raw in _list(json_object(answer).get("paragraphs"))[:MOST_PARAGRAPHS]:
        paragraph = mapping(raw)
        found = [_sentence(mapping(one), known) for one in _list(paragraph.get("sentences"))[:MOST_SENTENCES]]
        kept = tuple(one for one in found if one.text and one.numbers)
        dropped += len(found) - len(kept)
        if kept:
            paragraphs.append(CitedParagraph(plain(text_of(paragraph.get("heading")), LONGEST_HEADING), kept))
    return DigestText(tuple(paragraphs), dropped) if paragraphs else None


def read_answer(answer: str, known: Collection[int]) -> AnswerText | None:
    said = json_object(answer)
    if not isinstance(said.get("answered"), bool) or not isinstance(said.get("claims"), list):
        return None
    found = [_sentence(mapping(one), known) for one in _list(said["claims"])[:MOST_CLAIMS]]
    kept = tuple(one for one in found if one.text and one.numbers) if said["answered"] else ()
    return AnswerText(kept, len(found) - len(kept) if said["answered"] else 0)


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
    text = plain(_CITED.sub("", text_of(raw.get("text"))), LONGEST_SENTENCE)
    return CitedSentence(text, tuple(dict.fromkeys(numbers))[:MOST_SOURCES])


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
