"""The application on a real socket, in the loop of the test: for whoever calls it from outside."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI


def listener() -> socket.socket:
    """Bound already, so that its address is known before there is an application."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound


def url_of(bound: socket.socket) -> str:
    return f"http://127.0.0.1:{bound.getsockname()[1]}"


@asynccontextmanager
async def served(app: FastAPI, bound: socket.socket) -> AsyncIterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
    serving = asyncio.create_task(server._serve([bound]))
    while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await serving
