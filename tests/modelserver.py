"""A model on loopback that speaks OpenAI's protocol and answers as it is told.

Each question takes the next answer of the script; when the script is over, the model does its work: it
answers with a summary, a digest, an analysis or an answer to what it was given.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from reedbed.ai.openai import OpenAiModel
from reedbed.domain.framing import SCORES
from tests.serving import close

Question = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One scripted answer; `text` is what the model says, `raw` the whole body instead."""

    status: int = 200
    text: str | None = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    usage: tuple[int, int] | None = (100, 20)


def summary(one_line: str = "A line.", text: str = "A summary in words.") -> str:
    return json.dumps({"one_line": one_line, "summary": text})


def framing(title: str = "A neutral title", *, overall: Any = 0.5, quote: str = "", **said: Any) -> str:
    """A whole analysis; `said` replaces parts of it."""
    score = {"score": 0.25, "reason": "Words that push", "quote": quote}
    answer = {
        "title_corrected": title,
        "title_correction_reason": "Alarm taken out",
        "description_corrected": f"{title}, in short.",
        "description_correction_reason": "Nothing left out",
        "text_corrected": f"{title}, calmly told.",
        "category": "politics",
        **dict.fromkeys(SCORES, score),
        "overall": {"score": overall, "reason": "Rather loud", "quote": ""},
    }
    return json.dumps({**answer, **said})


class ModelServer:
    def __init__(self) -> None:
        self.script: deque[Reply] = deque()
        self.questions: list[Question] = []
        self.keys: list[str | None] = []
        self.behave: Callable[[Question], Reply] = obey_the_task
        self.in_flight = 0
        self.most_in_flight = 0
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        return len(self.questions)

    def model(self, name: str = "scripted", **options: Any) -> OpenAiModel:
        return OpenAiModel(name, **{"base_url": self.url, "api_key": "a-key", "timeout": 5, **options})

    def say(self, *replies: Reply) -> None:
        self.script.extend(replies)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await close(self._runner)

    async def _answer(self, request: web.Request) -> web.Response:
        question = await request.json()
        self.questions.append(question)
        self.keys.append(request.headers.get("Authorization"))
        reply = self.script.popleft() if self.script else self.behave(question)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(reply.wait)
        finally:
            self.in_flight -= 1
        body = reply.raw if reply.raw is not None else _body(reply)
        return web.Response(status=reply.status, body=body, headers=reply.headers, content_type="application/json")


def obey_the_task(question: Question) -> Reply:
    """A model that does what it was asked by its operator."""
    task, material = (message["content"] for message in question["messages"][:2])
    title = re.search(r"^Title: (.*)$", material, re.MULTILINE)
    if "title_corrected" in task:
        assert title is not None
        return Reply(text=framing(f"Calm: {title[1]}", quote=title[1]))
    if "paragraphs" in task:
        numbers = [int(number) for number in re.findall(r"^\[(\d+)\]", material, re.MULTILINE)]
        sentences = [{"text": "A report.", "sources": [number]} for number in numbers[:4]]
        return Reply(text=json.dumps({"paragraphs": [{"heading": "News", "sentences": sentences}]}))
    if '"claims"' in task:
        titles = re.findall(r"^\[(\d+)\] (.*) \(", material, re.MULTILINE)
        claims = [{"text": "A claim.", "quote": title, "sources": [int(number)]} for number, title in titles[:3]]
        return Reply(text=json.dumps({"answered": bool(claims), "claims": claims}))
    if '"unsure"' in task:
        numbers = re.findall(r"^\[(\d+)\]$", material, re.MULTILINE)
        return Reply(text=json.dumps(dict.fromkeys(numbers, "unsure")))
    assert title is not None
    return Reply(text=summary(f"About {title[1]}", f"An article called {title[1]}."))


def _body(reply: Reply) -> bytes:
    said: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": reply.text}}]}
    if reply.usage is not None:
        said["usage"] = {"prompt_tokens": reply.usage[0], "completion_tokens": reply.usage[1]}
    return json.dumps(said).encode()
