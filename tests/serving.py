"""Servers on real sockets: the application in the loop of the test, and others in a loop of their own."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TypeVar

import uvicorn
from aiohttp import web
from fastapi import FastAPI

T = TypeVar("T")


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


@contextmanager
def in_thread(server: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """In a loop of its own, for tests with real processes; it may be spoken to from here all the while."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=type(server).__name__, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def close(runner: web.AppRunner) -> None:
    """Nobody new at first: who is half let in while a server closes is leaked by asyncio, with a warning."""
    loop = asyncio.get_running_loop()
    for site in runner.sites:
        for listening in site._server.sockets:
            loop.remove_reader(listening.fileno())
    await asyncio.sleep(0.01)
    await runner.cleanup()
