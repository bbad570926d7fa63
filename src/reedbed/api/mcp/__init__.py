"""The door for assistants: the Model Context Protocol over HTTP, on the same services as the page."""

from fastapi import FastAPI
from starlette.routing import Route

from reedbed.api.mcp.routes import McpEndpoint

PATH = "/mcp"


def register(app: FastAPI) -> None:
    # Not a function but an application of its own: what is said inside is the protocol's, not ours.
    app.router.routes.append(Route(PATH, McpEndpoint(), include_in_schema=False))
