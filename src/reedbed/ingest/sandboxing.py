"""What every process has in common that reads something which may hang or crash its reader."""

import os
import resource

CPU_SECONDS = 5


def bare_environment() -> dict[str, str]:
    """Only what Python needs to start: no secret of this process is within reach of what is read."""
    return {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}


def accept_limits(memory: int) -> None:
    """For the rest of this process; it writes no file."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
