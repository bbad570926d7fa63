"""The child's side: the limits within which a process reads what may hang or crash it."""

import asyncio
import os
import resource
import sys
from asyncio.subprocess import DEVNULL, PIPE
from weakref import WeakKeyDictionary

_WALL_SECONDS = 15.0
_AT_ONCE = 2


class Sandbox:
    """Runs a module that answers what it is told on standard input, a few at once."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def ask(self, *order: bytes) -> bytes:
        """Nothing if the process died or had to be killed. The parts are put together when it is their turn,
        so that whoever waits holds no copy of a large document.
        """
        async with self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)):
            return await self._run(b"".join(order))

    async def _run(self, order: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self._module,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=bare_environment(),
        )
        try:
            answer, _ = await asyncio.wait_for(process.communicate(order), _WALL_SECONDS)
            return answer if process.returncode == 0 else b""
        except TimeoutError:
            return b""
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def bare_environment() -> dict[str, str]:
    """Only what Python needs to start: no secret of this process is within reach of what is read."""
    return {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}


CPU_SECONDS = 5


def accept_limits(memory: int) -> None:
    """For the rest of this process; it writes no file."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
