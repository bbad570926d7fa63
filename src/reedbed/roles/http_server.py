"""The HTTP server of a role: it ends with an event, and whoever has come by then is answered."""

import asyncio
import socket
import struct
from array import array
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from reedbed.domain.hints import Hint
from reedbed.roles.build import ended
from reedbed.services.runtime import Runtime

if TYPE_CHECKING:
    from starlette.types import ASGIApp

KEEP_ALIVE_SECONDS = 30
LAST_WORDS_SECONDS = 1.0
"""For who has connected and said nothing yet; a browser also opens connections that it may never need."""
LOOK_SECONDS = 0.01
SO_ATTACH_FILTER = 26
NOTHING_PASSES = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A program for Linux's packet filter: return 0, the number of bytes that it lets through."""


async def serve_http(
    application: "ASGIApp", runtime: Runtime, listener: socket.socket, stop: asyncio.Event, *, grace: int
) -> None:
    config = uvicorn.Config(
        application,
        log_config=None,
        lifespan="off",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config, runtime, stop)
    # `serve` would take the signals for itself: one event stops web and worker together.
    await server._serve([listener])  # pyright: ignore[reportPrivateUsage]


class _Server(uvicorn.Server):
    """The original looks every tenth of a second whether it should end, and would look no more where the
    clock that sleep goes by was set back. And it hangs up on who has connected and not yet been heard."""

    def __init__(self, config: uvicorn.Config, runtime: Runtime, stop: asyncio.Event) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._stop = stop

    async def main_loop(self) -> None:
        ticking = asyncio.create_task(super().main_loop())
        await self._stop.wait()
        await ended(ticking)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._let_in_the_last(sockets or [])
        # Open streams end themselves, else they would use up the grace.
        self._runtime.bus.deliver(Hint("stopping"))
        await super().shutdown(sockets)

    async def _let_in_the_last(self, listeners: Sequence[socket.socket]) -> None:
        """Who comes from here on is refused, and tries another process; who came before must not be."""
        for listener in listeners:
            _take_nobody_new(listener)
        waiting = [caller for listener in listeners for caller in _at_the_door(listener)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for caller in waiting:
            with suppress(OSError):
                await loop.connect_accepted_socket(self._exchange, caller)
        await asyncio.sleep(LOOK_SECONDS)  # whom the loop has just taken in stands in no list before its turn
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                while any(map(_has_said_nothing, self.server_state.connections)):  # noqa: ASYNC110  uvicorn's
                    await asyncio.sleep(LOOK_SECONDS)

    def _exchange(self) -> asyncio.Protocol:
        kind: Any = self.config.http_protocol_class
        return kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def _has_said_nothing(exchange: Any) -> bool:
    return exchange.cycle is None  # no request has begun


def _take_nobody_new(listener: socket.socket) -> None:
    """Who knocks between our last look and the end of the listener would be let in by the system, and hung
    up on. Linux does not hear them from here on: they knock again after a second, and are refused."""
    program = array("B", NOTHING_PASSES)
    address, _ = program.buffer_info()
    with suppress(OSError):  # elsewhere that moment stays
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, address))


def _at_the_door(listener: socket.socket) -> Generator[socket.socket]:
    """Those whose connection stands and whom the loop has not seen yet."""
    listener.setblocking(False)
    with suppress(OSError):
        while True:
            caller, _ = listener.accept()
            caller.setblocking(False)
            yield caller
