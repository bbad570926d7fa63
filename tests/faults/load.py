"""People who go on reading and writing whatever happens, and remember what they were told."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx

_numbers = count(1)
READ_PAUSE = 0.02
WRITE_PAUSE = 0.1
"""Seconds; a reader may have a thousand folders, and a slow test must not come to its end for that."""


@dataclass
class Told:
    """What the people were told."""

    statuses: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """Connections that ended without an answer."""
    acknowledged: set[str] = field(default_factory=set)
    without_retry_after: int = 0
    slowest: float = 0.0

    @property
    def answers(self) -> int:
        return sum(self.statuses.values())

    def assert_only(self, *statuses: int) -> None:
        assert set(self.statuses) <= set(statuses), self.statuses


@contextmanager
def people(clients: list[httpx.Client], *, each: int = 1) -> Iterator[Told]:
    """Within, people read the list and make folders through these clients' servers."""
    told, stop = Told(), threading.Event()
    threads = [
        threading.Thread(target=_live, args=(str(client.base_url), dict(client.headers), told, stop, act, pause))
        for client in clients
        for act, pause in ((_read, READ_PAUSE), (_write, WRITE_PAUSE))
        for _ in range(each)
    ]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


Act = Callable[[httpx.Client, Told], httpx.Response]


def _live(base_url: str, headers: dict[str, str], told: Told, stop: threading.Event, act: Act, pause: float) -> None:
    with httpx.Client(base_url=base_url, headers=headers, timeout=30) as client:
        while not stop.is_set():
            started = time.monotonic()
            try:
                answer = act(client, told)
            except httpx.HTTPError as error:
                told.broken.append(repr(error))
                time.sleep(pause)
                continue
            told.slowest = max(told.slowest, time.monotonic() - started)
            told.statuses[answer.status_code] += 1
            told.without_retry_after += answer.status_code == 503 and "retry-after" not in answer.headers
            time.sleep(pause)


def _read(client: httpx.Client, told: Told) -> httpx.Response:
    return client.get("/api/v1/entries")


def _write(client: httpx.Client, told: Told) -> httpx.Response:
    name = f"Folder {next(_numbers)}"
    answer = client.post("/api/v1/folders", json={"name": name})
    if answer.status_code == 201:
        told.acknowledged.add(name)
    return answer
