"""The interface of a language model, a mock model that sends nothing anywhere, and the model of a plugin."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

import orjson

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.framing import SCORES
from reedbed.domain.records import record
from reedbed.domain.times import Millis


@record
class Prompt:
    instructions: str
    material: str
    """The text to read: data, never instructions."""
    schema_name: str
    schema: Mapping[str, Any]
    most_tokens: int
    temperature: float = 0.3
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The blocks to translate, for services that take no instructions."""
    source: str = ""
    """The language of `texts`."""
    target: str = ""

    @property
    def estimate(self) -> int:
        """Estimated prompt tokens, rather too high: few tokens are shorter than three characters."""
        chars = len(self.instructions) + len(self.material)
        wide = 0 if self.material.isascii() else sum(char > "\u2e7f" for char in self.material)
        return (chars - wide) // 3 + 2 * wide + 100


@record
class Completion:
    text: str
    tokens_in: int
    tokens_out: int


@record
class ModelError:
    """An expected failure. `limited` means too many requests, `empty` a response without text, `unreadable` a
    response in the wrong format."""

    kind: Literal["temporary", "limited", "permanent", "empty", "unreadable"]
    failure: Failure
    tokens_in: int = 0
    tokens_out: int = 0
    rest: Millis | None = None
    """How long the model asks us to wait."""


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_remote(self) -> bool:
        """Whether a call sends text to a third party."""
        ...

    async def ask(self, prompt: Prompt) -> Completion | ModelError: ...

    async def close(self) -> None: ...


_TITLE = re.compile(r"^Title: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
MAX_ANSWER = 1_000_000


class MockModel:
    name = "mock"
    is_remote = False

    async def ask(self, prompt: Prompt) -> Completion | ModelError:
        text = orjson.dumps(_WRITERS.get(prompt.schema_name, _summary)(prompt)).decode()
        return Completion(text, prompt.estimate, len(text) // 4)

    async def close(self) -> None:
        """Nothing to close."""


def _summary(prompt: Prompt) -> dict[str, object]:
    title = _title(prompt)
    return {"one_line": f"A mock line about {title}", "summary": f"A mock summary of “{title}”."}


def _digest(prompt: Prompt) -> dict[str, object]:
    articles = _NUMBERED.findall(prompt.material)[:5]
    sentences = [{"text": f"A mock report of {title}.", "sources": [int(number)]} for number, title in articles]
    return {"paragraphs": [{"heading": "Mock digest", "sentences": sentences}]}


def _answer(prompt: Prompt) -> dict[str, object]:
    articles = _NUMBERED.findall(prompt.material)[:3]
    claims = [
        {"text": f"A mock answer from {title}.", "quote": title.rpartition(" (")[0], "sources": [int(number)]}
        for number, title in articles
    ]
    return {"answered": bool(claims), "claims": claims}


def _framing(prompt: Prompt) -> dict[str, object]:
    """Scores derived from the title, so that they differ between entries but stay the same for each."""
    title = _title(prompt)
    value = sum(map(ord, title)) % 101 / 100
    score = {"score": value, "reason": "A mock reason", "quote": title}
    return {
        "title_corrected": f"A mock title for {title}",
        "title_correction_reason": "A mock change",
        "description_corrected": f"A mock teaser of {title}.",
        "description_correction_reason": "",
        "text_corrected": f"A mock text of {title}.",
        "category": "other",
        **dict.fromkeys((*SCORES, "overall"), score),
    }


def _translation(prompt: Prompt) -> dict[str, object]:
    return {"translations": [{"id": id_, "text": text} for id_, text in prompt.texts.items()]}


def _title(prompt: Prompt) -> str:
    match = _TITLE.search(prompt.material)
    return match[1] if match else "an article"


_WRITERS: Mapping[str, Callable[[Prompt], dict[str, object]]] = {
    "answer": _answer,
    "digest": _digest,
    "framing": _framing,
    "translation": _translation,
}


class PluginModel:
    is_remote = True
    """It may send texts anywhere, so each user is asked."""

    def __init__(self, name: str, ask: Callable[[Mapping[str, Any]], Awaitable[Any]]) -> None:
        self.name = name
        self._ask = ask

    async def ask(self, prompt: Prompt) -> Completion | ModelError:
        request = {
            "instructions": prompt.instructions,
            "material": prompt.material,
            "schema": dict(prompt.schema),
            "most_tokens": prompt.most_tokens,
            "temperature": prompt.temperature,
        }
        try:
            text = await self._ask(request)
        except Exception as error:
            failure = Failure(FailureCode.PLUGIN_FAILED, {"name": self.name, "error": str(error)})
            return ModelError("temporary", failure)
        return Completion(text, prompt.estimate, len(text) // 3)

    async def close(self) -> None:
        pass


def checked_answer(answer: object) -> str:
    if not isinstance(answer, str) or not 0 < len(answer) <= MAX_ANSWER:
        raise ValueError(f"ask_model must return a text of at most {MAX_ANSWER} characters")
    return answer
