"""Notices a PostgreSQL that stands still while its connections stand open.

A server that dies refuses connections, and that is heard at once. One that is frozen, or behind a network
that swallows everything, lets a statement wait for ever. A limit on each statement would have to be longer
than the longest honest one, so the server is asked for a sign of life on a connection of its own whenever
something has waited a moment. Without a sign, everything in flight is broken off and nothing new is begun
until one comes.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from reedbed.store.postgresql_faults import asyncpg

log = structlog.get_logger()

LOOK_SECONDS = 0.25
MOMENT_SECONDS = 0.75
"""Nearly everything we ask is answered sooner."""
PATIENCE_SECONDS = 2.0
STALL_SECONDS = 0.5
"""A second chance, for when it was our own loop that stood still."""
LONGEST_WAIT_SECONDS = 30.0
"""For a connection, while the server lives: on a machine with too much to do a late answer beats none."""

LOCKED_SECONDS = 2.0
"""After so long without a connection given back, all of them may be waiting for a lock."""
_WAITING_FOR_A_LOCK = "SELECT count(*) FROM unnest($1::int[]) AS pid WHERE pg_blocking_pids(pid) <> '{}'"


class Pulse:
    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        *,
        silence: float = PATIENCE_SECONDS,
        longest_wait: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        self._connect = connect
        self._silence = silence
        self._longest_wait = longest_wait
        self._connection: Any = None
        self._task = asyncio.create_task(self._watch(), name="postgresql-pulse")
        self.in_use: dict[Any, float] = {}
        """Connections on which something is in flight, and since when."""
        self.silent = False
        self.locked = False
        """Every connection waits for a lock, so nobody gets one soon."""
        self._waiting: dict[asyncio.Timeout, float] = {}
        """Who waits for a connection, and since when."""

    @asynccontextmanager
    async def patience(self) -> AsyncGenerator[None]:
        """A wait within ends with `TimeoutError` when it gets too long.

        It ends at once when the server falls silent, or when all connections wait for a lock.
        """
        async with asyncio.timeout(self._longest_wait) as limit:
            self._waiting[limit] = time.monotonic()
            try:
                yield
            finally:
                del self._waiting[limit]

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._hang_up()

    async def _watch(self) -> None:
        # In time: a server that takes no new connections may still answer on the old ones.
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            async with asyncio.timeout(self._silence):
                await self._beat()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.silent or self._something_waits():
                await self._feel()

    def _something_waits(self) -> bool:
        before = time.monotonic() - MOMENT_SECONDS
        return any(since < before for since in (*self.in_use.values(), *self._waiting.values()))

    async def _feel(self) -> None:
        beat = asyncio.create_task(self._beat())
        for patience in (self._silence, STALL_SECONDS):
            await asyncio.wait([beat], timeout=patience)
        if not beat.done():
            beat.cancel()
            self._hang_up()
            self._fall_silent()
        elif not beat.cancelled() and beat.exception() is not None:
            # It answers, if only that it cannot: whoever asks is told the same without waiting.
            self._hang_up()
            self.silent = False
        else:
            if self.silent:
                log.info("postgresql answers again")
            self.silent = False
            if self.locked:
                log.warning("all connections wait for a lock of another session", waiting=len(self._waiting))
                self._end_waits()

    async def _beat(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        stuck = self._stuck()
        waiting = await self._connection.fetchval(_WAITING_FOR_A_LOCK, stuck)
        self.locked = bool(stuck) and waiting == len(stuck)

    def _stuck(self) -> list[int]:
        """Our sessions, if somebody waits for one of them and none has been given back for long."""
        before = time.monotonic() - LOCKED_SECONDS
        if not self._waiting or any(since > before for since in self.in_use.values()):
            return []
        return [connection.get_server_pid() for connection in self.in_use]

    def _fall_silent(self) -> None:
        if not self.silent:
            log.error("postgresql has fallen silent", in_flight=len(self.in_use), waiting=len(self._waiting))
        self.silent = True
        self._end_waits()
        for connection in list(self.in_use):
            with suppress(asyncpg.InterfaceError):  # given back in this very moment
                connection.terminate()

    def _end_waits(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(now)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
