"""A translator on loopback that speaks the protocols of OpenAI, LibreTranslate and DeepL.

It changes every word: small words become words of the target language, names get another ending. What `spoil` returns
for a text is sent instead, so that it misbehaves as a test wants it to.
"""

import json
import re
import zlib
from collections.abc import Callable
from typing import Any, Self

from aiohttp import web

from tests.serving import close

WORDS = {
    "de": "der die und nicht mit für auf werden auch eine sich aus dem wird nach noch über hat".split(),  # noqa: SIM905
    "en": "the and that with this from have which they but not will after what his are you why".split(),  # noqa: SIM905
    "fr": "nous vous les des dans pour avec cette sont qui est une pas plus par sur ont été".split(),  # noqa: SIM905
}
_PART = re.compile(r"⟦/?\d+⟧|<[^>]*>|&\w+;|[^\W\d_][\w’'-]*")
Spoil = Callable[[str, str], str | None]


def translated(text: str, language: str) -> str:
    words = WORDS[language]

    def change(found: re.Match[str]) -> str:
        word = found[0]
        if word[0] in "⟦<&":
            return word
        if word[0].isupper() and len(word) > 3:
            return f"{word}en"
        new = words[zlib.crc32(word.lower().encode()) % len(words)]
        return new if new != word else words[0]

    return _PART.sub(change, text)


class TranslationServer:
    def __init__(self) -> None:
        self.spoil: Spoil = lambda text, good: good
        """Gets a text and its good translation; None leaves the text out of the answer."""
        self.status = 200
        self.calls: list[dict[str, Any]] = []
        self.texts: list[str] = []
        """All texts that were sent."""
        self.keys: list[str] = []
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=10_000_000)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/translate", self._libretranslate)
        app.router.add_post("/v2/translate", self._deepl)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await close(self._runner)

    def _translate(self, text: str, language: str) -> str | None:
        self.texts.append(text)
        return self.spoil(text, translated(text, language.lower()[:2]))

    async def _chat(self, request: web.Request) -> web.Response:
        question = await request.json()
        self.calls.append(question)
        self.keys.append(request.headers.get("Authorization", ""))
        task, material = (message["content"] for message in question["messages"][:2])
        target = {"German": "de", "English": "en", "French": "fr"}[re.findall(r"into (\w+)\.", task)[0]]
        texts = json.loads(material.split("\n")[1])
        answers = [(id_, self._translate(text, target)) for id_, text in texts.items()]
        items = [{"id": id_, "text": text} for id_, text in answers if text is not None]
        content = json.dumps({"translations": items})
        body = {
            "choices": [{"message": {"content": content}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 80},
        }
        return web.json_response(body, status=self.status)

    async def _libretranslate(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.calls.append(body)
        self.keys.append(body.get("api_key", ""))
        texts = [self._translate(text, body["target"]) or "" for text in body["q"]]
        return web.json_response({"translatedText": texts}, status=self.status)

    async def _deepl(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.calls.append(body)
        self.keys.append(request.headers.get("Authorization", ""))
        texts = [{"text": self._translate(text, body["target_lang"]) or ""} for text in body["text"]]
        return web.json_response({"translations": texts}, status=self.status)
