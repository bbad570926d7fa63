"""Start-up and idleness of a real `reedbed serve`: CPU to the first answer, and memory at rest."""

import tempfile
import time
from pathlib import Path

import httpx

from bench.process_cpu import cpu_seconds, pss_mb
from bench.table import record
from tests.processes import Reedbed, reedbed
from tests.servers import free_port

DESCRIPTION = "CPU of a second start to its first answer, idle memory, the page's first answer"

CPU_GOAL = 0.8
IDLE_GOAL_MB = 85
LOADED_GOAL_MB = 100


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="reedbed-start-") as directory:
        place = Path(directory)
        with reedbed("serve", port=free_port(), cwd=place) as first:
            first.stop()
        with reedbed("serve", port=free_port(), cwd=place) as server:
            _measure(server)


def _measure(server: Reedbed) -> None:
    pid = server.process.pid
    to_first_answer = cpu_seconds(pid)
    record("second start to first answer", to_first_answer, "s CPU", compared_to="goal", other=CPU_GOAL)
    time.sleep(3)
    record("memory, idle", pss_mb(pid), "MB PSS", compared_to="goal", other=IDLE_GOAL_MB)
    before = cpu_seconds(pid)
    time.sleep(5)
    record("idle CPU in a minute", (cpu_seconds(pid) - before) * 12, "s CPU", compared_to="a second", other=1.0)
    httpx.get(f"{server.url}/login").raise_for_status()
    record("memory after a page", pss_mb(pid), "MB PSS", compared_to="goal", other=LOADED_GOAL_MB)
