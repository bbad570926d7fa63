"""Modules are loaded beside the loop, which stays free, and one after the other.

Two threads that load at once only keep each other waiting, and where the clock is not the machine's own (a
container with a shifted one, a test) they do so hundreds of times as long.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Loaded = TypeVar("Loaded")

_turn = threading.Lock()


async def load_beside(load: Callable[[], Loaded]) -> Loaded:
    return await asyncio.to_thread(_alone, load)


def _alone(load: Callable[[], Loaded]) -> Loaded:
    with _turn:
        return load()
