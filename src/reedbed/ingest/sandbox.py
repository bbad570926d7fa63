"""Run parsers of untrusted input in child processes with limits, because they may hang or crash."""

import asyncio
import os
import resource
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from weakref import WeakKeyDictionary

_TIMEOUT_SECONDS = 15.0
_MAX_PROCESSES = 2
_END_SECONDS = 5.0


class Sandbox:
    """Runs a module as a process that reads a request from standard input and writes a response to standard
    output; a few at once.
    """

    def __init__(self, module: str, *, timeout: float = _TIMEOUT_SECONDS) -> None:
        self._module = module
        self._timeout = timeout
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def ask(self, *parts: bytes) -> bytes:
        """Empty if the process died or was killed.

        The parts are joined only when a slot is free, so that waiting requests hold no copy of a large
        document.
        """
        async with self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_MAX_PROCESSES)):
            return await self._run(b"".join(parts))

    async def _run(self, request: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", self._module, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=minimal_environment()
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(request), self._timeout)
            return output if process.returncode == 0 else b""
        except TimeoutError:
            return b""
        finally:
            if process.returncode is None:
                await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill it and read what is left: a full pipe would keep `wait` waiting."""
    with suppress(ProcessLookupError):
        process.kill()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.communicate(), _END_SECONDS)


def minimal_environment() -> dict[str, str]:
    """Only the variables Python needs to start: the child process must not see our secrets."""
    return {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}


CPU_SECONDS = 5


def apply_limits(memory: int) -> None:
    """Limit CPU time, memory and files for the rest of this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
