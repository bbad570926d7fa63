"""A model for development: answers at once, always the same, sends nothing anywhere."""

import re
from collections.abc import Callable, Mapping

import orjson

from reedbed.ai.model import Answer, Prompt, Trouble
from reedbed.domain.framing import SCORES

_TITLE = re.compile(r"^Title: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


class MockModel:
    name = "mock"
    is_remote = False

    async def ask(self, prompt: Prompt) -> Answer | Trouble:
        text = orjson.dumps(_WRITERS.get(prompt.schema_name, _summary)(prompt)).decode()
        return Answer(text, prompt.estimate, len(text) // 4)

    async def close(self) -> None:
        """Nothing is open."""


def _summary(prompt: Prompt) -> dict[str, object]:
    named = _title(prompt)
    return {"one_line": f"A mock line about {named}", "summary": f"A mock summary of “{named}”."}


def _digest(prompt: Prompt) -> dict[str, object]:
    found = _NUMBERED.findall(prompt.material)[:5]
    sentences = [{"text": f"A mock report of {title}.", "sources": [int(number)]} for number, title in found]
    return {"paragraphs": [{"heading": "Mock digest", "sentences": sentences}]}


def _answer(prompt: Prompt) -> dict[str, object]:
    found = _NUMBERED.findall(prompt.material)[:3]
    claims = [{"text": f"A mock answer from {title}.", "sources": [int(number)]} for number, title in found]
    return {"answered": bool(claims), "claims": claims}


def _framing(prompt: Prompt) -> dict[str, object]:
    """Scores from the title's letters, so that entries differ and each is always the same."""
    named = _title(prompt)
    value = sum(map(ord, named)) % 101 / 100
    score = {"score": value, "reason": "A mock reason", "quote": named}
    return {
        "title_corrected": f"A mock title for {named}",
        "title_correction_reason": "A mock change",
        "description_corrected": f"A mock teaser of {named}.",
        "description_correction_reason": "",
        "text_corrected": f"A mock text of {named}.",
        "category": "other",
        **dict.fromkeys((*SCORES, "overall"), score),
    }


def _title(prompt: Prompt) -> str:
    found = _TITLE.search(prompt.material)
    return found[1] if found else "an article"


_WRITERS: Mapping[str, Callable[[Prompt], dict[str, object]]] = {
    "answer": _answer,
    "digest": _digest,
    "framing": _framing,
}
