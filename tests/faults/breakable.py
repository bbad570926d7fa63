"""PostgreSQL and Redis that can be killed, frozen and started again, on data that survives it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import servers

# Unlike in other tests a commit must survive the death of the server, if not that of the machine.
DURABLE = {"synchronous_commit": "on", "shared_buffers": "32MB"}


@dataclass
class Breakable:
    url: str
    command: list[Any]
    directory: Path
    answers: Callable[[], bool]
    polite: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[Any] | None = field(default=None)

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.directory,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **servers.unprivileged(),
            )
        servers.wait_until(self.answers, self.process, self.directory)

    def stop(self) -> None:
        """As an operator would."""
        self._signal(self.polite, group=False)
        self._wait()

    def kill(self) -> None:
        """As the machine would."""
        self._signal(signal.SIGKILL)
        self._wait()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals, *, group: bool = True) -> None:
        assert self.process is not None
        if self.process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            if not group:
                self.process.send_signal(number)
                return
            # It bears no more children while it stands: one that came late would live on and answer.
            os.kill(self.process.pid, signal.SIGSTOP)
            for pid in [*_children(self.process.pid), self.process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _wait(self) -> None:
        assert self.process is not None
        try:
            self.process.wait(servers.STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _children(pid: int) -> list[int]:
    """PostgreSQL gives each of its processes a group of its own."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


@contextmanager
def breakable_postgres() -> Iterator[Breakable]:
    binaries = servers.postgres_binaries()
    with servers.work_directory("rbfault") as directory:
        port = servers.free_port()
        servers.create_cluster(binaries, directory)
        command = servers.postgres_command(binaries, directory, port, **DURABLE)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        yield from _running(Breakable(url, command, directory, lambda: servers.postgres_answers(url), signal.SIGINT))


@contextmanager
def breakable_redis() -> Iterator[Breakable]:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if not program:
        raise servers.Missing("There is no Redis server: run 'make test-deps'.")
    with servers.work_directory("rbfault") as directory:
        port = servers.free_port()
        options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
        command = [program, *options, "--dir", directory]
        yield from _running(
            Breakable(f"redis://127.0.0.1:{port}/0", command, directory, lambda: servers.redis_answers(port))
        )


def _running(server: Breakable) -> Iterator[Breakable]:
    server.start()
    try:
        yield server
    finally:
        server.thaw()
        server.stop()
