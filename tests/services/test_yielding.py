"""New texts are cleaned on the event loop, and pages come first."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.refresh.dedupe import NewEntry
from reedbed.services.refresh.diff import Writing
from tests.harness import RuntimeHarness

TEXTS = 10
"""Of 4,800 characters: six of them are a stretch."""


@pytest.mark.parametrize(("requests_in_progress", "turns"), [(0, 2), (1, TEXTS)])
async def test_others_have_their_turn_after_a_stretch_or_after_each_text_while_a_page_is_asked_for(
    harness: RuntimeHarness, requests_in_progress: int, turns: int
) -> None:
    turn = 0

    async def others() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    def write(*_: Any) -> int:
        return turn

    harness.runtime.metrics.requests_in_progress = requests_in_progress
    about: Any = None  # handed through to `write`, which needs neither
    writing = Writing(harness.runtime, about, about)
    entry = ParsedEntry(guid="a", url=None, title="One", content="reeds " * 800)
    new = NewEntry(entry, guid="a", url=None, change_hash="", sort_at=0)
    running = asyncio.create_task(others())
    written = [await writing.out(write, new) for _ in range(TEXTS)]
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert len(set(written)) == turns
