"""The Model Context Protocol over HTTP, for AI assistants."""

from fastapi import FastAPI
from starlette.routing import Route

from reedbed.api.mcp.routes import McpEndpoint

PATH = "/mcp"


def register(app: FastAPI) -> None:
    # A separate ASGI application, because the MCP library writes the responses itself.
    app.router.routes.append(Route(PATH, McpEndpoint(), include_in_schema=False))
