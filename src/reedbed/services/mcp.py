"""MCP: record the tool calls of assistants, and give them entries as plain text."""

import asyncio

from reedbed.domain.articles import content_for_programs
from reedbed.domain.entries import Entry
from reedbed.domain.users import Caller
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.store import sidebar, users

CALL = "assistant_call"


async def record_assistant_call(runtime: Runtime, caller: Caller, tool: str, *, refused: bool) -> None:
    detail = {"tool": tool, "token_id": caller.token_id, "refused": refused}
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), CALL, caller.user_id, detail)


async def entry_text(runtime: Runtime, user_id: int, entry: Entry) -> str:
    """The whole article if this user reads the feed's full articles, else the feed's text."""
    feed_id = entry.row.feed_id
    async with runtime.db.read() as tx:
        full_text = (await sidebar.origins(tx, user_id, [feed_id]))[feed_id].full_text
    return await asyncio.to_thread(lambda: clean_text(content_for_programs(entry, full_text)))
