"""A model that a plugin provides."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.domain.failures import Failure, FailureCode

MAX_ANSWER = 1_000_000


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
