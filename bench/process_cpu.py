"""What a server spends on answers, as the kernel counts it."""

import os
import time
from collections.abc import Callable
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
    before, took = _cpu(pid), [_timed(ask) for _ in range(REQUESTS)]
    return Cost((_cpu(pid) - before) / REQUESTS, median(took))


def _timed(ask: Callable[[], httpx.Response]) -> float:
    began = time.perf_counter()
    ask().raise_for_status()
    return time.perf_counter() - began


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
