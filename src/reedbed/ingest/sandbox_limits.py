"""The child's side: the limits within which a process reads what may hang or crash it."""

import resource

CPU_SECONDS = 5


def accept_limits(memory: int) -> None:
    """For the rest of this process; it writes no file."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
