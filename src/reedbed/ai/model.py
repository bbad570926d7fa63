"""A model for development: answers at once, always the same, sends nothing anywhere."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import orjson

from reedbed.domain.framing import SCORES
from reedbed.domain.records import record
from reedbed.domain.times import Millis


@record
class Prompt:
    instructions: str
    material: str
    """What is to be read: data, whatever it says."""
    schema_name: str
    schema: Mapping[str, Any]
    most_tokens: int
    temperature: float = 0.3

    @property
    def estimate(self) -> int:
        """Tokens of the question, rather too many: few tokens are shorter than three letters."""
        letters = len(self.instructions) + len(self.material)
        wide = 0 if self.material.isascii() else sum(sign > "\u2e7f" for sign in self.material)
        return (letters - wide) // 3 + 2 * wide + 100


@record
class Completion:
    text: str
    tokens_in: int
    tokens_out: int


@record
class ModelError:
    """An expected failure. `limited` is "too many requests", `empty` an answer without words, `unreadable` an
    answer that is not what was asked for."""

    kind: Literal["temporary", "limited", "permanent", "empty", "unreadable"]
    message: str
    tokens_in: int = 0
    tokens_out: int = 0
    rest: Millis | None = None
    """How long the model asks us to wait."""


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_remote(self) -> bool:
        """Asking it sends text to somebody else."""
        ...

    async def ask(self, prompt: Prompt) -> Completion | ModelError: ...

    async def close(self) -> None: ...


_TITLE = re.compile(r"^Title: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


class MockModel:
    name = "mock"
    is_remote = False

    async def ask(self, prompt: Prompt) -> Completion | ModelError:
        text = orjson.dumps(_WRITERS.get(prompt.schema_name, _summary)(prompt)).decode()
        return Completion(text, prompt.estimate, len(text) // 4)

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
