"""Client for any endpoint with OpenAI's chat API: Cerebras, OpenRouter, OpenAI, Ollama, vLLM and others.

The URL is the operator's own setting, not user input, so it may be in a private network and the SSRF guard
for feeds does not apply. Redirects are rejected: the key is sent to the configured host only.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.domain.failures import Failure, FailureCode
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
_SCHEMA_TERMS = ("response_format", "json_schema", "structured output")


class OpenAiModel:
    is_remote = True

    def __init__(self, name: str, *, base_url: str, api_key: str = "", timeout: float = 30) -> None:
        self.name = name
        self._url = f"{PRESETS.get(base_url, base_url).rstrip('/')}/chat/completions"
        self._key = api_key
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._supports_schemas = True

    async def ask(self, prompt: Prompt) -> Completion | ModelError:
        import aiohttp

        try:
            status, headers, body = await self._post(prompt)
            if status == 400 and self._supports_schemas and _rejects_schema(body):
                self._supports_schemas = False  # older servers support JSON, but no schema
                status, headers, body = await self._post(prompt)
        except TimeoutError:
            return ModelError("temporary", Failure(FailureCode.MODEL_TIMEOUT, {"seconds": f"{self._timeout:g}"}))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return ModelError("temporary", Failure(FailureCode.MODEL_UNREACHABLE, {"error": type(error).__name__}))
        return _read_response(status, headers, body)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, prompt: Prompt) -> tuple[int, Mapping[str, str], bytes]:
        async with self._get_session().post(
            self._url, data=self._request_body(prompt), allow_redirects=False
        ) as response:
            body = await response.content.read(MAX_BYTES)
            while len(body) < MAX_BYTES and (chunk := await response.content.read(MAX_BYTES - len(body))):
                body += chunk
            return response.status, response.headers, body

    def _get_session(self) -> "aiohttp.ClientSession":
        import aiohttp

        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=self._timeout))
        return self._session

    def _request_body(self, prompt: Prompt) -> bytes:
        response_format: dict[str, Any] = {"type": "json_object"}
        if self._supports_schemas:
            schema = {"name": prompt.schema_name, "strict": True, "schema": prompt.schema}
            response_format = {"type": "json_schema", "json_schema": schema}
        return orjson.dumps(
            {
                "model": self.name,
                "messages": [
                    {"role": "system", "content": prompt.instructions},
                    {"role": "user", "content": prompt.material},
                ],
                "temperature": prompt.temperature,
                "max_tokens": prompt.most_tokens,
                "response_format": response_format,
            }
        )


def _read_response(status: int, headers: Mapping[str, str], body: bytes) -> Completion | ModelError:
    if status == 429:
        rest = retry_after(headers.get("Retry-After", ""))
        return ModelError("limited", Failure(FailureCode.MODEL_RATE_LIMITED), rest=rest)
    if status in (401, 403):
        # Temporary, because a wrong key fails every call: queued work waits until the operator fixes it.
        return ModelError("temporary", Failure(FailureCode.MODEL_KEY_REFUSED, {"status": status}))
    if status >= 500 or status in (408, 425) or 300 <= status < 400:
        return ModelError("temporary", Failure(FailureCode.MODEL_STATUS, {"status": status}))
    if status != 200:
        return ModelError("permanent", Failure(FailureCode.MODEL_REQUEST_REFUSED, {"status": status}))
    return _read_completion(body)


def _read_completion(body: bytes) -> Completion | ModelError:
    try:
        response = orjson.loads(body)
        text = response["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ModelError("unreadable", Failure(FailureCode.MODEL_UNREADABLE_ANSWER))
    tokens_in, tokens_out = (_token_count(response, "prompt_tokens"), _token_count(response, "completion_tokens"))
    if not isinstance(text, str) or not text.strip():
        return ModelError("empty", Failure(FailureCode.MODEL_EMPTY_ANSWER), tokens_in, tokens_out)
    return Completion(text, tokens_in, tokens_out)


def _token_count(response: Any, name: str) -> int:
    try:
        value = response["usage"][name]
    except (KeyError, TypeError):
        return 0
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def retry_after(seconds: str) -> Millis | None:
    return int(seconds) * SECOND if seconds.isdecimal() and len(seconds) < 6 else None


def _rejects_schema(body: bytes) -> bool:
    error_text = body[:4_000].decode("utf-8", "replace").lower()
    return any(term in error_text for term in _SCHEMA_TERMS)
