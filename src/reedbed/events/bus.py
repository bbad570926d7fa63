"""The bus of a single process."""

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
"""How many hints a process remembers, to replay them to a stream that comes back."""

QUEUE = 500
"""How many hints may wait for one slow listener before it is told to read everything again."""


Wants = Callable[[ChangeEvent], bool]


class Listener:
    """One listener's queue. When it cannot keep up, `missed` is set and the oldest hints fall out."""

    def __init__(self, wants: Wants) -> None:
        self._wants = wants
        self._queue: asyncio.Queue[ChangeEvent] = asyncio.Queue(QUEUE)
        self.missed = False

    def offer(self, hint: ChangeEvent) -> None:
        if not self._wants(hint):
            return
        if self._queue.full():
            self._queue.get_nowait()
            self.missed = True
        self._queue.put_nowait(hint)

    async def next(self, seconds: float) -> ChangeEvent | None:
        """The next hint, or None after so many seconds of silence."""
        try:
            async with asyncio.timeout(seconds):
                return await self._queue.get()
        except TimeoutError:
            return None

    async def __aiter__(self) -> AsyncIterator[ChangeEvent]:
        while True:
            yield await self._queue.get()


def everything(_hint: ChangeEvent) -> bool:
    return True


class Bus(Protocol):
    async def publish(self, hint: ChangeEvent) -> None: ...

    def deliver(self, hint: ChangeEvent) -> None:
        """Hand a hint to the listeners of this process only."""
        ...

    def listen(self, wants: Wants = everything) -> AbstractContextManager[Listener]:
        """What it does not want is left out at once, which costs a hundredth of waking it up for it."""
        ...

    def since(self, hint_id: str) -> list[ChangeEvent] | None:
        """The hints after this one, or None when it is not remembered (any more)."""
        ...

    def newest(self) -> str:
        """The id of the last hint of this process; what comes after it is new to a page made now."""
        ...

    async def close(self) -> None: ...


class LocalHub:
    """Hands hints to the listeners of this process and remembers the last ones."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._backlog: deque[ChangeEvent] = deque([_beginning()], maxlen=BACKLOG)

    def deliver(self, hint: ChangeEvent) -> None:
        self._backlog.append(hint)
        for listener in self._listeners:
            listener.offer(hint)

    @contextmanager
    def listen(self, wants: Wants = everything) -> Generator[Listener]:
        listener = Listener(wants)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def since(self, hint_id: str) -> list[ChangeEvent] | None:
        remembered = list(self._backlog)
        for index, hint in enumerate(remembered):
            if hint.id == hint_id:
                return remembered[index + 1 :]
        return None

    def newest(self) -> str:
        return self._backlog[-1].id

    def miss(self) -> None:
        """Hints may have passed unseen: every listener should read everything again."""
        self._backlog.clear()
        self._backlog.append(_beginning())
        for listener in self._listeners:
            listener.missed = True
            listener.offer(ChangeEvent("resync", id=new_event_id()))


def _beginning() -> ChangeEvent:
    """Before the first hint there is a place, too, from which a stream may ask what came after."""
    return ChangeEvent("beginning", id=new_event_id())


def new_event_id() -> str:
    return f"{time.time_ns() // 1_000_000:x}-{secrets.token_hex(4)}"


class MemoryBus(LocalHub):
    async def publish(self, hint: ChangeEvent) -> None:
        self.deliver(replace(hint, id=new_event_id()))

    async def close(self) -> None:
        """Nothing to let go of."""
