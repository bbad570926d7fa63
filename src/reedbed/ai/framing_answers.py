"""Reading what a model answered about an article's framing. Pure; as suspicious as `answers`."""

from collections.abc import Mapping
from typing import Any

from reedbed.ai.answers import json_object, mapping, plain, text_of
from reedbed.domain.framing import (
    CATEGORIES,
    CORRECTION_WORDS,
    LONGEST_QUOTE,
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

LONGEST_TITLE = 300
LONGEST_DESCRIPTION = 800
LONGEST_PARAGRAPH = 1_500
MOST_PARAGRAPHS = 4
LONGEST_REASON = 200


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
    title = plain(text_of(said.get("title_corrected")), LONGEST_TITLE)
    if not title or overall is None or len(scores) < len(SCORES):
        return None
    return Analysis(
        title=title,
        title_reason=_reason(said, "title_correction_reason", CORRECTION_WORDS),
        description=plain(text_of(said.get("description_corrected")), LONGEST_DESCRIPTION),
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
    quote = found_quote(plain(text_of(said.get("quote")), LONGEST_QUOTE + 10), article)
    return Score(name, round(float(value), 3), _reason(said, "reason", words), quote)


def _reason(said: Mapping[str, Any], name: str, words: int) -> str:
    return first_words(plain(text_of(said.get(name)), LONGEST_REASON), words)


def _paragraphs(text: str) -> str:
    found = (plain(part, LONGEST_PARAGRAPH) for part in text.split("\n") if part.strip())
    return "\n\n".join([part for part in found if part][:MOST_PARAGRAPHS])
