"""Any endpoint that speaks as OpenAI's does: Cerebras, OpenRouter, OpenAI, Ollama, vLLM and others.

Its address is the operator's own setting and not a stranger's text, so it may lie in a private network and
the guard for feeds does not apply. Redirects are refused: the key goes to the configured host only.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.domain.times import SECOND, Millis

if TYPE_CHECKING:
    import aiohttp

PRESETS: Mapping[str, str] = {
    "cerebras": "https://api.cerebras.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
MAX_BYTES = 1_000_000
_NO_SUCH_FORMAT = ("response_format", "json_schema", "structured output")


class OpenAiModel:
    is_remote = True

    def __init__(self, name: str, *, base_url: str, api_key: str = "", timeout: float = 30) -> None:
        self.name = name
        self._url = f"{PRESETS.get(base_url, base_url).rstrip('/')}/chat/completions"
        self._key = api_key
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._knows_schemas = True

    async def ask(self, prompt: Prompt) -> Completion | ModelError:
        import aiohttp

        try:
            status, headers, body = await self._post(prompt)
            if status == 400 and self._knows_schemas and _refuses_schema(body):
                self._knows_schemas = False  # older servers know JSON, but no schema of it
                status, headers, body = await self._post(prompt)
        except TimeoutError:
            return ModelError("temporary", f"The model did not answer within {self._timeout:g} s.")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return ModelError("temporary", f"The model could not be reached: {type(error).__name__}.")
        return _read(status, headers, body)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, prompt: Prompt) -> tuple[int, Mapping[str, str], bytes]:
        async with self._open().post(self._url, data=self._question(prompt), allow_redirects=False) as answer:
            body = await answer.content.read(MAX_BYTES)
            while len(body) < MAX_BYTES and (more := await answer.content.read(MAX_BYTES - len(body))):
                body += more
            return answer.status, answer.headers, body

    def _open(self) -> "aiohttp.ClientSession":
        import aiohttp

        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                headers=headers, timeout=aiohttp.ClientTimeout(total=self._timeout)
            )
        return self._session

    def _question(self, prompt: Prompt) -> bytes:
        form: dict[str, Any] = {"type": "json_object"}
        if self._knows_schemas:
            schema = {"name": prompt.schema_name, "strict": True, "schema": prompt.schema}
            form = {"type": "json_schema", "json_schema": schema}
        return orjson.dumps(
            {
                "model": self.name,
                "messages": [
                    {"role": "system", "content": prompt.instructions},
                    {"role": "user", "content": prompt.material},
                ],
                "temperature": prompt.temperature,
                "max_tokens": prompt.most_tokens,
                "response_format": form,
            }
        )


def _read(status: int, headers: Mapping[str, str], body: bytes) -> Completion | ModelError:
    if status == 429:
        return ModelError(
            "limited", "The model asks to slow down.", rest=_rest(headers.get("Retry-After", ""))
        )
    if status in (401, 403):
        # The key is wrong for every question: the operator mends it, and nothing queued is lost meanwhile.
        return ModelError("temporary", f"The model refuses the key (HTTP {status}).")
    if status >= 500 or status in (408, 425) or 300 <= status < 400:
        return ModelError("temporary", f"The model answered with HTTP {status}.")
    if status != 200:
        return ModelError("permanent", f"The model refuses the question (HTTP {status}).")
    return _words(body)


def _words(body: bytes) -> Completion | ModelError:
    try:
        said = orjson.loads(body)
        text = said["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ModelError("unreadable", "The model's answer could not be read.")
    tokens_in, tokens_out = _count(said, "prompt_tokens"), _count(said, "completion_tokens")
    if not isinstance(text, str) or not text.strip():
        return ModelError("empty", "The model answered nothing.", tokens_in, tokens_out)
    return Completion(text, tokens_in, tokens_out)


def _count(said: Any, name: str) -> int:
    try:
        value = said["usage"][name]
    except (KeyError, TypeError):
        return 0
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def _rest(seconds: str) -> Millis | None:
    return int(seconds) * SECOND if seconds.isdecimal() and len(seconds) < 6 else None


def _refuses_schema(body: bytes) -> bool:
    said = body[:4_000].decode("utf-8", "replace").lower()
    return any(word in said for word in _NO_SUCH_FORMAT)
