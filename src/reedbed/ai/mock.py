"""A model for development: answers at once, always the same, sends nothing anywhere."""

import re

import orjson

from reedbed.ai.model import Answer, Prompt, Trouble

_TITLE = re.compile(r"^Title: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


class MockModel:
    name = "mock"
    is_remote = False

    async def ask(self, prompt: Prompt) -> Answer | Trouble:
        text = orjson.dumps(_digest(prompt) if prompt.schema_name == "digest" else _summary(prompt)).decode()
        return Answer(text, prompt.estimate, len(text) // 4)

    async def close(self) -> None:
        """Nothing is open."""


def _summary(prompt: Prompt) -> dict[str, str]:
    title = _TITLE.search(prompt.material)
    named = title[1] if title else "an article"
    return {"one_line": f"A mock line about {named}", "summary": f"A mock summary of “{named}”."}


def _digest(prompt: Prompt) -> dict[str, object]:
    found = _NUMBERED.findall(prompt.material)[:5]
    sentences = [{"text": f"A mock report of {title}.", "sources": [int(number)]} for number, title in found]
    return {"paragraphs": [{"heading": "Mock digest", "sentences": sentences}]}
