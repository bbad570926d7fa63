"""Highlights as Markdown: a heading for each entry, its passages as quotes, the notes below them."""

import re
from collections.abc import AsyncGenerator

from reedbed.domain.highlights import Highlight
from reedbed.domain.texts import writable
from reedbed.domain.times import rfc3339

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")
_ADDRESS = re.compile(r"https?://[^\s<>]+\Z")


async def markdown(highlights: AsyncGenerator[Highlight]) -> AsyncGenerator[bytes]:
    """Neighbours from one entry share its heading."""
    yield b"# Highlights\n"
    heading = ""
    async for highlight in highlights:
        title = _heading(highlight)
        if title != heading:
            heading = title
            yield f"\n## {heading}\n".encode()
        yield _passage(highlight).encode()


def _heading(highlight: Highlight) -> str:
    title = _plain(highlight.entry_title) or "Untitled"
    address = highlight.entry_url or ""
    return f"[{title}](<{address}>)" if _ADDRESS.match(address) else title


def _passage(highlight: Highlight) -> str:
    lines = [line.strip() for line in writable(highlight.passage.quote).splitlines()]
    quote = "\n".join(f"> {_escaped(line)}".rstrip() for line in lines)
    note = f"\n{writable(highlight.note)}\n" if highlight.note else ""
    return f"\n{quote}\n{note}\n*{rfc3339(highlight.created_at)[:10]}*\n"


def _plain(text: str) -> str:
    return _escaped(" ".join(writable(text).split()))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
