"""What a server spends, as the kernel counts it: CPU with its children, and memory."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

WARM_UP = 10
ROUNDS, REQUESTS = 3, 50


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float
    """Seconds of the server for one answer."""
    clock: float
    """Seconds from question to answer, the median."""


def cost_of(pid: int, ask: Callable[[], httpx.Response]) -> Cost:
    """The best of a few rounds, which noise can only lengthen."""
    for _ in range(WARM_UP):
        ask().raise_for_status()
    rounds = [_round(pid, ask) for _ in range(ROUNDS)]
    return Cost(min(one.cpu for one in rounds), min(one.clock for one in rounds))


def _round(pid: int, ask: Callable[[], httpx.Response]) -> Cost:
    before, took = cpu_seconds(pid), [_timed(ask) for _ in range(REQUESTS)]
    return Cost((cpu_seconds(pid) - before) / REQUESTS, median(took))


def _timed(ask: Callable[[], httpx.Response]) -> float:
    began = time.perf_counter()
    ask().raise_for_status()
    return time.perf_counter() - began


def cpu_seconds(pid: int) -> float:
    """Of the process, its children and those that have ended."""
    return sum(sum(map(int, _stat(one)[11:15])) for one in _family(pid)) / os.sysconf("SC_CLK_TCK")


def pss_mb(pid: int) -> float:
    """Memory of the process; what it shares with others is divided among them."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise LookupError(pid)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _family(int(child))


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
