"""What a model is to the rest of the house: a question goes in, an answer or a trouble comes out."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

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
class Answer:
    text: str
    tokens_in: int
    tokens_out: int


@record
class Trouble:
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

    async def ask(self, prompt: Prompt) -> Answer | Trouble: ...

    async def close(self) -> None: ...
