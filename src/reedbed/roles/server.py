"""The HTTP server of a role: uvicorn, stopped by an event.

It stops in three steps: `/readyz` answers 503 while a load balancer still sends requests; then the listener is
closed; then every accepted request is answered, within a grace period.
"""

import asyncio
import socket
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvicorn

from reedbed.domain.live import ChangeEvent
from reedbed.roles.build import ended
from reedbed.roles.connections import KEEP_ALIVE_SECONDS, ClientConnection, ConnectionLimits, ConnectionPool
from reedbed.services.runtime import Runtime

if TYPE_CHECKING:
    from starlette.types import ASGIApp

CHECK_SECONDS = 1.0
FIRST_REQUEST_SECONDS = 1.0
"""On shutdown, for clients that have connected but sent nothing; browsers open connections in advance."""
POLL_SECONDS = 0.01


async def serve_http(
    application: "ASGIApp",
    runtime: Runtime,
    listener: socket.socket,
    stop: asyncio.Event,
    *,
    grace: int,
    drain: int = 0,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008  it cannot be changed
) -> None:
    """Serve until `stop`. Requests are accepted for `drain` seconds more, and then answered within `grace` seconds."""
    protocol = cast(type[asyncio.Protocol], partial(ClientConnection, ConnectionPool(limits)))
    config = uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        log_config=None,
        lifespan="off",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config, runtime, stop, drain)
    # `serve` would install its own signal handlers; here one event stops web and worker together.
    await server._serve([listener])  # pyright: ignore[reportPrivateUsage]


class _Server(uvicorn.Server):
    """uvicorn polls every tenth of a second whether it should stop; this one waits for an event. It also answers
    the connections that the system has accepted and uvicorn has not seen.
    """

    def __init__(self, config: uvicorn.Config, runtime: Runtime, stop: asyncio.Event, drain: int) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._stop = stop
        self._drain = drain

    async def main_loop(self) -> None:
        tasks = [asyncio.create_task(super().main_loop()), asyncio.create_task(self._end_overdue())]
        await self._stop.wait()
        self._runtime.health.stopping = True
        await asyncio.sleep(self._drain)
        for task in tasks:
            await ended(task)

    async def _end_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = loop.time()
            # A busy loop reads nothing: do not count that time against the clients.
            late = max(0.0, now - last - CHECK_SECONDS)
            last = now
            for connection in cast(list[ClientConnection], list(self.server_state.connections)):
                connection.end_if_overdue(now, late)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # A copy keeps the backlog open when uvicorn's listener is closed.
        copies = [listener.dup() for listener in sockets or []]
        for server in self.servers:
            server.close()
        for listener in copies:
            await self._serve_backlog(listener)
        await self._receive_first_requests()
        # Open streams close themselves, else they would use up the grace period.
        self._runtime.bus.deliver(ChangeEvent("stopping"))
        await super().shutdown(sockets)

    async def _serve_backlog(self, listener: socket.socket) -> None:
        kind: Any = self.config.http_protocol_class
        for client in _accept_backlog(listener):
            with suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state),
                    client,
                )

    async def _receive_first_requests(self) -> None:
        """uvicorn closes connections whose first request has not been read yet, so wait for it."""
        await asyncio.sleep(POLL_SECONDS)  # sockets just accepted are listed after the next turn of the loop
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_REQUEST_SECONDS):
                while any(_has_no_request(each) for each in self.server_state.connections):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_SECONDS)


def _has_no_request(connection: Any) -> bool:
    return connection.cycle is None


def _accept_backlog(listener: socket.socket) -> list[socket.socket]:
    """Accept what waits and close the listener at once: a client that connects in between would be reset."""
    clients: list[socket.socket] = []
    with listener, suppress(OSError):
        listener.setblocking(False)
        while True:
            client, _ = listener.accept()
            client.setblocking(False)
            clients.append(client)
    return clients
