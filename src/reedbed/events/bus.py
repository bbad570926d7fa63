"""The event bus: hands change events to the listeners of this process and keeps a backlog for replay."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Protocol

from reedbed.domain.live import ChangeEvent

BACKLOG = 1_000
"""The number of events a process keeps, to replay them to a stream that reconnects."""

QUEUE = 500
"""The number of events queued for a slow listener before it must reload everything."""


Wants = Callable[[ChangeEvent], bool]


class Listener:
    """The queue of one listener. On overflow the oldest events are dropped and `missed` is set."""

    def __init__(self, wants: Wants) -> None:
        self._wants = wants
        self._queue: asyncio.Queue[ChangeEvent] = asyncio.Queue(QUEUE)
        self.missed = False

    def offer(self, event: ChangeEvent) -> None:
        if not self._wants(event):
            return
        if self._queue.full():
            self._queue.get_nowait()
            self.missed = True
        self._queue.put_nowait(event)

    async def next(self, seconds: float) -> ChangeEvent | None:
        """The next event, or None after `seconds` without one."""
        try:
            async with asyncio.timeout(seconds):
                return await self._queue.get()
        except TimeoutError:
            return None

    async def __aiter__(self) -> AsyncIterator[ChangeEvent]:
        while True:
            yield await self._queue.get()


def everything(_event: ChangeEvent) -> bool:
    return True


class Bus(Protocol):
    async def publish(self, event: ChangeEvent) -> None: ...

    def deliver(self, event: ChangeEvent) -> None:
        """Hand an event to the listeners of this process only."""
        ...

    def listen(self, wants: Wants = everything) -> AbstractContextManager[Listener]:
        """Other events are filtered before queuing, which costs a hundredth of waking the listener."""
        ...

    def since(self, event_id: str) -> list[ChangeEvent] | None:
        """The events after this one, or None if it is not in the backlog."""
        ...

    def newest(self) -> str:
        """The id of the last event of this process. Later events are new to a page rendered now."""
        ...

    async def close(self) -> None: ...


class LocalHub:
    """Delivers events to the listeners of this process and keeps the last ones."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._backlog: deque[ChangeEvent] = deque([_start_marker()], maxlen=BACKLOG)

    def deliver(self, event: ChangeEvent) -> None:
        self._backlog.append(event)
        for listener in self._listeners:
            listener.offer(event)

    @contextmanager
    def listen(self, wants: Wants = everything) -> Generator[Listener]:
        listener = Listener(wants)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def since(self, event_id: str) -> list[ChangeEvent] | None:
        backlog = list(self._backlog)
        for index, event in enumerate(backlog):
            if event.id == event_id:
                return backlog[index + 1 :]
        return None

    def newest(self) -> str:
        return self._backlog[-1].id

    def miss(self) -> None:
        """Events may have been lost: every listener must reload everything."""
        self._backlog.clear()
        self._backlog.append(_start_marker())
        for listener in self._listeners:
            listener.missed = True
            listener.offer(ChangeEvent("resync", id=new_event_id()))


def _start_marker() -> ChangeEvent:
    """A start marker, so that a stream can ask for the events after it before any was published."""
    return ChangeEvent("beginning", id=new_event_id())


def new_event_id() -> str:
    return f"{time.time_ns() // 1_000_000:x}-{secrets.token_hex(4)}"


class MemoryBus(LocalHub):
    async def publish(self, event: ChangeEvent) -> None:
        self.deliver(replace(event, id=new_event_id()))

    async def close(self) -> None:
        """Nothing to close."""
