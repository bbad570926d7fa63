"""What assistants do here is written down, and what they read is plain text."""

import asyncio

from reedbed.domain.accounts import Caller
from reedbed.domain.entries import Entry
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.store import events

CALL = "assistant_call"


async def note_call(runtime: Runtime, caller: Caller, tool: str, *, refused: bool) -> None:
    detail = {"tool": tool, "token_id": caller.token_id, "refused": refused}
    async with runtime.db.write() as tx:
        await events.note(tx, runtime.now(), CALL, caller.user_id, detail)


async def entry_text(entry: Entry) -> str:
    """The whole article where it was fetched."""
    return await asyncio.to_thread(clean_text, entry.full_content or entry.content)
