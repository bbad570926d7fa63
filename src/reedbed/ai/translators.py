"""Clients for translation services: LibreTranslate and DeepL. Each is used like a model.

The URL is the operator's own setting, as that of the model is. Redirects are rejected: the key is sent to the
configured host only.
"""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import TYPE_CHECKING, Any

import orjson

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.ai.openai import MAX_BYTES, retry_after
from reedbed.ai.responses import items_of, json_object, mapping
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.translations import MARKER

if TYPE_CHECKING:
    import aiohttp

CHARS_PER_TOKEN = 4
_START = re.compile(r'<(g|x) id="?(\d{1,4})"?\s*(/?)>', re.IGNORECASE)
_END = re.compile(r"</(g|x)>", re.IGNORECASE)
_LANGUAGES_OF_DEEPL = {"en": "EN-GB", "pt": "PT-PT", "zh": "ZH-HANS", "no": "NB"}
_QUOTA_SPENT = 456


class _TranslationService:
    is_remote = True

    def __init__(self, name: str, *, base_url: str, api_key: str = "", timeout: float = 30) -> None:
        self.name = name
        self._url = base_url.rstrip("/")
        self._key = api_key
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, prompt: Prompt) -> Completion | ModelError:
        import aiohttp

        try:
            status, headers, body = await self._post(prompt)
        except TimeoutError:
            return ModelError("temporary", Failure(FailureCode.MODEL_TIMEOUT, {"seconds": f"{self._timeout:g}"}))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return ModelError("temporary", Failure(FailureCode.MODEL_UNREACHABLE, {"error": type(error).__name__}))
        if status != 200:
            return _error(status, headers)
        texts = self._texts(body)
        if texts is None or len(texts) != len(prompt.texts):
            return ModelError("unreadable", Failure(FailureCode.MODEL_UNREADABLE_ANSWER))
        items = [{"id": id_, "text": to_markers(text)} for id_, text in zip(prompt.texts, texts, strict=True)]
        tokens = sum(map(len, prompt.texts.values())) // CHARS_PER_TOKEN
        return Completion(orjson.dumps({"translations": items}).decode(), tokens + 1, 0)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, prompt: Prompt) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp

        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json", **self._headers()}
            self._session = aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=self._timeout))
        path, body = self._request(prompt)
        async with self._session.post(self._url + path, data=orjson.dumps(body), allow_redirects=False) as response:
            content = b""
            while len(content) < MAX_BYTES and (chunk := await response.content.read(MAX_BYTES - len(content))):
                content += chunk
            return response.status, response.headers, content

    def _headers(self) -> Mapping[str, str]:
        return {}

    def _request(self, prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
        raise NotImplementedError

    def _texts(self, body: bytes) -> Sequence[str] | None:
        raise NotImplementedError


class LibreTranslate(_TranslationService):
    """LibreTranslate and programs with its interface."""

    def _request(self, prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
        body = {
            "q": [to_elements(text) for text in prompt.texts.values()],
            "source": _short(prompt.source) or "auto",
            "target": _short(prompt.target),
            "format": "html",
        }
        return "/translate", {**body, "api_key": self._key} if self._key else body

    def _texts(self, body: bytes) -> Sequence[str] | None:
        return _strings(json_object(body.decode("utf-8", "replace")).get("translatedText"))


class DeepL(_TranslationService):
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"DeepL-Auth-Key {self._key}"}

    def _request(self, prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
        target = _LANGUAGES_OF_DEEPL.get(prompt.target, prompt.target.upper())
        source = {"source_lang": _short(prompt.source).upper()} if prompt.source else {}
        texts = [to_elements(text) for text in prompt.texts.values()]
        return "/v2/translate", {"text": texts, "target_lang": target, "tag_handling": "xml", **source}

    def _texts(self, body: bytes) -> Sequence[str] | None:
        items = items_of(json_object(body.decode("utf-8", "replace")).get("translations"))
        return _strings([mapping(item).get("text") for item in items])


def to_elements(text: str) -> str:
    """A text with markers as markup, which these services keep."""
    paired = {number for slash, number in MARKER.findall(text) if slash}
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def element(found: "re.Match[str]") -> str:
        if found[1]:
            return "</g>"
        return f'<g id="{found[2]}">' if found[2] in paired else f'<x id="{found[2]}"></x>'

    return MARKER.sub(element, escaped)


def to_markers(markup: str) -> str:
    """The reverse of `to_elements`. Other tags stay as they are, and the check of the block rejects them."""
    parts: list[str] = []
    opened: list[tuple[str, str]] = []
    position = 0
    while position < len(markup):
        start, end = _START.match(markup, position), _END.match(markup, position)
        if start:
            parts.append(f"⟦{start[2]}⟧")
            if not start[3]:
                opened.append((start[1].lower(), start[2]))
            position = start.end()
        elif end:
            kind, number = opened.pop() if opened else ("g", "0")
            parts.append(f"⟦/{number}⟧" if kind == "g" else "")
            position = end.end()
        else:
            following = markup.find("<", position + 1)
            parts.append(unescape(markup[position : following if following != -1 else len(markup)]))
            position = following if following != -1 else len(markup)
    return "".join(parts)


def _error(status: int, headers: Mapping[str, str]) -> ModelError:
    if status == 429:
        rest = retry_after(headers.get("Retry-After", ""))
        return ModelError("limited", Failure(FailureCode.MODEL_RATE_LIMITED), rest=rest)
    if status in (401, 403):
        return ModelError("temporary", Failure(FailureCode.MODEL_KEY_REFUSED, {"status": status}))
    if status in (_QUOTA_SPENT, 408, 425) or status >= 500 or 300 <= status < 400:
        return ModelError("temporary", Failure(FailureCode.MODEL_STATUS, {"status": status}))
    return ModelError("permanent", Failure(FailureCode.MODEL_REQUEST_REFUSED, {"status": status}))


def _short(code: str) -> str:
    return code.partition("-")[0].lower()


def _strings(value: Any) -> Sequence[str] | None:
    items = items_of(value)
    texts = [item for item in items if isinstance(item, str)]
    return texts if isinstance(value, list) and len(texts) == len(items) else None
