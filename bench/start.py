"""Start-up and idleness of a real `reedbed serve`: CPU to the first answer, and memory at rest."""

import os
import tempfile
import time
from pathlib import Path

import httpx

from bench.table import record
from tests.processes import Reedbed, reedbed
from tests.servers import free_port

DESCRIPTION = "CPU of a second start to its first answer, idle memory, the page's first answer"

CPU_PROMISE = 1.5
MEMORY_PROMISE_MB = 130
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="reedbed-start-") as directory:
        place = Path(directory)
        with reedbed("serve", port=free_port(), cwd=place) as first:
            first.stop()
        with reedbed("serve", port=free_port(), cwd=place) as server:
            _measure(server)


def _measure(server: Reedbed) -> None:
    pid = server.process.pid
    to_first_answer = _cpu(pid)
    record("second start to first answer", to_first_answer, "s CPU", compared_to="promise", other=CPU_PROMISE)
    time.sleep(3)
    record("idle memory", _resident_mb(pid), "MB", compared_to="promise", other=MEMORY_PROMISE_MB)
    before = _cpu(pid)
    time.sleep(5)
    record("idle CPU in a minute", (_cpu(pid) - before) * 12, "s CPU", compared_to="a second", other=1.0)
    httpx.get(f"{server.url}/login").raise_for_status()
    record("memory after a page", _resident_mb(pid), "MB", compared_to="promise", other=MEMORY_PROMISE_MB)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000
