"""Every tool: its name, what it is called with, what the token must allow, and who answers."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import ValidationError

from reedbed.api.mcp import changing, reading
from reedbed.api.mcp.wishes import Wish
from reedbed.domain.accounts import Caller, Scope
from reedbed.domain.errors import Refused, Unavailable
from reedbed.domain.records import record
from reedbed.services.assistants import note_call
from reedbed.services.runtime import Runtime

Answer = Callable[[Runtime, Caller, Any], Awaitable[dict[str, Any]]]


@record
class Tool:
    name: str
    title: str
    description: str
    wish: type[Wish]
    answer: Answer
    changes: bool = False

    def is_for(self, caller: Caller) -> bool:
        return (Scope.WRITE if self.changes else Scope.READ) in caller.scopes


@record
class Refusal:
    reason: str


TOOLS = (
    Tool("list_folders", "Folders", "All folders, each with its path.", Wish, reading.list_folders),
    Tool(
        "list_feeds",
        "Feeds",
        "What the reader follows, with the number of unread entries.",
        reading.Feeds,
        reading.list_feeds,
    ),
    Tool(
        "list_entries",
        "Entries",
        "A list of entries with short previews: unread ones unless another view is asked for.",
        reading.Entries,
        reading.entries,
    ),
    Tool(
        "search_entries",
        "Search",
        "Entries that match a full-text query, with the place that matches.",
        reading.Search,
        reading.search,
    ),
    Tool(
        "read_entry",
        "Read an entry",
        "The text of one entry. Long ones come in pieces. Reading does not mark it read.",
        reading.OneEntry,
        reading.read_entry,
    ),
    Tool(
        "read_digest",
        "Read a digest",
        "A digest as Markdown: the newest, or one by its id.",
        reading.OneDigest,
        reading.read_digest,
    ),
    Tool(
        "mark_entries",
        "Mark entries",
        "Set read, starred or later on entries, or put tags on them. What is left out stays as it is.",
        changing.Marks,
        changing.mark_entries,
        changes=True,
    ),
    Tool(
        "subscribe",
        "Follow a feed",
        "Follow the feed at an address, or the one that a page names.",
        changing.NewFeed,
        changing.subscribe,
        changes=True,
    ),
    Tool(
        "ask_digest",
        "Ask for a digest",
        "Have a digest of the last day written; read it with read_digest when its status is ready.",
        changing.NewDigest,
        changing.ask_digest,
        changes=True,
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


async def call(
    runtime: Runtime, caller: Caller, name: str, arguments: Mapping[str, Any]
) -> dict[str, Any] | Refusal:
    """What was asked for, or the reason why not; either way it is in the event log."""
    tool = BY_NAME.get(name)
    if tool is None:
        return Refusal("There is no such tool.")
    answer = await _answered(runtime, caller, tool, arguments)
    await note_call(runtime, caller, tool.name, refused=isinstance(answer, Refusal))
    return answer


async def _answered(
    runtime: Runtime, caller: Caller, tool: Tool, arguments: Mapping[str, Any]
) -> dict[str, Any] | Refusal:
    if not tool.is_for(caller):
        return Refusal("This token may only read. Its owner can make one with the write scope.")
    try:
        return await tool.answer(runtime, caller, tool.wish.model_validate(arguments))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return Refusal(f"{place}: {first['msg']}")
    except (Refused, Unavailable) as error:
        return Refusal(error.message)
