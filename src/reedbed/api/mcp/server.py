"""The MCP server: one instance per message, acting for one caller."""

import logging
from typing import Any

import mcp_types as protocol
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from reedbed import __version__
from reedbed.api.mcp.tools import NOTICE, TOOLS, Refusal, Tool, call
from reedbed.domain.users import Caller
from reedbed.http.middleware import BODY_LIMIT
from reedbed.services.runtime import Runtime

INSTRUCTIONS = (
    "Reedbed is a feed reader; these tools work on the account of the person whose token you have. "
    f"{NOTICE} Lists come in pages: pass next_cursor back as cursor."
)

# The library logs the start and end of every message.
logging.getLogger("mcp").setLevel(logging.WARNING)


async def handle_message(runtime: Runtime, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
    """Handle one message with a new server that is bound to the caller."""
    manager = StreamableHTTPSessionManager(
        _create_server(runtime, caller), json_response=True, stateless=True, max_request_body_size=BODY_LIMIT
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def _create_server(runtime: Runtime, caller: Caller) -> Server[Any]:
    async def list_tools(
        _: ServerRequestContext[Any], __: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[_tool_description(tool) for tool in TOOLS if tool.is_for(caller)])

    async def call_tool(
        _: ServerRequestContext[Any], params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        return _result(await call(runtime, caller, params.name, params.arguments or {}))

    return Server(
        "reedbed",
        version=__version__,
        title="Reedbed",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _tool_description(tool: Tool) -> protocol.Tool:
    return protocol.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.params.model_json_schema(),
        annotations=protocol.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.changes,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=True,
        ),
    )


def _result(outcome: dict[str, Any] | Refusal) -> protocol.CallToolResult:
    if isinstance(outcome, Refusal):
        return protocol.CallToolResult(content=[protocol.TextContent(text=outcome.reason)], is_error=True)
    text = protocol.TextContent(text=orjson.dumps(outcome).decode())
    return protocol.CallToolResult(content=[text], structured_content=outcome)
