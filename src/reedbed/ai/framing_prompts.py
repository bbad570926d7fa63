"""The question how an article is framed. Pure."""

from collections.abc import Mapping
from typing import Any

from reedbed.ai.answers import bounded
from reedbed.ai.model import Prompt
from reedbed.ai.prompts import LONGEST_ARTICLE, LONGEST_TITLE, as_data, fence_for, fenced, in_language
from reedbed.domain.framing import CATEGORIES, CORRECTION_WORDS, OVERALL_WORDS, REASON_WORDS, SCORES

FRAMING_TOKENS = 2_000

_MEANINGS = {
    "framing": "ideological colour in the choice of words; 1 is propaganda",
    "clickbait": "a gap of curiosity, exaggeration, a promise that the text does not keep",
    "persuasive": "wants the reader to buy, to act or to change an attitude",
    "hyper_stimulus": "capitals, exclamation marks, aggression, alarm",
    "speculative": "unconfirmed, conditional, guessed",
}


def _object(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_SCORE = _object({"score": {"type": "number"}, "reason": _TEXT, "quote": _TEXT})
_SCHEMA = _object(
    {
        "title_corrected": _TEXT,
        "title_correction_reason": _TEXT,
        "description_corrected": _TEXT,
        "description_correction_reason": _TEXT,
        "text_corrected": _TEXT,
        "category": {"type": "string", "enum": list(CATEGORIES)},
        **dict.fromkeys(SCORES, _SCORE),
        "overall": _SCORE,
    }
)


def framing_prompt(title: str, source: str, text: str, language: str, wish: str | None) -> Prompt:
    """`wish` is what the operator asks for in this feed beside all that is asked in every feed."""
    heading = f"Title: {bounded(title, LONGEST_TITLE)}\nSource: {bounded(source, LONGEST_TITLE)}"
    article = f"{heading}\n\n{text[:LONGEST_ARTICLE]}"
    fence = fence_for(article)
    parts = (
        "You read one article and tell calmly what happened and how its wording pushes the reader. You do "
        "not check facts and you add none.",
        in_language(language, "the language of the article"),
        '"title_corrected" is a neutral headline; "description_corrected" a neutral teaser of at most three '
        'sentences; "text_corrected" what happened, in one to three short paragraphs that keep every name, '
        "number and quoted statement; their reasons say in at most "
        f"{CORRECTION_WORDS} words what was changed, or nothing where nothing was.",
        "Each score is a number from 0.0 (not at all) to 1.0 with a reason of at most "
        f"{REASON_WORDS} words and a quote: the passage of the article that earned it, copied letter by "
        "letter, or empty. A quote that is not in the article is thrown away.",
        *(f'"{name}": {meaning}.' for name, meaning in _MEANINGS.items()),
        '"overall": one number to decide whether to skip the article, '
        f"its reason at most {OVERALL_WORDS} words.",
        f'"category" is one of {", ".join(CATEGORIES)}.',
        *([f"For this source also: {wish}"] if wish else []),
        f"Answer with JSON. Plain text, no markup, no links. {as_data(fence)}",
    )
    return Prompt(" ".join(parts), fenced(article, fence), "framing", _SCHEMA, FRAMING_TOKENS, temperature=0)
